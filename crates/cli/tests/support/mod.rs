//! What the tests of the real binary share: how to start it, a separate folder for each test, and
//! a shell on a terminal. Nothing here decides whether a test passes.
#![allow(dead_code, missing_docs, reason = "each test file uses a part of it")]

pub mod programs;
pub mod terminal;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// The binary under test.
pub const CUTAP: &str = env!("CARGO_BIN_EXE_cutap");

/// `cutap` with nothing of ours or of an outer trace in its environment.
pub fn cutap(args: &[&str]) -> Command {
    let mut command = Command::new(CUTAP);
    command.args(args);
    for name in ["LD_PRELOAD", "CUTAP_RUN", "CUTAP_CACHE_DIR", "NO_COLOR"] {
        command.env_remove(name);
    }
    command
}

/// Standard output as text.
pub fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Standard error as text.
pub fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A separate folder, removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("cutap-test-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
    /// Writes an executable file.
    pub fn program(&self, name: &str, content: &[u8]) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.join(name);
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Waits until something is true.
pub fn until(what: &str, mut is: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < Duration::from_secs(20), "waited 20 s until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Processes whose command line holds this text.
pub fn processes(text: &str) -> Vec<i32> {
    let own = std::process::id() as i32;
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|e| e.file_name().to_str()?.parse().ok())
        .filter(|&pid| pid != own && command_line(pid).contains(text))
        .collect()
}

pub fn command_line(pid: i32) -> String {
    let words = std::fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ")
}

/// Sends a signal to one process of cutap.
pub fn kill(pid: i32, signal: i32) {
    // SAFETY: no memory is involved; pid is a process that the test started.
    assert_eq!(unsafe { libc::kill(pid, signal) }, 0, "kill {pid}");
}

/// True when these tests run as root, which some cases need to set up.
pub fn is_root() -> bool {
    // SAFETY: has no arguments and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// A message of clap with these parts, exit code 125, and nothing on standard output.
#[track_caller]
pub fn usage_error(done: &Output, parts: &[&str]) {
    let text = err(done);
    assert_eq!((done.status.code(), out(done).as_str()), (Some(125), ""), "{text}");
    assert!(text.starts_with("error: ") && text.contains("--help"), "{text}");
    for part in parts {
        assert!(text.contains(part), "{part:?} in {text}");
    }
}

/// One line, `cutap: ` in front, with these parts, this exit code, and nothing on standard output.
#[track_caller]
pub fn refused(done: &Output, code: i32, parts: &[&str]) {
    let text = err(done);
    assert_eq!(done.status.code(), Some(code), "{text}");
    assert_eq!(out(done), "", "{text}");
    assert!(text.starts_with("cutap: ") && text.lines().count() == 1, "one sentence: {text}");
    assert!(["; ", "did you mean", "* takes it"].iter().any(|w| text.contains(w)), "what to do: {text}");
    assert!(!text.contains("os error"), "{text}");
    for part in parts {
        assert!(text.contains(part), "{part:?} in {text}");
    }
}

/// Records a mode of the program.
pub fn record(folder: &Folder, program: &Path, mode: &str) -> PathBuf {
    let file = folder.join(&format!("{mode}.cutap"));
    let done = cutap(&["record", "--sim", "-o"]).arg(&file).arg(program).arg(mode).output().unwrap();
    assert!(done.status.success() && out(&done) == "ok\n", "{done:?}");
    let text = err(&done);
    assert!(text.contains(" calls are in ") && text.contains("next: cutap report"), "{text}");
    file
}

/// The output of a command on a file.
pub fn text(args: &[&str], file: &Path) -> String {
    let done = cutap(args).arg(file).output().unwrap();
    assert!(done.status.success(), "{args:?}: {done:?}");
    out(&done)
}
