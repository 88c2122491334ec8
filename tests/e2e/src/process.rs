//! One finished process: its output, how it ended, and the promise that it does end.
//!
//! A hang is the failure that an interposer is most likely to cause, so nothing is waited for without a limit; the
//! whole process group dies when it is reached. Output goes to files and not to pipes, so that a child that outlives
//! its parent blocks nobody.

use std::fs::{self, File};
use std::ops::Deref;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a program may take; generous, because the machine may be busy with other tests.
const LIMIT: Duration = Duration::from_secs(120);

/// The first pause of a wait. Most processes of a test last a few milliseconds, and a test runs dozens of them.
const SHORTEST: Duration = Duration::from_micros(200);

/// The pause after this one: longer by a half, at most 10 ms.
fn longer(pause: Duration) -> Duration {
    (pause * 3 / 2).min(Duration::from_millis(10))
}

/// What a process left behind.
#[derive(Debug)]
pub struct Finished {
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// Its exit code or signal.
    pub status: ExitStatus,
}

impl Finished {
    /// What it said on standard error behind what it printed.
    pub fn everything(self) -> String {
        self.stdout + &self.stderr
    }
}

/// Removes the last line of `cutap record`, which has the number of calls and the size of the file.
pub fn without_record_line(text: &str) -> String {
    let of_record = |line: &str| {
        line.starts_with("cutap: ")
            && (line.contains("; next: cutap report") || line.contains(": no call was recorded in "))
    };
    text.split_inclusive('\n').filter(|line| !of_record(line)).collect()
}

/// Runs a command to its end. Panics when it does not end in time.
pub fn finish(command: &mut Command) -> Finished {
    let folder = scratch("process");
    let (stdout, stderr) = (folder.join("stdout"), folder.join("stderr"));
    let create = |path: &Path| File::create(path).expect("the scratch folder is writable");
    command.process_group(0).stdin(Stdio::null()).stdout(create(&stdout)).stderr(create(&stderr));
    let mut child = command.spawn().unwrap_or_else(|e| panic!("cannot start {command:?}: {e}"));
    let start = Instant::now();
    let mut pause = SHORTEST;
    let status = loop {
        if let Some(status) = child.try_wait().expect("our own child can be waited for") {
            break status;
        }
        if start.elapsed() > LIMIT {
            let _ = Command::new("sh").args(["-c", "kill -s KILL -- \"$0\"", &format!("-{}", child.id())]).status();
            let _ = child.wait();
            panic!(
                "still running after {LIMIT:?}: {command:?}\nstdout: {}\nstderr: {}",
                lossy(&stdout),
                lossy(&stderr)
            );
        }
        sleep(pause);
        pause = longer(pause);
    };
    Finished { stdout: lossy(&stdout), stderr: without_record_line(&lossy(&stderr)), status }
}

/// A folder that goes when it is dropped, also when a test fails.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Deref for Scratch {
    type Target = Path;
    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A new, empty folder in the system's temporary folder.
pub fn scratch(what: &str) -> Scratch {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("cutap-e2e-{}-{what}-{n}", std::process::id()));
    fs::create_dir_all(&folder).unwrap_or_else(|e| panic!("cannot make {}: {e}", folder.display()));
    Scratch(folder)
}

/// Waits until something has become true. Panics when it does not within this time.
pub fn wait_for(what: &str, limit: Duration, mut become_true: impl FnMut() -> bool) {
    let (start, mut pause) = (Instant::now(), SHORTEST);
    while !become_true() {
        assert!(start.elapsed() < limit, "not within {limit:?}: {what}");
        sleep(pause);
        pause = longer(pause);
    }
}

fn lossy(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}
