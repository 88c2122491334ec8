//! `cutap env` needs no process of ours beside the program, so the program may run where we are not:
//! in separate mount and PID namespaces, under a read-only root.

mod support;

use std::process::Command;
use support::{CUTAP, cutap, err, out};

#[test]
fn a_program_in_namespaces_of_its_own_with_a_read_only_root() {
    // The run directory must be writable inside: /dev/shm is a separate mount.
    let run = format!("/dev/shm/cutap-test-{}", std::process::id());
    let program = "import ctypes, os; c = ctypes.CDLL('libcuda.so.1'); assert c.cuInit(0) == 0; os.write(1, b'%d\\n' % os.getpid())";
    let inside =
        format!("mount -o remount,ro,bind / && ! touch /read-only 2>/dev/null && exec python3 -c \"{program}\"");
    let both = "\"$0\" --mount --pid --fork --mount-proc sh -c \"$1\" & \"$0\" --mount --pid --fork --mount-proc sh -c \"$1\"; code=$?; wait $!; exit $code";
    let line = format!("eval \"$({CUTAP} env --sim -o {run})\"; {both}");
    let may = Command::new("unshare")
        .args(["--mount", "--pid", "--fork", "--mount-proc", "mount", "-o", "remount,ro,bind", "/"])
        .output();
    if !may.is_ok_and(|o| o.status.success()) {
        return eprintln!("skipped: namespaces and a read-only root (unshare or mount are not allowed here)");
    }
    let done = Command::new("sh").args(["-c", &line, "unshare", &inside]).output().unwrap();
    let shown = cutap(&["show", &run]).output().unwrap();
    let _ = std::fs::remove_dir_all(&run);
    assert!(done.status.success(), "{}", err(&done));
    assert_eq!(out(&done), "1\n1\n", "each is process 1 of its own namespace");
    assert_eq!(out(&shown).matches("cuInit(").count(), 2, "{}{}", out(&shown), err(&shown));
    assert!(!out(&shown).contains("still running"), "{}", out(&shown));
}

/// In a time namespace of its own a process has another clock: what `cutap ctl` says of it is said in its times.
#[test]
fn a_process_with_another_clock_is_off_in_its_own_times() {
    let may = Command::new("unshare").args(["-T", "--monotonic", "5000", "true"]).output();
    if !may.is_ok_and(|o| o.status.success()) {
        return eprintln!("skipped: a time namespace (unshare -T is not allowed here)");
    }
    let folder = support::Folder::new("clock");
    let program = "import ctypes, os, sys; cuda = ctypes.CDLL('libcuda.so.1'); cuda.cuInit(0); print(flush=True); sys.stdin.read(); cuda.cuInit(0)";
    let file = folder.join("run.cutap");
    // The program is the child of a shell, which knows its number and switches it when it has made its first call.
    let line = format!(
        "mkfifo go; unshare -T --monotonic 5000 python3 -c \"$0\" < go > said & exec 3> go; until test -s said; do sleep 0.01; done; \
         {CUTAP} ctl $! off && {CUTAP} ctl $! on; exec 3>&-; wait $!"
    );
    let mut record = cutap(&["record", "--sim", "-o"]);
    record.arg(&file).args(["--", "sh", "-c", &line, program]).current_dir(&folder.0);
    let done = record.output().unwrap();
    assert!(done.status.success(), "{}{}", out(&done), err(&done));
    let text = out(&cutap(&["show", file.to_str().unwrap()]).output().unwrap());
    let off = text.lines().find(|l| l.contains(" was off from ")).unwrap_or_else(|| panic!("{text}"));
    assert!(off.contains(" after the start (cutap ctl)") && !off.contains("000s"), "{off}");
}
