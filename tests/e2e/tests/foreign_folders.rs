//! Folders and files that another user could exchange are neither written nor read: those of the environment, those in
//! a run directory, and run directories that another user's process names.

use cutap_e2e::{Finished, cutap, finish, out, scratch, wait_for};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const NOBODY: u32 = 65_534;

/// A folder of another user in `folder`; none, and a line, where we cannot make one.
fn theirs(folder: &Path) -> Option<PathBuf> {
    let path = folder.join("theirs");
    fs::create_dir(&path).unwrap();
    match chown(&path, Some(NOBODY), Some(NOBODY)) {
        Ok(()) => Some(path),
        Err(e) => {
            println!("skipped: a folder of another user: {e}");
            None
        }
    }
}

/// Runs `script` under cutap, with a variable set.
fn traced(arguments: &[&str], (name, value): (&str, &Path), script: &str) -> Finished {
    let mut command = Command::new(cutap());
    command.args(arguments).args(["--", "sh", "-c", script]).env("LD_LIBRARY_PATH", out()).env(name, value);
    finish(command.current_dir(out()))
}

/// `su` keeps the XDG_RUNTIME_DIR of the user before. Another folder is used, with a random name in it.
#[test]
fn a_runtime_folder_of_another_user_is_passed_over() {
    let folder = scratch("runtime");
    let ours = folder.join("ours");
    fs::create_dir(&ours).unwrap();
    let script = r#"ls "$XDG_RUNTIME_DIR"; echo "$CUTAP_RUN" >&2; ./lazy"#;
    let of = |place: &Path| traced(&["trace", "-c", "-o", "/dev/null"], ("XDG_RUNTIME_DIR", place), script);
    let done = of(&ours);
    let name = done.stdout.lines().next().unwrap_or_default();
    let random = name.strip_prefix("cutap-run-").and_then(|rest| rest.split_once('-')).unwrap_or_default().1;
    assert!(done.status.success() && random.len() == 16, "{done:?}");
    assert!(random.bytes().all(|b| b.is_ascii_hexdigit()), "{name}");
    assert_ne!(of(&ours).stdout.lines().next(), Some(name));
    let Some(theirs) = theirs(&folder) else { return };
    let done = of(&theirs);
    assert_eq!((done.stdout.as_str(), done.status.code()), ("ok\n", Some(0)), "{done:?}");
    let inside = theirs.to_string_lossy().into_owned();
    assert!(done.stderr.contains("/cutap-run-") && !done.stderr.contains(&inside), "{done:?}");
}

/// The loader would run that user's code in our program.
#[test]
fn a_cache_of_another_user_is_passed_over() {
    let folder = scratch("cache");
    let Some(theirs) = theirs(&folder) else { return };
    let inside = theirs.to_string_lossy().into_owned();
    for (name, place) in [("XDG_CACHE_HOME", theirs.clone()), ("HOME", theirs.clone())] {
        let done = traced(&["trace", "-o", "/dev/null"], (name, &place), r#"echo "$LD_PRELOAD" >&2"#);
        assert!(done.status.success() && done.stderr.contains("libcutap_preload.so"), "{name}: {done:?}");
        assert!(!done.stderr.contains(&inside), "{name}: {done:?}");
    }
    assert_eq!(fs::read_dir(&theirs).unwrap().count(), 0);
    // One that is named is refused. That its last folder is ours does not help: it can be exchanged.
    let named = theirs.join("ours");
    fs::create_dir(&named).unwrap();
    let refused = traced(&["trace", "-o", "/dev/null"], ("CUTAP_CACHE_DIR", &named), "echo ran");
    assert_eq!((refused.status.code(), refused.stdout.as_str()), (Some(125), ""), "{refused:?}");
    assert!(refused.stderr.contains(&format!("{inside} belongs to user 65534, who can exchange")), "{refused:?}");
}

/// Every user may make the names in /tmp that a user without a home needs.
#[test]
fn names_in_tmp_that_another_user_took_are_not_used() {
    let folder = scratch("taken");
    let Some(_) = theirs(&folder) else { return };
    fs::set_permissions(&*folder, fs::Permissions::from_mode(0o755)).unwrap();
    let (user, program) = (1_000_000 + std::process::id(), folder.join("cutap"));
    fs::copy(cutap(), &program).unwrap();
    let record = || {
        let mut command = Command::new(&program);
        command.args(["trace", "-o", "/dev/null", "--", "sh", "-c", r#"echo "$LD_PRELOAD""#]).uid(user).gid(user);
        finish(command.env_remove("XDG_CACHE_HOME").env("HOME", "/nonexistent").current_dir("/"))
    };
    let [tmp, var] = ["/tmp", "/var/tmp"].map(|place| PathBuf::from(format!("{place}/cutap-{user}")));
    let remove = |path: &Path| fs::remove_dir_all(path).or_else(|_| fs::remove_file(path));
    fs::create_dir(&tmp).and_then(|()| chown(&tmp, Some(NOBODY), Some(NOBODY))).unwrap();
    let passed_over = record();
    let _ = remove(&var);
    symlink(&*folder, &var).unwrap();
    let refused = record();
    let names = fs::read_dir(&tmp).unwrap().count();
    let _ = (remove(&tmp), fs::remove_file(&var));
    assert!(passed_over.stdout.contains("/var/tmp/cutap-"), "{passed_over:?}");
    assert_eq!((refused.status.code(), &*refused.stdout, names), (Some(125), "", 0), "{refused:?}");
    assert!(
        refused.stderr.contains("belongs to another user") && refused.stderr.contains("not a folder"),
        "{refused:?}"
    );
}

#[test]
fn a_run_directory_that_others_can_exchange_is_refused() {
    let folder = scratch("exchanged");
    let Some(theirs) = theirs(&folder) else { return };
    let ours = theirs.join("ours");
    fs::create_dir(&ours).unwrap();
    for run in [theirs.join("run"), ours.clone(), ours.join("run")] {
        let shown = run.to_str().unwrap();
        for arguments in [["trace", "--run-dir", shown, "true"], ["env", "-o", shown, "--sim"]] {
            let refused = finish(Command::new(cutap()).args(arguments));
            assert_eq!(refused.status.code(), Some(125), "{refused:?}");
            let why = format!("cannot use {shown} as run directory: {} belongs to user 65534", theirs.display());
            assert!(refused.stderr.contains(&why), "{refused:?}");
        }
    }
    assert_eq!(fs::read_dir(&ours).unwrap().count(), 0);
}

/// A container that shares the run directory may write there as root, and so make links to files of the host.
#[test]
fn links_in_a_run_directory_are_not_followed() {
    let folder = scratch("links");
    let (run, file) = (folder.join("run"), folder.join("run.cutap"));
    let script = r#""$0" env -o "$1" > "$1.env" && . "$1.env" && ./lazy"#;
    let mut made = Command::new("sh");
    made.args(["-c", script]).arg(cutap()).arg(&run).env("LD_LIBRARY_PATH", out()).current_dir(out());
    assert!(finish(&mut made).status.success());
    let process = fs::read_dir(&run).unwrap().flatten().map(|e| e.path()).find(|p| p.join("t0.ring").exists()).unwrap();
    let recovered = || finish(Command::new(cutap()).arg("recover").arg(&run).arg("-o").arg(&file));
    for name in ["t0.ring", "names", "process", ""] {
        let (place, away) = (process.join(name), folder.join("away"));
        fs::rename(&place, &away).unwrap();
        symlink(&away, if name.is_empty() { &process } else { &place }).unwrap();
        let done = recovered();
        let held = fs::read(&file).unwrap_or_default();
        let _ = fs::remove_file(&file);
        fs::remove_file(if name.is_empty() { &process } else { &place }).unwrap();
        fs::rename(&away, &place).unwrap();
        // A folder that is a link is none of the run's processes.
        let expected = if name.is_empty() { Some(0) } else { Some(125) };
        assert_eq!(done.status.code(), expected, "{name}: {done:?}");
        let lazy = held.windows(6).any(|bytes| bytes == b"cuInit");
        assert!(!lazy || name == "t0.ring", "{name}: what a link leads to is in the recording");
    }
    assert!(recovered().status.success(), "the run is whole");
    // A hard link leads to a foreign file too.
    let _ = fs::remove_file(&file);
    let (names, secret) = (process.join("names"), folder.join("secret"));
    fs::rename(&names, folder.join("away")).unwrap();
    fs::write(&secret, "SECRET").unwrap();
    fs::hard_link(&secret, &names).unwrap();
    let done = recovered();
    assert_eq!(done.status.code(), Some(125), "{done:?}");
    assert!(!fs::read(&file).unwrap_or_default().windows(6).any(|bytes| bytes == b"SECRET"));
    // A page with a hole of any length is not walked through.
    let control = fs::OpenOptions::new().write(true).open(run.join("control")).unwrap();
    control.set_len(40 << 30).unwrap();
    finish(Command::new(cutap()).arg("ctl").arg(&run).arg("off"));
    let blocks = fs::metadata(run.join("control")).unwrap().blocks();
    assert!(blocks < 8 << 11, "{blocks} blocks of 512 bytes");
}

/// Anybody can have any environment.
#[test]
fn a_process_of_another_user_keeps_no_recording_open() {
    let folder = scratch("keeps");
    let run = folder.join("run");
    let mut stranger = Command::new("setpriv");
    stranger.args(["--reuid=65534", "--regid=65534", "--clear-groups", "sleep", "60"]).env("CUTAP_RUN", &run);
    let Ok(mut stranger) = stranger.stdout(Stdio::null()).spawn() else {
        return println!("skipped: a process of another user: there is no setpriv");
    };
    let status = format!("/proc/{}/status", stranger.id());
    let is_theirs = || fs::read_to_string(&status).is_ok_and(|s| s.contains("Uid:\t65534") && s.contains("sleep"));
    let ended = std::cell::Cell::new(false);
    wait_for("the process of another user", Duration::from_secs(20), || {
        ended.set(fs::read_to_string(&status).is_ok_and(|s| s.contains("zombie")));
        is_theirs() || ended.get()
    });
    if ended.get() {
        stranger.wait().unwrap();
        return println!("skipped: a process of another user: only root may start one");
    }
    let mut record = Command::new(cutap());
    record.args(["record", "-o"]).arg(folder.join("run.cutap")).arg("--run-dir").arg(&run).args(["--", "./lazy"]);
    let done = finish(record.env("LD_LIBRARY_PATH", out()).current_dir(out()));
    stranger.kill().unwrap();
    stranger.wait().unwrap();
    assert!(done.status.success() && !done.stderr.contains("still runs"), "{done:?}");
}
