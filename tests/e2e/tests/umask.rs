//! Files of a run that the program's user may not open: the program's umask does not take them away, and what somebody
//! else has taken away is told. Without the rights of root, to whom no mode matters.

use cutap_e2e::{Finished, cutap, finish, json_lines, out, scratch};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// `cutap` with the rights of its user alone.
fn plain_user(words: &[&str]) -> Finished {
    let mut command = Command::new(cutap());
    if fs::metadata("/proc/self").is_ok_and(|m| m.uid() == 0) {
        command = Command::new("setpriv");
        command.arg("--bounding-set=-dac_override,-dac_read_search").arg(cutap());
    }
    finish(command.args(words).env("LD_LIBRARY_PATH", out()))
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Calls of a recording or a run directory, and what was said.
fn calls(done: &Finished) -> u64 {
    let lines = json_lines(&done.stdout);
    lines.filter(|l| l["name"] == "cuDriverGetVersion").map(|l| l["calls"].as_u64().unwrap()).sum()
}

#[test]
fn a_programs_umask_takes_no_file_of_the_run_away() {
    let folder = scratch("umask");
    let program = out().join("umask");
    for before in [None, Some("before")] {
        let file = folder.join(format!("{before:?}.cutap"));
        let words = ["record", "-o", text(&file), "--", text(&program)];
        let done = plain_user(&[&words[..], before.as_slice()].concat());
        assert_eq!(
            (done.status.code(), done.stdout.as_str(), done.stderr.as_str()),
            (Some(0), "ok\n", ""),
            "{before:?}"
        );
        let shown = plain_user(&["show", "-c", "--json", text(&file)]);
        assert_eq!(calls(&shown), 300, "{before:?}: {shown:?}");
    }
}

/// A ring whose mode somebody has changed: what the others hold is shown and taken in, and this one is named as long as
/// it is so.
#[test]
fn a_ring_that_may_not_be_opened_is_told() {
    let folder = scratch("denied");
    let (run, file) = (folder.join("run"), folder.join("run.cutap"));
    let script = "set -e; eval \"$(\"$0\" env -o \"$1\")\"; exec \"$2\"";
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(cutap()).arg(&run).arg(out().join("umask")).env("LD_LIBRARY_PATH", out());
    let done = finish(&mut shell);
    assert_eq!(done.stdout, "ok\n", "{done:?}");
    let ring = rings(&run).into_iter().find(|ring| ring.ends_with("t1.ring")).unwrap();
    fs::set_permissions(&ring, Permissions::from_mode(0o000)).unwrap();
    let told = "1 ring of a thread could not be opened, as its permissions do not allow it (a umask, another user?)";
    for words in [&["show", "-c", "--json", text(&run)][..], &["recover", text(&run), "-o", text(&file)]] {
        let done = plain_user(words);
        assert_eq!(done.status.code(), Some(125), "{done:?}");
        assert!(done.stderr.contains(told), "{done:?}");
    }
    fs::set_permissions(&ring, Permissions::from_mode(0o600)).unwrap();
    let recovered = plain_user(&["recover", text(&run), "-o", text(&file)]);
    assert!(recovered.status.success(), "{recovered:?}");
    assert_eq!(calls(&plain_user(&["show", "-c", "--json", text(&file)])), 300);
}

/// The rings of a run.
fn rings(run: &Path) -> Vec<PathBuf> {
    let inside = |folder: &Path| fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect::<Vec<_>>();
    let folders = inside(run).into_iter().filter(|path| path.is_dir());
    folders.flat_map(|folder| inside(&folder)).filter(|path| path.extension().is_some_and(|e| e == "ring")).collect()
}
