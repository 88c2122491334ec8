//! `cutap env` needs no process of ours beside the program, so the program may run where we are not:
//! in mount and PID namespaces of its own, under a read-only root.

mod support;

use std::process::Command;
use support::{CUTAP, cutap, err, out};

#[test]
fn a_program_in_namespaces_of_its_own_with_a_read_only_root() {
    // The run folder must be writable inside: /dev/shm is a mount of its own.
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
