//! What `cutap trace`, `env` and `show` print, and that they leave the program's streams, ids and end alone.

use cutap_e2e::{case, cutap, finish, json_lines, normal_form, out, scratch, wait_for};
use std::ffi::OsStr;
use std::os::unix::{ffi::OsStrExt, fs::PermissionsExt, process::ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::{fs, time::Duration};

fn program(name: &str) -> Command {
    let mut command = Command::new(out().join(name));
    command.env("LD_LIBRARY_PATH", out());
    command
}

/// `cutap trace FLAGS -- PROGRAM`, not started yet.
fn cutap_trace(flags: &[&str], name: &str) -> Command {
    let mut command = Command::new(cutap());
    command.arg("trace").args(flags).arg("--").arg(out().join(name)).env("LD_LIBRARY_PATH", out());
    command
}

/// SIGTERM, by the shell's own word: a small Debian has no program of that name.
fn kill(pid: &str) {
    assert!(Command::new("sh").args(["-c", "kill \"$0\"", pid]).status().unwrap().success());
}

#[test]
fn a_long_call_is_opened_and_closed() {
    let text = case("slow").text(&[]);
    let lines: Vec<&str> = text.lines().filter(|l| !l.starts_with("cutap: ")).collect();
    let [short, open, close] = lines[..] else { panic!("not three lines:\n{text}") };
    assert!(short.starts_with("cuFixtureSleep(") && short.contains(") = CUDA_SUCCESS <"), "{text}");
    assert!(open.starts_with("cuFixtureSleep(") && open.ends_with(") {"), "{text}");
    assert!(close.starts_with("} cuFixtureSleep = CUDA_SUCCESS <3"), "{text}");
}

#[test]
fn filters() {
    // How far a line is indented when its parents are not shown is not asked here.
    let unindented = |text: String| text.lines().map(|l| format!("{}\n", l.trim_start())).collect::<String>();
    let only = |filter, name: &str| unindented(normal_form(&case(name).text(&["-e", filter])));
    let (alloc, failed, free) = (
        "cuMemAlloc_v2(...) = CUDA_SUCCESS\n",
        "cuMemAlloc_v2(...) = CUDA_ERROR_INVALID_VALUE !\n",
        "cuMemFree_v2(...) = CUDA_SUCCESS\n",
    );
    assert_eq!(only("cuMemAlloc*", "lazy"), [alloc, failed].concat());
    assert_eq!(only("!cuInit", "lazy"), [alloc, failed, free].concat());
    assert_eq!(only("error", "lazy"), failed);
    assert_eq!(only(">100ms", "slow"), "cuFixtureSleep(...) = CUDA_SUCCESS\n");
    assert_eq!(only("runtime", "layers"), "[libcudart.so.12] cudaMalloc(...) = cudaSuccess\n");
    assert_eq!(only("libcublas*", "layers"), "[libcublas.so.12] cublasCreate_v2(...) = CUBLAS_STATUS_SUCCESS\n");
    assert_eq!(
        only("driver", "layers"),
        "cuGetProcAddress_v2(...) = CUDA_SUCCESS\ncuMemAlloc_v2(...) = CUDA_SUCCESS\n"
    );
}

#[test]
fn layers_as_json() {
    let all: Vec<_> = json_lines(&case("layers").text(&["--json"])).collect();
    let calls: Vec<_> = all.iter().filter(|o| o["type"] == "call").collect();
    let of = |name: &str| *calls.iter().find(|o| o["name"] == name).unwrap_or_else(|| panic!("no {name} in {all:?}"));
    let (library, runtime, driver) = (of("cublasCreate_v2"), of("cudaMalloc"), of("cuMemAlloc_v2"));
    assert_eq!(calls.len(), 4);
    for (call, depth, layer) in [(library, 0, "library"), (runtime, 1, "runtime"), (driver, 2, "driver")] {
        assert_eq!(call["depth"], depth, "{call}");
        assert_eq!(call["layer"], layer, "{call}");
        assert_eq!(call["state"], "done", "{call}");
        assert!(call["pid"].is_u64() && call["tid"].is_u64() && call["start_ns"].is_u64(), "{call}");
        assert!(
            call["args"].as_array().is_some_and(|a| a.iter().all(|w| w.as_str().is_some_and(|w| w.starts_with("0x")))),
            "{call}"
        );
    }
    let time =
        |call: &serde_json::Value| call["duration_ns"].as_u64().unwrap_or_else(|| panic!("no duration in {call}"));
    assert!(time(library) >= time(runtime) && time(runtime) >= time(driver) && time(driver) > 0);
    assert!(all.iter().any(|o| o["type"] == "process") && all.last().is_some_and(|o| o["type"] == "end"), "{all:?}");
}

#[test]
fn json_says_how_a_call_ended() {
    let state = |name, function: &str| {
        let all: Vec<_> = json_lines(&case(name).text(&["--json"])).collect();
        all.iter().find(|o| o["name"] == function).unwrap_or_else(|| panic!("no {function} in {all:?}"))["state"]
            .clone()
    };
    assert_eq!(state("end_kill", "cuFixtureDie"), "unfinished");
    assert_eq!(state("longjmp", "cuFixtureCall"), "unwound");
}

/// The path and the arguments of a program may hold any bytes. JSON keeps them. For people, invalid text becomes a
/// replacement character, and control characters are escaped.
#[test]
fn a_program_with_any_bytes_in_its_words() {
    let folder = scratch("any-bytes");
    let (odd, file) = (folder.join(OsStr::from_bytes(b"a\nb\xffc")), folder.join("run.cutap"));
    fs::create_dir(&odd).unwrap();
    let program = odd.join("last\nwords");
    fs::copy(out().join("last_words"), &program).unwrap();
    let words =
        [&b"two\nlines"[..], b"", b"\ttab \x1b[31m", "µ \u{fffd}".as_bytes(), b"\xff\xfe"].map(OsStr::from_bytes);
    let run = |flags: &[&OsStr]| {
        let mut command = Command::new(cutap());
        command.args(flags).arg("--").arg(&program).args(words).env("LD_LIBRARY_PATH", out());
        finish(&mut command)
    };
    run(&["record".as_ref(), "-o".as_ref(), file.as_os_str()]);
    let shown = finish(Command::new(cutap()).args(["show", "--json"]).arg(&file)).stdout;
    for text in [shown, run(&["trace".as_ref(), "--json".as_ref()]).stderr] {
        let lines: Vec<&str> = text.lines().filter(|l| l.contains(r#""type":"process""#)).collect();
        let [line] = lines[..] else { panic!("not one process: {text}") };
        let process: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        let path = format!("{}/a\nb\u{fffd}c/last\nwords", folder.canonicalize().unwrap().display());
        assert_eq!(process["exe"], path, "{line}");
        let expected = ["two\nlines", "", "\ttab \u{1b}[31m", "µ \u{fffd}", "\u{fffd}\u{fffd}"];
        assert_eq!(process["arguments"].as_array().unwrap()[1..], expected, "{line}");
    }
    let text = finish(Command::new(cutap()).args(["report", "--by", "thread"]).arg(&file)).stdout;
    assert!(text.lines().any(|l| l.contains(" (last\\nwords) ")), "{text}");
}

#[test]
fn json_says_who_was_forked_and_from_whom() {
    // The first call is made before and after the fork: a parent without a call has no folder to be named by, but an
    // id.
    for (name, folder) in [("fork_before", false), ("fork_after", true)] {
        let all: Vec<_> = json_lines(&case(name).text(&["--json"])).collect();
        let processes: Vec<_> = all.iter().filter(|o| o["type"] == "process").collect();
        let [child, parent] = [true, false].map(|forked| {
            *processes.iter().find(|p| p["forked"] == forked).unwrap_or_else(|| panic!("none {forked}: {processes:?}"))
        });
        assert_eq!((processes.len(), &child["ppid"]), (2, &parent["pid"]), "{processes:?}");
        assert_eq!(child["parent"] == parent["folder"], folder, "{processes:?}");
    }
}

#[test]
fn summary_counts_errors_and_times() {
    let all: Vec<_> = json_lines(&case("lazy").text(&["-c", "--json"])).collect();
    let alloc = all.iter().find(|o| o["name"] == "cuMemAlloc_v2").unwrap_or_else(|| panic!("{all:?}"));
    assert_eq!((alloc["calls"].as_u64(), alloc["errors"].as_u64()), (Some(2), Some(1)), "{alloc}");
    let ns = |field: &str| alloc[field].as_u64().unwrap_or_else(|| panic!("no {field} in {alloc}"));
    assert!(ns("total_ns") >= ns("max_ns") && ns("max_ns") >= ns("p50_ns") && ns("p99_ns") >= ns("p50_ns"), "{alloc}");
    let text = case("lazy").text(&["-c"]);
    assert!(text.lines().any(|l| l.contains("cuMemAlloc_v2") && l.contains(" 2 ")), "{text}");
}

#[test]
fn look_ups() {
    let text = case("future").text(&["-e", "lookup"]);
    let has = |start: &str| text.lines().any(|l| l.starts_with(start));
    assert!(has("lookup dlsym(RTLD_DEFAULT, \"cuFutureThing_v9\") by future = "), "{text}");
    assert!(has("lookup cuGetProcAddress_v2(\"cuFutureThing\", "), "{text}");
    assert!(text.lines().any(|l| l.contains("\"cuFutureThing\"") && l.contains("13050")), "{text}");
}

#[test]
fn ids_only_when_there_is_more_than_one() {
    let ids = |line: &str| line.split(' ').next().is_some_and(|w| w.contains('/') && !w.contains('('));
    assert!(!case("lazy").text(&[]).lines().any(ids));
    let text = case("fork_after").text(&[]);
    assert!(text.lines().any(|l| ids(l) && l.contains("cuMemFree_v2")), "{text}");
}

#[test]
fn children_only_when_followed() {
    let text = case("exec").text(&["--no-follow-children"]);
    assert!(text.contains("cuInit(") && !text.contains("cuMemAlloc_v2("), "{text}");
    // Also one that has its parent's memory.
    let text = case("vfork_after").text(&["--no-follow-children"]);
    assert!(text.contains("cuStreamSynchronize(") && !text.contains("cuMemFree_v2("), "{text}");
    assert!(!text.contains("could not be made"), "{text}");
}

#[test]
fn streams_stay_apart() {
    let run = finish(&mut cutap_trace(&[], "lazy"));
    assert_eq!(run.stdout, "ok\n");
    assert!(run.stderr.contains("cuInit(") && !run.stderr.contains('\x1b'), "{}", run.stderr);
}

#[test]
fn each_line_while_the_program_runs() {
    let folder = scratch("live");
    let file = folder.join("trace");
    let mut child = cutap_trace(&["-o", file.to_str().unwrap()], "until_killed").stdout(Stdio::null()).spawn().unwrap();
    wait_for("the call that lasts is opened", Duration::from_secs(10), || {
        read(&file).lines().any(|l| l.ends_with(" {"))
    });
    kill(&child.id().to_string());
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    wait_for("the call is shown as unfinished", Duration::from_secs(10), || read(&file).contains("= ? <unfinished>"));
}

#[test]
fn environment_alone_and_show_while_it_runs() {
    let folder = scratch("env");
    let run = folder.join("run");
    let script = r#"eval "$("$0" env -o "$1")"; exec "$2""#;
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(cutap()).arg(&run).arg(out().join("until_killed"));
    let mut child = shell.env("LD_LIBRARY_PATH", out()).stdout(Stdio::null()).spawn().unwrap();
    let show = || finish(Command::new(cutap()).arg("show").arg(&run)).stdout;
    wait_for("show prints the open call", Duration::from_secs(10), || {
        normal_form(&show()).contains("cuFixtureSleep(...) = CUDA_SUCCESS\n")
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let text = show();
    assert_eq!(
        normal_form(&text),
        "cuFixtureSleep(...) = CUDA_SUCCESS\ncuFixtureSleep(...) = ? <unfinished>\n",
        "{text}"
    );
}

#[test]
fn a_broken_pipe_is_a_clean_end() {
    let script = r#""$0" trace -- "$1" 2>&1 >/dev/null | head -n 1"#;
    let run = finish(
        Command::new("sh")
            .args(["-c", script])
            .arg(cutap())
            .arg(out().join("threads_in_turn"))
            .env("LD_LIBRARY_PATH", out()),
    );
    assert_eq!(run.stdout.lines().count(), 1);
    assert_eq!(run.stderr, "");
}

#[test]
fn the_program_ends_as_without_us() {
    for name in ["end_exit", "end_in_callback", "end_kill", "end_segv"] {
        let (plain, traced) = (finish(&mut program(name)), finish(&mut cutap_trace(&[], name)));
        assert_eq!(
            (plain.status.code(), plain.status.signal()),
            (traced.status.code(), traced.status.signal()),
            "{name}"
        );
    }
}

/// A name may hold anything; what cutap says of it is one line all the same.
#[test]
fn names_with_control_characters() {
    let folder = scratch("names");
    let strange = folder.join("pro\ng\x1b[31m");
    fs::copy("/bin/true", &strange).unwrap();
    let may = |mode| fs::set_permissions(&strange, fs::Permissions::from_mode(mode)).unwrap();
    let shown = r"pro\ng\u{1b}[31m";
    for (words, doing) in [("record", "recording"), ("trace", "tracing")] {
        let mut command = Command::new(cutap());
        command.args([words, "--sim", "-o"]).arg(folder.join(words)).arg("--").arg(&strange);
        let said = finish(&mut command).stderr;
        let line = format!("cutap: {doing} {shown} on the simulated driver (launches are accepted and not executed)");
        assert_eq!(said.lines().next(), Some(&*line), "{said}");
        may(0o644);
        let refused = finish(Command::new(cutap()).args([words, "--"]).arg(&strange)).stderr;
        assert!(refused.lines().count() == 1 && refused.contains(shown), "{refused}");
        may(0o755);
    }
}

#[test]
fn sigterm_to_the_program() {
    let folder = scratch("sigterm");
    let (trace, stdout) = (folder.join("trace"), folder.join("stdout"));
    let mut command = cutap_trace(&["-o", trace.to_str().unwrap()], "until_killed");
    let mut child = command.stdout(fs::File::create(&stdout).unwrap()).spawn().unwrap();
    wait_for("the program says that it waits", Duration::from_secs(10), || read(&stdout).ends_with('\n'));
    let said = read(&stdout);
    let pid = said.trim().strip_prefix("waiting ").unwrap_or_else(|| panic!("{said}"));
    kill(pid);
    assert_eq!(child.wait().unwrap().signal(), Some(15));
}

#[test]
fn job_control_on_a_terminal() {
    let typed = |command: String| {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/terminal.py");
        let run = finish(Command::new("python3").arg(script).arg(command).env("LD_LIBRARY_PATH", out()));
        assert!(run.status.success(), "{}", run.stderr);
        run.stdout
    };
    let program = out().join("until_killed");
    let plain = typed(program.display().to_string());
    assert_eq!(plain, "waiting\nStopped\nstopped 1\ncode 130\nleft 0\n");
    assert_eq!(typed(format!("{} trace -o /dev/null -- {}", cutap().display(), program.display())), plain);
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}
