//! A start that fails says why, and gives the advice that helps against that reason.

mod support;

use std::path::Path;
use std::process::{Command, Output};
use support::{CUTAP, Folder, err, refused};

fn sh(script: &str) -> Output {
    Command::new("sh").args(["-c", script]).env_remove("LD_PRELOAD").env_remove("CUTAP_RUN").output().unwrap()
}

fn line(command: &str, file: &Path) -> String {
    format!("exec {CUTAP} {command} -o {} -- echo ran", file.display())
}

#[test]
fn a_full_disk() {
    let folder = Folder::new("full-disk");
    if !sh("unshare -m mount -t tmpfs tmpfs /mnt").status.success() {
        return eprintln!("skipped: a full disk (unshare -m and mount are not allowed here)");
    }
    for command in ["trace", "record"] {
        let mount = format!("mount -t tmpfs -o nr_inodes=1 tmpfs {}", folder.0.display());
        let done = sh(&format!("unshare -m sh -c '{mount} && {}'", line(command, &folder.join("file"))));
        refused(&done, 125, &["the disk is full; free some space on its disk (df, df -i), or give a file"]);
    }
}

#[test]
fn an_immutable_file() {
    let folder = Folder::new("immutable");
    let file = folder.join("file");
    std::fs::write(&file, "").unwrap();
    let chattr = |mark: &str| Command::new("chattr").arg(mark).arg(&file).output().is_ok_and(|o| o.status.success());
    if !chattr("+i") {
        return eprintln!("skipped: an immutable file (chattr +i is not allowed here)");
    }
    let done = ["trace", "record"].map(|command| sh(&line(command, &file)));
    assert!(chattr("-i"));
    for done in done {
        refused(
            &done,
            125,
            &["operation not permitted; see with lsattr", "chattr -ia", "or give a file that you may write"],
        );
    }
}

/// gdb follows the collector instead of the program, and kills it at its end.
#[test]
fn a_collector_that_a_debugger_kills() {
    if !Command::new("gdb").args(["-batch", "-nx"]).output().is_ok_and(|o| o.status.success()) {
        return eprintln!("skipped: a debugger that kills the collector (gdb is not here)");
    }
    let folder = Folder::new("gdb");
    let said = folder.join("said");
    // gdb ends first; the cutap that it let go speaks after that.
    let script = format!(
        "gdb -batch -nx -ex 'set follow-fork-mode child' -ex 'break main' -ex run -ex continue --args {CUTAP} trace -- echo ran 2>{}",
        said.display()
    );
    let done = sh(&script);
    if String::from_utf8_lossy(&done.stdout).contains("ptrace: ") {
        return eprintln!("skipped: a debugger that kills the collector (ptrace is not allowed here)");
    }
    let text = || std::fs::read_to_string(&said).unwrap_or_default();
    support::until("cutap says why it did not start", || text().contains("the program was not run"));
    let expected =
        "cutap: the collector was killed before it was ready (signal: 9 (SIGKILL)), so the program was not run; ";
    assert!(text().contains(expected) && !text().contains("stands above"), "{}{}", text(), err(&done));
}
