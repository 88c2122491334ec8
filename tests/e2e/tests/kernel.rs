//! `cutap syscall trace`: programs run as without cutap, and their calls are in the trace with the bytes before and
//! after. The corners of ptrace have one program each.

use cutap_e2e::{Finished, Scratch, cutap, finish, scratch, sources, wait_for};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn compile(folder: &Path, source: &str, compiler: &str, words: &[&str]) -> PathBuf {
    let program = folder.join(source.trim_end_matches(".c"));
    let mut gcc = Command::new(compiler);
    gcc.args(["-O1", "-Wall", "-Wextra", "-Werror", "-pthread"]).arg(sources().join("kernel").join(source));
    let done = finish(gcc.args(["-o"]).arg(&program).args(words));
    assert!(done.status.success(), "{gcc:?}\n{}", done.stderr);
    program
}

/// Runs a program plain and traced; output and end are equal. The lines of the trace.
fn traced(folder: &Path, program: &Path, words: &[&str]) -> (Finished, String) {
    let plain = finish(&mut Command::new(program));
    let file = folder.join("trace.txt");
    let mut command = Command::new(cutap());
    command.args(["syscall", "trace", "--ptrace", "-o"]).arg(&file).args(words).arg("--").arg(program);
    let done = finish(&mut command);
    assert_eq!((&done.stdout, done.status), (&plain.stdout, plain.status), "{}", done.stderr);
    (done, std::fs::read_to_string(file).unwrap())
}

fn corner(name: &str) -> String {
    let folder: Scratch = scratch(name);
    let program = compile(&folder, &format!("{name}.c"), "gcc", &[]);
    let (done, trace) = traced(&folder, &program, &["-v"]);
    assert!(done.stdout.ends_with("ok\n"), "{}{}", done.stdout, done.stderr);
    assert!(done.stderr.contains("no_new_privs is set"), "{}", done.stderr);
    trace
}

#[test]
fn exec_by_a_thread() {
    assert!(corner("exec_by_thread").contains("open /proc/self/stat"));
}

#[test]
fn vfork() {
    // 50 children of vfork, each with one line.
    assert_eq!(corner("vfork").matches("open /proc/self/stat ").count(), 50);
}

#[test]
fn group_stop() {
    assert_eq!(corner("group_stop").matches("open /proc/self/stat ").count(), 10);
}

#[test]
fn sigkill() {
    assert!(corner("killed_inside").contains("open /proc/self/stat"));
}

#[test]
fn a_signal_in_between() {
    corner("signal_between");
}

/// A dynamic program, a static one, and one for musl give the same lines.
#[test]
fn nodes() {
    for (compiler, words) in [("gcc", &[][..]), ("gcc", &["-static"]), ("musl-gcc", &["-static"])] {
        if Command::new(compiler).arg("--version").output().is_err() {
            println!("skipped: {compiler} (it is not installed: apt install musl-tools)");
            continue;
        }
        let folder = scratch("nodes");
        let program = compile(&folder, "nodes.c", compiler, words);
        if finish(&mut Command::new(&program)).status.code() == Some(77) {
            println!("skipped: a private /dev (this machine has no mount namespaces)");
            return;
        }
        let (_, trace) = traced(&folder, &program, &["-x"]);
        for line in [
            "open /dev/nvidiactl {flags: 0x",
            "nvidiactl(3) NV_ESC_RM_FREE {hRoot: 0xc1d00001, hObjectParent: 0xc1d00001, hObjectOld: 0x5c000001} = -25 \
             (Inappropriate ioctl for device)",
            "argument at 0x8, 0 bytes",
            "mmap nvidiactl(3) {length: 0x2000, rw-, shared, offset: 0x0} = 0x",
            "dup nvidiactl(3) = 4",
            ", length: 0x2000} = 0 <",
            "hObjectOld: 0x5c000002} = -25",
            "nvidiactl(4) NV_ESC_RM_FREE {hRoot: 0xc1d00001, hObjectParent: 0xc1d00001, hObjectOld: 0x5c000003} = -25",
            "close nvidiactl(4) = 0",
            "close nvidiactl(3) = 0",
        ] {
            assert!(trace.contains(line), "{line}\n{trace}");
        }
        // The kernel wrote flags to the argument: both moments are there.
        assert!(trace.contains("      0000  8877665544332211 -> "), "{trace}");
        assert_eq!(trace.matches("mmap ").count(), 1, "{trace}");
    }
}

/// The JSON of a trace decodes to the same lines.
#[test]
fn json_decodes() {
    let folder = scratch("json");
    let program = compile(&folder, "nodes.c", "gcc", &[]);
    if finish(&mut Command::new(&program)).status.code() == Some(77) {
        println!("skipped: a private /dev (this machine has no mount namespaces)");
        return;
    }
    let (_, json) = traced(&folder, &program, &["--json"]);
    let head: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!((&head["cutap_kernel"], &head["source"]), (&1.into(), &"ptrace".into()), "{head}");
    let decoded = finish(Command::new(cutap()).args(["syscall", "decode"]).arg(folder.join("trace.txt")));
    assert!(decoded.stdout.contains("NV_ESC_RM_FREE {hRoot: 0xc1d00001"), "{}", decoded.everything());
}

/// A child that asks not to be traced has the filter, so it needs the tracer.
#[test]
fn children_that_ask_not_to_be_traced() {
    // All of the program's 22 children but those of the calls that fail.
    let trace = corner("untraced");
    assert_eq!(trace.matches("open /proc/self/stat ").count(), 23, "{trace}");
}

/// Calls for which a filter of the program wants a tracer fail as without one.
#[test]
fn a_filter_of_the_program() {
    let trace = corner("own_filter");
    assert!(trace.contains("open /proc/self/status {flags: 0x0} = -38"), "{trace}");
}

/// A tracer that waits for such a program waits for itself.
#[test]
fn a_program_that_serves_its_own_files_and_pages() {
    let folder = scratch("served");
    let program = compile(&folder, "served.c", "gcc", &[]);
    let (done, trace) = traced(&folder, &program, &["-v"]);
    done.stdout.lines().filter(|line| line.starts_with("skipped")).for_each(|line| println!("{line}"));
    let expected = done.stdout.matches(": opened").count();
    assert_eq!(trace.matches("open /proc/self/stat {flags: 0x0} = ").count(), expected, "{trace}");
    assert!(done.stdout.ends_with("ok\n"), "{}", done.stdout);
}

/// An ordinary user may not look into a program that is not dumpable, or whose file cannot be read.
#[test]
fn a_program_that_may_not_be_read() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        return println!("skipped: only root can run programs as another user");
    }
    let folder = scratch("undumpable");
    let allow = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    allow(&folder, 0o755);
    let program = compile(&folder, "undumpable.c", "gcc", &[]);
    let cutap = folder.join("cutap");
    std::fs::copy(cutap_e2e::cutap(), &cutap).unwrap();
    for (mode, shown) in [(0o755, 1), (0o711, 0)] {
        allow(&program, mode);
        let mut command = Command::new(&cutap);
        command.args(["syscall", "trace", "--ptrace", "-v", "--"]).arg(&program).uid(65534).gid(65534);
        let done = finish(command.env_remove("HOME").current_dir("/"));
        assert_eq!((done.stdout.as_str(), done.status.code()), ("ok\n", Some(0)), "{}", done.stderr);
        assert_eq!(done.stderr.matches("open /proc/self/stat ").count(), shown, "{}", done.stderr);
        assert!(done.stderr.contains("5 ioctls that may be the driver's are not shown"), "{}", done.stderr);
        assert!(!done.stderr.contains("no ioctl"), "{}", done.stderr);
    }
}

/// A running process is attached and left; it continues.
#[test]
fn a_running_process() {
    let folder = scratch("running");
    // The loop ends with its folder.
    let script = "while cat /proc/self/stat > seen && echo x >> lines; do :; done";
    let mut shell = Command::new("sh").args(["-c", script]).current_dir(&*folder).spawn().unwrap();
    let pid = shell.id().to_string();
    let mut cutap = Command::new(cutap());
    cutap.args(["syscall", "trace", "-p", &pid, "-v", "-o"]).arg(folder.join("trace.txt")).stderr(Stdio::piped());
    let tracer = cutap.spawn().unwrap();
    let start = Instant::now();
    let traced = || std::fs::metadata(folder.join("trace.txt")).is_ok_and(|data| data.len() > 0);
    while !traced() && start.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = Command::new("kill").args(["-INT", &tracer.id().to_string()]).status();
    let done = tracer.wait_with_output().unwrap();
    let text = String::from_utf8(done.stderr).unwrap();
    assert!(
        done.status.success() && text.contains("it is slow meanwhile") && text.contains("is left running"),
        "{text}"
    );
    let lines = || std::fs::metadata(folder.join("lines")).map_or(0, |data| data.len());
    let (before, start) = (lines(), Instant::now());
    while lines() == before && start.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(lines() > before, "the process does not run any more");
    let trace = std::fs::read_to_string(folder.join("trace.txt")).unwrap();
    assert!(trace.contains("open /proc/self/stat"), "{trace}");
    shell.kill().unwrap();
    shell.wait().unwrap();
}

/// A thread that waits in vfork stops only after its child has run on. So a tracer that waits for it alone stops both.
#[test]
fn a_process_is_left_in_vfork() {
    let folder = scratch("left");
    let program = compile(&folder, "vforks_on.c", "gcc", &[]);
    let count = || std::fs::read(folder.join("count")).map_or(Vec::new(), |bytes| bytes);
    let mut running = Command::new(&program).arg(folder.join("count")).stdin(Stdio::piped()).spawn().unwrap();
    for round in 0..10 {
        let trace = folder.join(format!("trace{round}.txt"));
        let mut cutap = Command::new(cutap());
        cutap
            .args(["syscall", "trace", "-v", "-p", &running.id().to_string(), "-o"])
            .arg(&trace)
            .stderr(Stdio::piped());
        let mut tracer = cutap.spawn().unwrap();
        wait_for("a line of the trace", Duration::from_secs(30), || {
            std::fs::metadata(&trace).is_ok_and(|data| data.len() > 0)
        });
        let _ = Command::new("kill").args(["-INT", &tracer.id().to_string()]).status();
        wait_for("the end of the tracer", Duration::from_secs(30), || tracer.try_wait().unwrap().is_some());
        let before = count();
        wait_for("another child", Duration::from_secs(30), || count() != before);
    }
    drop(running.stdin.take());
    assert!(running.wait().unwrap().success());
}

/// A first thread that has ended cannot be attached. The others can.
#[test]
fn the_first_thread_has_ended() {
    let folder = scratch("first");
    let program = compile(&folder, "first_thread_ends.c", "gcc", &[]);
    let mut running = Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let trace = folder.join("trace.txt");
    let mut cutap = Command::new(cutap());
    cutap.args(["syscall", "trace", "-v", "-p", &running.id().to_string(), "-o"]).arg(&trace).stderr(Stdio::piped());
    let mut tracer = cutap.spawn().unwrap();
    wait_for("a line of the trace or the tracer's end", Duration::from_secs(30), || {
        std::fs::metadata(&trace).is_ok_and(|data| data.len() > 0) || tracer.try_wait().unwrap().is_some()
    });
    drop(running.stdin.take());
    let done = tracer.wait_with_output().unwrap();
    let text = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.success() && text.contains("has ended"), "{text}");
    assert!(running.wait().unwrap().success());
    assert!(std::fs::read_to_string(&trace).unwrap().contains("open /proc/self/stat"));
}

/// The kernel sends no SIGCHLD for a stop to a tracer that ignores it. Then each stop would cost a wait.
#[test]
fn a_tracer_whose_caller_ignored_sigchld() {
    let folder = scratch("ignored");
    let program = compile(&folder, "vforks_on.c", "gcc", &[]);
    let count = || match std::fs::read(folder.join("count")) {
        Ok(bytes) => bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word)),
        Err(_) => 0,
    };
    let mut running = Command::new(&program).arg(folder.join("count")).stdin(Stdio::piped()).spawn().unwrap();
    let trace = folder.join("trace.txt");
    let mut env = Command::new("env");
    env.arg("--ignore-signal=CHLD").arg(cutap()).args(["syscall", "trace", "-v", "-p"]);
    let mut tracer = env.arg(running.id().to_string()).arg("-o").arg(&trace).spawn().unwrap();
    wait_for("a line of the trace", Duration::from_secs(30), || {
        std::fs::metadata(&trace).is_ok_and(|data| data.len() > 0)
    });
    // With a wait of 20 ms for some of the stops of each child, 1500 children would take more than a minute.
    let before = count();
    wait_for("1500 children", Duration::from_secs(45), || count() >= before + 1500);
    drop(running.stdin.take());
    assert!(tracer.wait().unwrap().success());
    assert!(running.wait().unwrap().success());
}

/// The commands that run nothing.
#[test]
fn releases_and_files() {
    let printed = |words: &[&str]| {
        let done = finish(Command::new(cutap()).arg("syscall").args(words));
        assert!(done.status.success(), "{words:?}\n{}", done.stderr);
        done.stdout
    };
    let transcript = sources().join("../../crates/rm/tests/transcripts/vecadd.txt").display().to_string();
    let all = printed(&["diff", "570", "580"]);
    let used = printed(&["diff", "570", "580", "--used-by", &transcript]);
    assert!(all.starts_with("570.211.01 -> 580.142\n") && used.len() < all.len() / 4, "{used}");
    assert!(used.contains("~ 0xa06c0101 NVA06C_CTRL_CMD_GPFIFO_SCHEDULE: 2 -> 3 bytes"), "{used}");
    assert!(printed(&["diff", &transcript, &transcript]).starts_with("466 calls and 466 calls: 466 equal, 0 with"));
    let failed = printed(&["decode", "--status", "failed", &transcript]);
    assert!(failed.lines().count() < 20 && !failed.contains("= 0, NV_OK"), "{failed}");
    assert!(printed(&["getenv", "--scan", "/bin/sh"]).starts_with("/bin/sh: 0 names, 0 of them passed to getenv"));
    assert!(printed(&["sites", "--function", "ioctl", "/bin/sh"]).starts_with("/bin/sh: "));
}

/// NV_ESC_RM_MAP_MEMORY_DMA as driver 575 and as driver 580 has it: 580 put two words before the address. A log is read
/// by the tables of the driver that made it, and the first line says which.
#[test]
fn tables_of_two_branches() {
    let folder = scratch("branches");
    let log = |name: &str, driver: &str, size: usize, words: &[(usize, u32)], status: usize| {
        let mut before = vec![0_u8; size];
        for (at, word) in words {
            before[*at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        let mut after = before.clone();
        after[status] = 0x1f;
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let request = 0xc000_4657_u32 | (size as u32) << 16;
        let text = format!(
            "{{\"cutap_kernel\":1,\"driver\":\"{driver}\"}}\n{{\"call\":\"ioctl\",\"fd\":3,\"path\":\"/dev/nvidiactl\",\
             \"request\":\"{request:#x}\",\"argument\":\"0x1000\",\"before\":\"{}\",\"after\":\"{}\",\"result\":0}}\n",
            hex(&before),
            hex(&after)
        );
        std::fs::write(folder.join(name), text).unwrap();
        folder.join(name)
    };
    let handles = [(0, 0xc1d0_0001), (4, 0x5c00_0001), (8, 0x5c00_0002), (12, 0x5c00_0003), (24, 0x1000)];
    let old = log("575", "575.57.08", 56, &[&handles[..], &[(40, 0x0080_0000), (44, 2)]].concat(), 48);
    let new = log("580", "580.95.05", 64, &[&handles[..], &[(40, 6), (48, 0x0080_0000), (52, 2)]].concat(), 56);
    let decode = |words: &[&str], file: &Path| {
        let done = finish(Command::new(cutap()).args(["syscall", "decode"]).args(words).arg(file));
        assert!(done.status.success(), "{}", done.stderr);
        (done.stderr, done.stdout)
    };
    let start = "nvidiactl(3) NV_ESC_RM_MAP_MEMORY_DMA {hClient: 0xc1d00001, hDevice: 0x5c000001, hDma: 0x5c000002, \
                 hMemory: 0x5c000003, length: 4096";
    let end = "dmaOffset: 0x200800000} = 0, NV_ERR_INVALID_ARGUMENT\n";
    let (said, text) = decode(&[], &old);
    assert!(said.contains("driver 575.57.08 (recorded); tables of 575.64.05, the nearest of its branch"), "{said}");
    assert_eq!(text, format!("{start}, {end}"));
    let (said, text) = decode(&[], &new);
    assert!(said.contains("driver 580.95.05 (recorded); tables of 580.142, the nearest of its branch"), "{said}");
    assert_eq!(text, format!("{start}, kindOverride: 6, {end}"));
    // The other's tables: the size tells that they do not fit.
    let (said, text) = decode(&["--driver", "580.142"], &old);
    assert!(said.contains("driver 580.142 (given by --driver); the tables are exact"), "{said}");
    assert!(text.contains("[56 bytes were sent, the table has 64]"), "{text}");
    let (said, _) = decode(&["--driver", "390.157"], &old);
    assert!(said.contains("no tables of its branch, those of 535.288.01 are used, much may differ"), "{said}");
}

/// Logs of libcudest's shim have the interface of 2010.
#[test]
fn a_log_of_2010() {
    let log = sources().join("../../fuzz/corpus/kernel_log/shim");
    for (words, said) in [
        (&[][..], "driver 256.35 (assumed: libcudest's shim is of 2010); the tables are exact"),
        (&["--driver", "195.36.24"], "no tables of its branch, those of 256.35 are used, much may differ"),
    ] {
        let done = finish(Command::new(cutap()).args(["syscall", "decode"]).args(words).arg(&log));
        assert!(done.stderr.contains(said), "{}", done.stderr);
        let name = "NV_ESC_RM_CONTROL NV2080_CTRL_CMD_GPU_GET_NAME_STRING {";
        assert!(
            done.stdout.contains(name) && done.stdout.contains("NVRM_STATUS_MTHD_CLASS_MISMATCH"),
            "{}",
            done.stdout
        );
    }
}

#[test]
fn bad_input() {
    let say = |words: &[&str]| {
        let done = finish(Command::new(cutap()).arg("syscall").args(words));
        assert_eq!(
            done.status.code(),
            Some(if words.contains(&"/nonexistent/program") { 127 } else { 125 }),
            "{words:?}"
        );
        done.stderr
    };
    assert!(say(&["trace", "-p", "4194301"]).contains("there is no such process"));
    assert!(say(&["trace", "-p", "0"]).contains("give the number of another process"));
    assert!(say(&["trace", "--ptrace", "--", "/nonexistent/program"]).contains("there is no such file"));
    assert!(say(&["trace", "--ptrace", "--driver", "new", "--", "true"]).contains("new is no driver version"));
    assert!(say(&["decode", "/nonexistent/log"]).contains("check the name"));
    assert!(say(&["decode", "/etc/hostname"]).contains("it has no kernel call"));
    assert!(say(&["diff", "570", "1"]).contains("is no driver release with tables; give one of 256.35, 535."));
    assert!(say(&["diff", "570", "/etc/hostname"]).contains("give two of the same kind"));
    assert!(say(&["sites", "/etc/hostname"]).contains("is no ELF file"));
    let traced =
        finish(Command::new(cutap()).args(["syscall", "trace", "--ptrace", "--driver", "999.1", "--", "true"]));
    assert!(traced.status.success() && traced.stderr.contains("is newer than all tables"), "{}", traced.stderr);
}
