//! Traces of a small program on the simulated driver: while it runs, after it, without a process of
//! ours, when the reader leaves, when children live on. What the lines say is tested elsewhere.

mod support;

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use support::terminal::Terminal;
use support::{CUTAP, Folder, cutap, err, kill, out, until};

/// The beginning of each program here.
const CUDA: &str = "import ctypes, os, sys, time
cuda = ctypes.CDLL('libcuda.so.1')
n = ctypes.c_int()
def init(): assert cuda.cuInit(0) == 0
def count(): assert cuda.cuDeviceGetCount(ctypes.byref(n)) == 0
";

fn program(folder: &Folder, name: &str, rest: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, format!("{CUDA}{rest}")).unwrap();
    path.into_os_string().into_string().unwrap()
}

/// The interpreter itself: `python3` may be a script that only starts it.
fn python() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| {
        out(&Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().unwrap())
            .trim()
            .to_owned()
    })
}

fn trace(flags: &[&str], script: &str) -> Output {
    cutap(&[&["trace", "--sim"], flags, &["--", python(), script]].concat()).output().unwrap()
}

fn lines_with(text: &str, part: &str) -> usize {
    text.lines().filter(|l| l.contains(part)).count()
}

fn monotonic_ns() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills a structure of cutap.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Milliseconds from each call's return to its line.
fn delays(script: &str) -> Vec<u64> {
    let mut command = cutap(&["trace", "--sim", "-e", "cuDeviceGetCount", "--", python(), script]);
    let mut run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(run.stderr.take().unwrap()).lines().map(|l| (l.unwrap(), monotonic_ns()));
    let seen: Vec<u64> = lines.filter(|l| l.0.starts_with("cuDeviceGetCount(")).map(|l| l.1).collect();
    let mut text = String::new();
    run.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(run.wait().unwrap().success());
    let returned: Vec<u64> = text.lines().map(|l| l.parse().unwrap()).collect();
    assert_eq!((returned.len(), seen.len()), (12, 12));
    returned.iter().zip(seen).map(|(r, s)| s.saturating_sub(*r) / 1_000_000).collect()
}

#[test]
fn each_line_appears_within_100_ms() {
    let folder = Folder::new("delays");
    let rest = "init()\nfor _ in range(12):\n    count(); print(time.monotonic_ns(), flush=True); time.sleep(0.11)\n";
    let script = program(&folder, "slow.py", rest);
    // A busy machine may be late now and then; it is not late six times.
    let tries: Vec<Vec<u64>> = (0..6)
        .map(|_| delays(&script))
        .inspect(|d| eprintln!("delays in ms: {d:?}"))
        .take_while(|d| d.iter().any(|&ms| ms >= 100))
        .collect();
    assert!(tries.len() < 6, "{tries:?}");
}

#[test]
fn children_are_followed_unless_not_wanted() {
    let folder = Folder::new("children");
    // A forked child's driver refuses, as the real one does; the call is a call all the same.
    let rest =
        "init()\nif os.fork() == 0:\n    cuda.cuDeviceGetCount(ctypes.byref(n))\n    os._exit(0)\nos.wait()\ncount()\n";
    let child = program(&folder, "child.py", rest);
    let parent = program(
        &folder,
        "parent.py",
        &format!("import subprocess\ninit()\nassert subprocess.call([sys.executable, {child:?}]) == 0\n"),
    );
    let followed = trace(&[], &parent);
    assert!(followed.status.success());
    assert_eq!(lines_with(&err(&followed), "cuInit("), 2, "{}", err(&followed));
    assert_eq!(lines_with(&err(&followed), "cuDeviceGetCount("), 2, "{}", err(&followed));
    let alone = trace(&["--no-follow-children"], &parent);
    assert!(alone.status.success(), "{}", err(&alone));
    assert_eq!(lines_with(&err(&alone), "cuInit("), 1, "{}", err(&alone));
    assert_eq!(lines_with(&err(&alone), "cuDeviceGetCount("), 0, "{}", err(&alone));
}

#[test]
fn without_following_the_first_process_is_traced_through_exec() {
    let folder = Folder::new("exec");
    let script = program(&folder, "p.py", "init()\nprint('ran', os.environ['LD_PRELOAD'] != '')\n");
    let shell = |line: &str| {
        let done =
            cutap(&["trace", "--sim", "--no-follow-children", "--", "sh", "-c", line, python(), &script]).output();
        let done = done.unwrap();
        assert_eq!(out(&done), "ran True\n", "{}", err(&done));
        lines_with(&err(&done), "cuInit(")
    };
    assert_eq!(shell("exec \"$0\" \"$1\""), 1, "a wrapper that is replaced by the program");
    assert_eq!(shell("\"$0\" \"$1\"; true"), 0, "a child");
}

#[test]
fn a_process_that_cannot_write_is_counted() {
    let folder = Folder::new("cannot-write");
    let script = program(&folder, "p.py", "init(); count()\nprint('ran')\n");
    // Room for 20 KiB (bash counts in 1024 bytes): less than the first files of a process need.
    let line = "ulimit -f 20; exec \"$0\" \"$1\"";
    let file = folder.join("run.cutap").display().to_string();
    for words in [&["trace"][..], &["record", "-o", &file]] {
        let mut command = cutap(words);
        let done = command.args(["--sim", "--", "bash", "-c", line, python(), &script]).output().unwrap();
        let said = err(&done);
        assert_eq!((out(&done).as_str(), done.status.code()), ("ran\n", Some(0)), "{said}");
        let line = "cutap: 1 process could not write to the run directory (disk full";
        assert_eq!(lines_with(&said, line), 1, "{words:?}: {said}");
    }
}

#[test]
fn a_filter_that_matches_nothing_is_told_at_the_end() {
    let folder = Folder::new("nothing");
    let script = program(&folder, "p.py", "init(); count()\n");
    let last = |flags: &[&str]| err(&trace(flags, &script)).lines().last().unwrap_or_default().to_owned();
    let nothing = |filter: &str| format!("cutap: nothing matched the filter {filter}");
    assert_eq!(last(&["-e", "cudaMalloc"]), nothing("cudaMalloc: no such call was reached"));
    assert_eq!(last(&["-e", "cudaMalloc", "-c"]), nothing("cudaMalloc: no such call was reached"));
    assert_eq!(last(&["-e", "driver,error"]), nothing("driver,error; 2 calls were seen and left out"));
    assert!(!last(&["-e", "cuInit"]).contains("nothing matched"));
    let run = folder.join("run").display().to_string();
    let line = format!("eval $({CUTAP} env --sim -o {run}); exec {} {script}", python());
    assert!(Command::new("sh").args(["-c", &line]).status().unwrap().success());
    let show = cutap(&["show", "-e", "cudaMalloc", &run]).output().unwrap();
    assert_eq!(err(&show).trim(), nothing("cudaMalloc; 2 calls were seen and left out"));
}

#[test]
fn a_child_that_lives_on_is_named_and_the_trace_ends() {
    let folder = Folder::new("lives-on");
    let (go, done) = (folder.join("go"), folder.join("done"));
    let rest = format!(
        "if os.fork() == 0:\n    init(); count()\n    open({go:?}, 'w')\n    time.sleep(1.5); count()\n    open({done:?}, 'w')\n    os._exit(0)\n\
         while not os.path.exists({go:?}): time.sleep(0.01)\n"
    );
    let (file, script) = (folder.join("trace"), program(&folder, "p.py", &rest));
    // Its standard output and error are not ours to wait for: the child holds them.
    let mut command = cutap(&["trace", "--sim", "-o", file.to_str().unwrap(), "--", python(), &script]);
    assert!(command.status().unwrap().success());
    assert!(!done.exists());
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(lines_with(&text, "is still running"), 1, "{text}");
    assert!(text.lines().filter(|l| l.contains("still running")).all(|l| l.starts_with("cutap: ")), "{text}");
    until("the child, which nobody drains any more, has done its work", || done.exists());
}

#[test]
fn a_reader_that_leaves_does_not_disturb_the_program() {
    let folder = Folder::new("head");
    let script = program(&folder, "many.py", "init()\nfor _ in range(20000): count()\nprint('all')\nsys.exit(9)\n");
    let line = format!(
        "({CUTAP} trace --sim -- {1} {script} 2>&1 >{0}/out; echo $? >{0}/code) | head -3",
        folder.0.display(),
        python()
    );
    let done = Command::new("sh").args(["-c", &line]).output().unwrap();
    assert_eq!(out(&done).lines().count(), 3);
    assert_eq!(err(&done), "");
    until("the program has ended", || std::fs::read_to_string(folder.join("code")).is_ok_and(|c| c == "9\n"));
    assert_eq!(std::fs::read_to_string(folder.join("out")).unwrap(), "all\n");
}

#[test]
fn nothing_is_left_behind() {
    let folder = Folder::new("left");
    let script = program(&folder, "one.py", "init()\nprint(os.environ['CUTAP_RUN'])\n");
    let done = trace(&[], &script);
    assert_eq!(lines_with(&err(&done), "cuInit("), 1, "{}", err(&done));
    assert!(!std::path::Path::new(out(&done).trim()).exists());
    let run = folder.join("kept");
    let kept = trace(&["--run-dir", run.to_str().unwrap()], &script);
    assert_eq!(out(&kept).trim(), run.to_str().unwrap());
    assert!(run.join("control").exists());
}

#[test]
fn env_and_show_while_it_runs_and_after() {
    let folder = Folder::new("show");
    let run = folder.join("run").display().to_string();
    let script = program(&folder, "p.py", "init(); count()\nprint('first', flush=True)\nsys.stdin.read()\ncount()\n");
    let line = format!("eval $({CUTAP} env --sim -o {run}); exec {} {script}", python());
    let mut command = Command::new("sh");
    let mut program = command.args(["-c", &line]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    program.stdout.take().unwrap().read_exact(&mut [0; 6]).unwrap();
    let show = || cutap(&["show", &run]).output().unwrap();
    let during = show();
    assert_eq!(lines_with(&out(&during), "cuDeviceGetCount("), 1, "{}{}", out(&during), err(&during));
    assert_eq!(lines_with(&out(&during), "is still running"), 1, "{}", out(&during));
    drop(program.stdin.take());
    assert!(program.wait().unwrap().success());
    let after = show();
    assert_eq!(lines_with(&out(&after), "cuDeviceGetCount("), 2, "{}", out(&after));
    assert_eq!(lines_with(&out(&after), "is still running"), 0, "{}", out(&after));
    // Where the processor does not state its clock, each reader of so short a run measures it again.
    let timeless =
        |shown: &Output| out(shown).lines().map(|l| format!("{}\n", l.split(" <").next().unwrap())).collect::<String>();
    assert_eq!(timeless(&after), timeless(&show()), "reading changes nothing");
    let some = cutap(&["show", &run, "-e", "cuInit"]).output().unwrap();
    assert_eq!(lines_with(&out(&some), "cu"), lines_with(&out(&some), "cuInit("), "{}", out(&some));
    let head = format!("{CUTAP} show {run} | head -1; {CUTAP} show {run} >/dev/full; echo $?");
    let done = Command::new("bash").args(["-o", "pipefail", "-c", &head]).output().unwrap();
    assert!(out(&done).ends_with("125\n"), "{}", out(&done));
    assert!(err(&done).contains("the disk is full"), "{}", err(&done));
}

#[test]
fn a_killed_program_shows_what_it_did() {
    let folder = Folder::new("sigkill");
    let script = program(&folder, "p.py", "init(); count()\nos.kill(os.getpid(), 9)\n");
    let done = trace(&[], &script);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&done.status), Some(libc::SIGKILL));
    assert_eq!(lines_with(&err(&done), "cuDeviceGetCount("), 1, "{}", err(&done));
}

#[test]
fn colours_are_for_terminals() {
    let folder = Folder::new("colours");
    let script = program(&folder, "p.py", "init()\nprint('the' + ' end')\n");
    let file = folder.join("trace").display().to_string();
    assert!(!err(&trace(&[], &script)).contains('\x1b'));
    for (before, after, coloured) in [("", "", true), ("NO_COLOR=1", "", false), ("", "-o", false)] {
        let mut terminal = Terminal::new();
        let output = if after.is_empty() { String::new() } else { format!("-o {file}") };
        terminal.line(&format!("{before} {CUTAP} trace {output} --sim -- {} {script}; echo do''ne", python()));
        let shown = terminal.expect("\ndone");
        assert_eq!(shown.contains('\x1b'), coloured, "{before} {after}: {shown:?}");
        assert_eq!(shown.contains("cuInit"), after.is_empty(), "{shown:?}");
    }
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("cuInit(") && !text.contains('\x1b'), "{text}");
}

#[test]
fn json_is_one_object_a_line() {
    let folder = Folder::new("json");
    let script = program(&folder, "p.py", "init(); count(); count()\n");
    for flags in [&["--json"][..], &["--json", "-c"]] {
        let file = folder.join("trace");
        let done = trace(&[&["-o", file.to_str().unwrap()], flags].concat(), &script);
        assert!(done.status.success(), "{}", err(&done));
        let text = std::fs::read_to_string(&file).unwrap();
        let kinds: HashSet<String> = text
            .lines()
            .map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap_or_else(|e| panic!("{e}: {l}")))
            .map(|v| v["type"].as_str().unwrap().to_owned())
            .collect();
        assert!(kinds.contains(if flags.len() == 2 { "summary" } else { "call" }), "{kinds:?}");
        assert!(kinds.contains("end"), "{kinds:?}");
    }
}

#[test]
fn modules_are_kept() {
    let folder = Folder::new("modules");
    let ptx = ".version 7.0\\n.target sm_50\\n.address_size 64\\n.visible .entry k() { ret; }\\n";
    let rest = format!(
        "init()\nctx = ctypes.c_void_p(); mod = ctypes.c_void_p()\nassert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0) == 0\n\
         assert cuda.cuCtxSetCurrent(ctx) == 0\nassert cuda.cuModuleLoadData(ctypes.byref(mod), b'{ptx}') == 0\n"
    );
    let kept = folder.join("kept");
    let done = trace(&["--dump-modules", kept.to_str().unwrap()], &program(&folder, "p.py", &rest));
    assert!(done.status.success(), "{}", err(&done));
    let files: Vec<_> = std::fs::read_dir(&kept).unwrap().flatten().map(|e| e.path()).collect();
    assert_eq!(files.len(), 1, "{files:?}\n{}", err(&done));
    assert_eq!(std::fs::read_to_string(&files[0]).unwrap(), ptx.replace("\\n", "\n"));
}

/// The smallest cubin with a kernel `k` of one 8-byte parameter, built section by section: `cubin` in Python.
const CUBIN: &str = r"import struct
kernel = struct.pack('<IBBHQQ', 1, 0x12, 0x10, 4, 0, 128)
parameter = struct.pack('<BBHIHHI', 4, 0x17, 12, 0, 0, 0, 8 << 18)
sections = [('', 0, 0, 0, b''), ('.strtab', 3, 0, 0, b'\0k\0'), ('.symtab', 2, 1, 1, bytes(24) + kernel),
            ('.nv.info.k', 0x70000000, 2, 4, parameter), ('.text.k', 1, 2, 10 << 24, bytes(range(128)))]
names = b'\0'.join(s[0].encode() for s in sections) + b'\0.shstrtab\0'
sections.append(('.shstrtab', 3, 0, 0, names))
content, table = b'', b''
for name, kind, link, info, data in sections:
    at = names.index(name.encode() + b'\0') if name else 0
    table += struct.pack('<IIQQQQIIQQ', at, kind, 0, 0, 64 + len(content), len(data), link, info, 1, 24 if kind == 2 else 0)
    content += data
head = b'\x7fELF\x02\x01\x01\x33' + bytes(8) + struct.pack('<HHIQQQIHHHHHH', 2, 190, 130, 0, 0, 64 + len(content), 0x5a055a, 64, 0, 0, 64, len(sections), 5)
cubin = head + content + table
";

#[test]
fn a_cubin_is_kept_byte_for_byte() {
    let folder = Folder::new("cubin");
    let (kept, given) = (folder.join("kept"), folder.join("given"));
    // Bytes behind its end, which are not its own, are there too.
    let rest = format!(
        "{CUBIN}open({given:?}, 'wb').write(cubin)
init()
ctx = ctypes.c_void_p(); mod = ctypes.c_void_p(); f = ctypes.c_void_p()
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0) == 0 and cuda.cuCtxSetCurrent(ctx) == 0
assert cuda.cuModuleLoadData(ctypes.byref(mod), cubin + b'behind') == 0
assert cuda.cuModuleGetFunction(ctypes.byref(f), mod, b'k') == 0
assert cuda.cuLibraryLoadData(ctypes.byref(mod), cubin, None, None, 0, None, None, 0) == 0
"
    );
    let done = trace(&["--dump-modules", kept.to_str().unwrap()], &program(&folder, "p.py", &rest));
    assert!(done.status.success(), "{}", err(&done));
    let given = std::fs::read(given).unwrap();
    let files: Vec<_> = std::fs::read_dir(&kept).unwrap().flatten().map(|e| e.path()).collect();
    assert_eq!(files.len(), 2, "{files:?}\n{}", err(&done));
    for file in files {
        assert_eq!(file.extension().unwrap(), "cubin");
        assert!(std::fs::read(&file).unwrap() == given, "{} is not what was given", file.display());
    }
}

#[test]
fn an_old_kernel_has_its_name_in_a_flight_recorder() {
    let folder = Folder::new("old-kernel");
    let rest = format!(
        "{CUBIN}init()
ctx = ctypes.c_void_p(); mod = ctypes.c_void_p(); f = ctypes.c_void_p()
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0) == 0 and cuda.cuCtxSetCurrent(ctx) == 0
assert cuda.cuModuleLoadData(ctypes.byref(mod), cubin) == 0
assert cuda.cuModuleGetFunction(ctypes.byref(f), mod, b'k') == 0
for _ in range(20000): count()
assert cuda.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, None, (ctypes.c_void_p * 1)(ctypes.addressof(ctypes.c_long())), None) == 0
"
    );
    let (file, script) = (folder.join("run.cutap"), program(&folder, "p.py", &rest));
    let words = ["record", "--sim", "--flight-recorder", "64K", "-o", file.to_str().unwrap(), "--", python(), &script];
    let done = cutap(&words).output().unwrap();
    assert!(done.status.success(), "{}", err(&done));
    let text = out(&cutap(&["show", file.to_str().unwrap()]).output().unwrap());
    assert_eq!(lines_with(&text, "cuModuleGetFunction"), 0, "it is long ago");
    assert_eq!(text.lines().filter(|l| l.starts_with("cuLaunchKernel ") && l.contains("k")).count(), 1);
    let launch = text.lines().find(|l| l.starts_with("cuLaunchKernel ")).unwrap();
    assert!(launch.starts_with("cuLaunchKernel k"), "{launch}");
    assert_eq!(lines_with(&text, "calls older than what the flight recorder kept"), 1);
}

#[test]
fn a_program_that_is_stopped_by_us_leaves_its_trace() {
    let folder = Folder::new("term");
    let script = program(&folder, "p.py", "init(); count()\nprint('ready', flush=True)\ntime.sleep(100)\n");
    let mut command = cutap(&["trace", "--sim", "--", python(), &script]);
    let mut run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    run.stdout.take().unwrap().read_exact(&mut [0; 6]).unwrap();
    kill(run.id() as i32, libc::SIGTERM);
    let done = run.wait_with_output().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&done.status), Some(libc::SIGTERM));
    assert_eq!(lines_with(&err(&done), "cuDeviceGetCount("), 1, "{}", err(&done));
}

#[test]
fn inspect_says_how_a_file_reaches_cuda() {
    let done = cutap(&["inspect", "/bin/true"]).output().unwrap();
    assert!(done.status.success() && out(&done).contains("/bin/true"), "{}", err(&done));
    let json = cutap(&["inspect", "--json", "/bin/true"]).output().unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(&out(&json)).unwrap().is_object());
    for bad in ["/no/such/file", "/tmp", "/etc/passwd"] {
        let done = cutap(&["inspect", bad]).output().unwrap();
        assert_eq!((done.status.code(), out(&done).as_str()), (Some(125), ""), "{}", err(&done));
        assert!(err(&done).starts_with("cutap: ") && err(&done).lines().count() == 1, "{}", err(&done));
    }
}
