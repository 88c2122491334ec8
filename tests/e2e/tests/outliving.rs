//! What outlives the program is waited for, whatever /proc says about it: its calls are in the recording.

use cutap_e2e::{cutap, finish, out, scratch, wait_for};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// Runs `outlives` as `how` says, in front of it `before`; what cutap said, and how often the child called.
fn recorded(folder: &Path, before: &[&str], cutap: &Path, program: &Path, how: &str) -> (String, u64) {
    let (file, runs) = (folder.join("run.cutap"), folder.join("runs"));
    let mut command = Command::new("env");
    command
        .arg(format!("XDG_RUNTIME_DIR={}", runs.display()))
        .args(before)
        .arg(cutap)
        .args(["record", "-o"])
        .arg(&file);
    command.arg("--").arg(program).arg(how).env("LD_LIBRARY_PATH", program.parent().unwrap());
    let done = finish(&mut command);
    assert!(done.status.success(), "{how}: {done:?}");
    // The collector removes the run directory when it has ended.
    wait_for("the collector's end", LONG, || fs::read_dir(&runs).unwrap().count() == 0);
    let shown = finish(Command::new(cutap).args(["show", "-c"]).arg(&file)).stdout;
    let row = shown.lines().find(|l| l.starts_with("cuDriverGetVersion "));
    (done.stderr, row.map_or(0, |l| l.split_whitespace().nth(1).unwrap().parse().unwrap()))
}

/// Its calls are recorded whatever became of its first thread and its environment.
#[test]
fn record_with_dead_main_thread() {
    for how in ["-", "e", "t", "te", "z", "ez", "tz", "b"] {
        let folder = scratch("outlives");
        fs::create_dir(folder.join("runs")).unwrap();
        let (said, calls) = recorded(&folder, &[], cutap(), &out().join("outlives"), how);
        assert_eq!(calls, 100, "{how}: {said}");
        let name = if how == "b" { "\u{fffd}\u{fffd}" } else { "outlives" };
        let expected = format!("({name}) still runs; its calls are added to the recording");
        assert!(said.contains(&expected), "{how}: {said}");
    }
}

/// By another user than root, from whom the kernel hides environment and memory.
#[test]
fn its_calls_are_recorded_where_it_may_not_be_looked_into() {
    let folder = scratch("hidden");
    let built = ["outlives", "libcuda.so.1", "libfixture.so"].map(|name| out().join(name));
    for from in built.iter().chain([cutap()]) {
        fs::copy(from, folder.join(from.file_name().unwrap())).unwrap();
    }
    let script = r#"mkdir "$0/runs" && chmod 755 "$0" && chown -R 65534:65534 "$0" && setpriv --reuid 65534 true"#;
    let made = Command::new("sh").args(["-c", script]).arg(&*folder).output().unwrap();
    if !made.status.success() {
        return println!("skipped: a process that may not be looked into: only root may become another user");
    }
    let home = format!("HOME={}", folder.display());
    let before = [&*home, "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];
    for how in ["n", "en"] {
        let (said, calls) = recorded(&folder, &before, &folder.join("cutap"), &folder.join("outlives"), how);
        assert_eq!(calls, 100, "{how}: {said}");
        assert!(
            said.contains("a process that may not be looked into still runs; its calls are added"),
            "{how}: {said}"
        );
    }
}

/// A process is switched by its number whatever became of its first thread and its environment.
#[test]
fn ctl_pid_with_dead_main_thread() {
    for how in ["ez", "te"] {
        let folder = scratch("switched");
        let file = folder.join("run.cutap");
        let line = r#"exec "$0" record -o "$1" -- "$2" "$3" 2> "$4""#;
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).arg(cutap()).arg(&file).arg(out().join("outlives")).arg(how).arg(folder.join("said"));
        let done = finish(shell.env("LD_LIBRARY_PATH", out()).env("XDG_RUNTIME_DIR", &*folder));
        let said = fs::read_to_string(folder.join("said")).unwrap();
        let pid = said.split(' ').nth(1).unwrap_or_default();
        assert!(done.status.success() && said.contains("(outlives) still runs"), "{said}");
        let status = finish(Command::new(cutap()).args(["ctl", pid, "status"]));
        assert!(status.status.success() && status.stdout.contains("on"), "{how}: {status:?}");
        if how == "ez" {
            let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
            let thread = threads.map(|t| t.file_name().into_string().unwrap()).find(|t| t != pid).unwrap();
            let refused = finish(Command::new(cutap()).args(["ctl", &thread, "off"]));
            let said = format!("cutap: {thread} is a thread of process {pid}; give the number of the process\n");
            assert_eq!((refused.status.code(), refused.stderr), (Some(125), said));
        }
        let gone = || !fs::read_dir(&*folder).unwrap().flatten().any(|e| e.path().is_dir());
        wait_for("the collector's end", LONG, gone);
    }
}
