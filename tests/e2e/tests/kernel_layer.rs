//! The layer `syscall`: what a watched library sends to the kernel driver, from inside the process.

use cutap_e2e::{cutap, finish, json_lines, out, scratch, sources};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

fn program() -> PathBuf {
    out().join("requests")
}

/// `cutap WORDS -o FILE -- requests`: what the program wrote, and the file.
fn run(words: &[&str], environment: &[(&str, &str)]) -> (String, String) {
    let folder = scratch("kernel");
    let file = folder.join("out");
    let mut command = Command::new(cutap());
    command.args(words).arg("-o").arg(&file).arg("--").arg(program()).envs(environment.iter().copied());
    let done = finish(&mut command);
    (done.stdout, std::fs::read_to_string(&file).unwrap_or_default())
}

/// Without times, and with the same word for each address.
fn normal(text: &str) -> String {
    let address = |word: &str| {
        let hex = word.trim_start_matches(['{', '(']);
        hex.strip_prefix("0x7").is_some_and(|rest| rest.trim_end_matches([',', '}', ')']).len() == 11)
    };
    let line = |line: &str| {
        let line = line.rsplit_once(" <").map_or(line, |(line, _)| line);
        let line = match line.trim_start().split_once(' ') {
            Some((time, rest)) if time.parse::<f64>().is_ok() => rest,
            _ => line,
        };
        let words = line.split(' ').map(|word| match address(word) {
            true => {
                let at = word.find("0x7").unwrap_or(0);
                let end = word.trim_end_matches([',', '}', ')']).len();
                format!("{}ADDRESS{}", &word[..at], &word[end..])
            }
            false => word.to_owned(),
        });
        words.collect::<Vec<_>>().join(" ") + "\n"
    };
    text.lines().filter(|l| !l.starts_with("cutap:")).map(line).collect()
}

fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(&path).unwrap_or_default(), "{name}");
}

#[test]
fn each_request_with_its_fields() {
    assert!(sources().join("calls/requests.c").is_file());
    let (said, text) = run(&["syscall", "trace", "--driver", "580.142"], &[]);
    assert_eq!(said, "ok\n");
    golden("kernel_trace.txt", &normal(&text));
}

#[test]
fn in_the_tree_of_all_layers() {
    let (said, text) = run(&["trace", "-e", "syscall,library"], &[]);
    assert_eq!(said, "ok\n");
    assert!(text.starts_with("[libnvidia-ml.so.1] nvmlInit_v2() {\n  [syscall] getenv "), "{text}");
    assert!(text.contains("\n  [syscall] nvidiactl(") && text.contains("} nvmlInit_v2 = NVML_SUCCESS"), "{text}");
    let (_, text) = run(&["trace", "-e", "syscall:open*,library"], &[]);
    assert_eq!((text.matches("[syscall] open ").count(), text.matches("[syscall]").count()), (3, 3), "{text}");
}

#[test]
fn off_unless_it_is_asked_for() {
    for words in [&["trace"][..], &["trace", "-e", "library"], &["trace", "-e", "*"]] {
        let (said, text) = run(words, &[]);
        assert_eq!(said, "ok\n");
        assert!(!text.contains("ioctl") && !text.contains("[syscall]"), "{words:?}: {text}");
    }
}

#[test]
fn json_is_read_back_as_the_same_lines() {
    let folder = scratch("kernel");
    let (file, program) = (folder.join("calls.json"), program());
    let trace = |words: &[&str]| {
        finish(
            Command::new(cutap()).args(["syscall", "trace"]).args(words).arg("-o").arg(&file).arg("--").arg(&program),
        )
    };
    assert_eq!(trace(&["--json"]).stdout, "ok\n");
    let decoded = finish(Command::new(cutap()).args(["syscall", "decode", "--driver", "580.142"]).arg(&file));
    let request = |line: &str| line.find("nvidiactl(").map(|at| line[at..].to_owned()).filter(|l| l.contains("NV_ESC"));
    let lines = |text: &str| -> Vec<String> { normal(text).lines().filter_map(request).collect() };
    let (_, text) = run(&["syscall", "trace", "--driver", "580.142"], &[]);
    assert_eq!(lines(&decoded.stdout), lines(&text));
    assert_eq!(lines(&text).len(), 6, "{text}");
}

#[test]
fn answers_that_do_not_reach_the_kernel() {
    let (said, text) = run(&["syscall", "trace", "--fail", "get_gid_info=NV_ERR_NOT_SUPPORTED"], &[]);
    assert!(said.contains("gets.status == 0"), "{said}");
    assert!(text.contains("GET_GID_INFO") && text.contains("= 0, NV_ERR_NOT_SUPPORTED"), "{text}");
    let (said, text) = run(&["syscall", "trace", "--deny", "NV01_ROOT"], &[]);
    assert!(said.contains("root.object == 0xc1d00001"), "{said}");
    assert!(text.contains("= -22 (Invalid argument)"), "{text}");
    let (said, text) = run(&["syscall", "trace", "--fail", "UVM_INITIALIZE=0x1f"], &[]);
    assert!(said.contains("init[2] == 0x40") && text.contains("NV_ERR_INVALID_ARGUMENT"), "{said}{text}");
}

#[test]
fn only_some() {
    let lines = |words: &[&str]| {
        let (_, text) = run(&[&["syscall", "trace"], words].concat(), &[]);
        normal(&text).lines().filter(|l| !l.ends_with(':')).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(lines(&["--command", "*GID*"]).len(), 1);
    assert_eq!(lines(&["--class", "0x0"]).len(), 1);
    assert_eq!(lines(&["--object", "0xc1d00001", "--command", "rm_alloc"]).len(), 1);
    let failed = lines(&["--status", "failed"]);
    assert_eq!(failed.len(), 4, "{failed:#?}");
}

#[test]
fn a_recording_has_them() {
    let folder = scratch("kernel");
    let file = folder.join("r.cutap");
    let record = finish(
        Command::new(cutap()).args(["record", "-e", "syscall,library", "-o"]).arg(&file).arg("--").arg(program()),
    );
    assert_eq!(record.stdout, "ok\n");
    assert!(record.stderr.contains("raw bytes of requests to the kernel driver"), "{}", record.stderr);
    let ask = |words: &[&str]| finish(Command::new(cutap()).arg("syscall").args(words).arg(&file)).stdout;
    assert!(ask(&["tree"]).contains("  0xc1d00001 NV01_ROOT_CLIENT  [nvmlInit_v2]\n"));
    assert!(ask(&["maps"]).contains("rw nvidiactl"));
    let census = ask(&["census"]);
    assert!(census.contains("not understood: 1\n  control 0x20808159, 1 times: GSS legacy"), "{census}");
    let allowed = ask(&["census", "--allow-list"]);
    assert!(allowed.contains("0x30000001 UVM_INITIALIZE  # compute,utility\n"), "{allowed}");
    assert!(allowed.contains("\n/proc/self/status\n"), "a file that is not of the driver: {allowed}");
    assert!(ask(&["decode"]).contains("fopen /proc/self/status {mode: r} <"));
    let shown = finish(Command::new(cutap()).args(["show", "-e", "!syscall"]).arg(&file)).stdout;
    assert!(shown.contains("nvmlInit_v2") && !shown.contains("[syscall]"), "{shown}");
}

/// A sandbox must permit files of the system too, so JSON has them; text has them with -v.
#[test]
fn files_of_the_system() {
    let of = |words: &[&str]| run(&[&["syscall", "trace"], words].concat(), &[]).1;
    assert!(!of(&[]).contains("/proc/self/status"));
    assert!(of(&["-v"]).contains("fopen /proc/self/status {mode: r} <"));
    let json = of(&["--json"]);
    let open = json_lines(&json).find(|line| line["path"] == "/proc/self/status").unwrap();
    assert_eq!((&open["call"], &open["stream"], &open["result"]), (&"open".into(), &"r".into(), &0.into()), "{open}");
    let folder = scratch("kernel");
    let file = folder.join("lines.json");
    std::fs::write(&file, json).unwrap();
    let allowed = finish(Command::new(cutap()).args(["syscall", "census", "--allow-list"]).arg(&file)).stdout;
    assert!(allowed.contains("\n/proc/self/status\n"), "{allowed}");
}

#[test]
fn an_answer_to_an_argument_that_cannot_be_written_to() {
    let folder = scratch("bad-arguments");
    let mut command = Command::new(cutap());
    command.args(["syscall", "trace", "--fail", "get_gid_info=NV_ERR_NOT_SUPPORTED", "-o"]).arg(folder.join("out"));
    let done = finish(command.arg("--").arg(out().join("bad_arguments")).env("LD_LIBRARY_PATH", out()));
    assert_eq!((&*done.stdout, done.status.code()), ("ok\n", Some(0)), "{}", done.stderr);
}

/// Another library in LD_PRELOAD wraps ioctl, in front of cutap's or behind it.
#[test]
fn another_library_wraps_requests() {
    let script = r#"set -e; eval "$("$0" env -e syscall -o "$1")"
        export LD_PRELOAD="$2${2:+:}$LD_PRELOAD${3:+:}$3"; exec "$4""#;
    let wraps = out().join("libinterposes.so");
    for [front, behind] in [["", ""], [wraps.to_str().unwrap(), ""], ["", wraps.to_str().unwrap()]] {
        let folder = scratch("interposed");
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).arg(cutap()).arg(folder.join("run")).args([front, behind]);
        let done = finish(shell.arg(out().join("interposed")).env("LD_LIBRARY_PATH", out()));
        assert_eq!((&*done.stdout, done.status.code()), ("ok\n", Some(0)), "{}", done.stderr);
        let shown = finish(Command::new(cutap()).args(["show", "-v"]).arg(folder.join("run"))).stdout;
        assert_eq!(shown.matches("null(3) request 0xc020462a").count(), 3, "{front}:{behind}: {shown}");
    }
}

/// Each command prints what is left, then says what is missing, and fails.
#[test]
fn a_damaged_recording() {
    let folder = scratch("kernel");
    let (file, log) = (folder.join("r.cutap"), folder.join("log.json"));
    finish(Command::new(cutap()).args(["record", "-e", "syscall,library", "-o"]).arg(&file).arg("--").arg(program()));
    let json = finish(Command::new(cutap()).args(["syscall", "decode", "--json"]).arg(&file)).stdout;
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() - 40]).unwrap();
    std::fs::write(&log, &json[..json.len() - 40]).unwrap();
    for words in [&["census"][..], &["tree"], &["maps"], &["decode"], &["diff", "570", "580", "--used-by"]] {
        let of = |input: &Path| finish(Command::new(cutap()).arg("syscall").args(words).arg(input));
        let done = of(&file);
        assert!(done.stderr.contains(" cut off"), "{words:?}: {}", done.stderr);
        assert!(!done.stdout.is_empty() && done.status.code() == Some(125), "{words:?}: {}", done.stderr);
        let done = of(&log);
        assert!(done.stderr.contains("not read: line "), "{words:?}: {}", done.stderr);
    }
}

/// cutap asks the driver for a kernel's parameters, and the driver loads the module then.
#[test]
fn requests_while_cutap_asks_the_driver() {
    let folder = scratch("kernel");
    let file = folder.join("out");
    let mut command = Command::new(cutap());
    command.args(["trace", "-e", "syscall,driver", "-o"]).arg(&file).arg("--").arg(out().join("loads_late"));
    let done = finish(&mut command);
    assert_eq!(done.stdout, "ok\n", "{}", done.stderr);
    let text = std::fs::read_to_string(&file).unwrap();
    let count = |what: &str| text.lines().filter(|line| line.contains(what)).count();
    assert_eq!((count("NV_ESC_RM_FREE"), count("} cuLaunchKernel "), count("cuFuncGetParamInfo")), (4, 2, 0), "{text}");
}

#[test]
fn variables_of_the_environment() {
    let (said, text) = run(&["syscall", "getenv"], &[]);
    assert_eq!(said, "ok\n");
    assert!(text.contains("getenv CUDA_FIXTURE_SET by libnvidia-ml.so.1 = \"yes\""), "{text}");
    assert!(text.contains("getenv CUDA_FIXTURE_UNSET by libnvidia-ml.so.1 (not set)"), "{text}");
    let line = |name: &str| text.lines().find(|line| line.contains(name)).unwrap().to_owned();
    assert!(line("CUDA_DEVICE_ORDER").contains("  # order of the GPUs"), "{text}");
    assert!(line("CUDA_03b69110").ends_with("  # a hashed name; NVIDIA does not publish its meaning"), "{text}");
    assert!(!line("CUDA_FIXTURE_SET").contains('#'), "{text}");
    let (_, json) = run(&["syscall", "getenv", "--json"], &[]);
    let calls: Vec<Value> = json.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    let meaning = |name: &str| calls.iter().find(|call| call["name"] == name).unwrap()["meaning"].clone();
    assert!(meaning("CUDA_DEVICE_ORDER").is_string() && meaning("CUDA_FIXTURE_SET").is_null(), "{json}");
}

/// The caller inside the library is first.
#[test]
fn stacks_of_requests() {
    let (_, text) = run(&["syscall", "trace", "--stack"], &[]);
    let lines: Vec<&str> = text.lines().collect();
    let requests: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].contains(" NV_ESC_")).collect();
    assert_eq!(requests.len(), 6, "{text}");
    for at in requests {
        assert!(lines[at + 1].trim_start().starts_with("> nvmlInit_v2+0x"), "{text}");
        assert!(lines[at + 2].trim_start().starts_with("> main+0x"), "{text}");
    }
    let (_, text) = run(&["trace", "-e", "syscall,library", "--stack=syscall:ioctl"], &[]);
    assert_eq!(text.matches("\n      at nvmlInit_v2+0x").count(), 7, "{text}");
    assert!(text.contains(" requests.c:"), "{text}");
}

/// A slice of an ioctl has its request and its stack; one of a submission what the GPU is asked to do. Both lie inside
/// their driver call.
#[test]
fn exports_have_requests_and_submissions() {
    let folder = scratch("kernel");
    let (file, chrome, perfetto) = (folder.join("r.cutap"), folder.join("chrome"), folder.join("perfetto"));
    let mut record = Command::new(cutap());
    record.args(["record", "-e", "syscall,submit,driver", "--stack=syscall:ioctl", "-o"]).arg(&file).arg("--");
    assert_eq!(finish(record.arg(out().join("submits"))).stdout, "ok\n");
    for (form, to) in [("--chrome", &chrome), ("--perfetto", &perfetto)] {
        let done = finish(Command::new(cutap()).args(["export", form]).arg(to).arg(&file));
        assert!(done.status.success(), "{}", done.everything());
    }
    let slices: Vec<Value> = serde_json::from_slice(&std::fs::read(&chrome).unwrap()).unwrap();
    let text = |slice: &Value, key: &str| slice["args"][key].as_str().unwrap_or_default().to_owned();
    let found = |key: &str, word: &str| slices.iter().find(|slice| text(slice, key).contains(word)).unwrap();
    let span = |slice: &Value| {
        let begin = slice["ts"].as_f64().unwrap();
        (slice["tid"].as_u64().unwrap(), begin, begin + slice["dur"].as_f64().unwrap())
    };
    let inside = |inner: &Value, name: &str| {
        let (tid, begin, end) = span(inner);
        slices
            .iter()
            .filter(|slice| slice["name"] == name)
            .map(span)
            .any(|(t, b, e)| t == tid && b <= begin && end <= e)
    };
    let channel = found("cutap.request", "NV_ESC_RM_ALLOC HOPPER_CHANNEL_GPFIFO_A {");
    assert!(text(channel, "cutap.request").ends_with("= 0, NV_OK") && inside(channel, "cuInit"), "{channel}");
    assert!(text(channel, "cutap.stack").starts_with("at cuInit+0x"), "{channel}");
    let launch = found("cutap.submission", "launch grid 7x5x3 block 32x2x1");
    assert!(inside(launch, "cuLaunchKernel") && !inside(launch, "cuInit"), "{launch}");
    let requests = slices.iter().filter(|slice| !text(slice, "cutap.request").is_empty());
    assert!(requests.clone().all(|slice| slice["name"] == "ioctl") && requests.count() == 7, "{slices:#?}");

    let bytes = String::from_utf8_lossy(&std::fs::read(&perfetto).unwrap()).into_owned();
    for word in ["cutap.request", "NV_ESC_RM_ALLOC HOPPER_CHANNEL_GPFIFO_A {", "launch grid 7x5x3", "at cuInit+0x"] {
        assert!(bytes.contains(word), "{word}");
    }
    let json = finish(Command::new(cutap()).args(["show", "--json"]).arg(&file)).stdout;
    let lines: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let classes: Vec<&Value> =
        lines.iter().map(|line| &line["request"]["class"]["name"]).filter(|n| !n.is_null()).collect();
    assert_eq!(classes, ["NV01_MEMORY_SYSTEM", "NV01_MEMORY_SYSTEM", "HOPPER_CHANNEL_GPFIFO_A"]);
}

#[test]
fn wrong_input_is_one_sentence() {
    let folder = scratch("kernel");
    let empty = folder.join("empty");
    std::fs::write(&empty, "").unwrap();
    let empty = empty.to_str().unwrap();
    for (words, said) in [
        (&["syscall", "census", "/nowhere"][..], "check the name"),
        (&["syscall", "tree", empty], "it has no kernel call"),
        (&["syscall", "maps", "4194303"], "there is no process 4194303"),
        (&["syscall", "trace", "--deny", "nothing_like_it", "--", "true"], "has no such escape"),
        (&["syscall", "trace", "--object", "x", "--", "true"], "is no handle"),
        (&["syscall", "trace", "--command", "nothing_like_it", "--", "true"], "the driver has no such escape"),
        (&["syscall", "trace", "--ptrace", "--class", "RM_FREE", "--", "true"], "the driver has no such class"),
        (&["syscall", "decode", "--status", "nothing", empty], "the driver has no such status"),
        (&["syscall", "trace", "--ptrace", "--deny", "RM_FREE", "--", "true"], "leave --ptrace and -p out"),
    ] {
        let done = Command::new(cutap()).args(words).output().unwrap();
        let error = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(!done.status.success() && error.contains(said), "{words:?}: {error}");
    }
}
