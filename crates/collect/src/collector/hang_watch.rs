//! `record --on-hang`: looks whether the program hangs, and saves what `cutap where` says then. A watchdog may kill it
//! soon after, and the recording alone knows less.
//!
//! A thread whose ring has not grown for that long gives cause to look. Another process reads the recording for it, so
//! the collector keeps its heartbeat. The program hangs if a thread has waited inside a call for that long, and no call
//! has ended meanwhile but those that ask whether work is done.

use crate::base::error::print_notice;
use cutap_report::{HangDocument, write_wait};
use cutap_trace::RunPath;
use cutap_wire::control;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Bytes of a path, and of an answer, at most.
const MOST_PATH: usize = 4096;
const MOST_ANSWER: usize = 1 << 20;
/// How long the end of a run waits for a process that was killed.
const MOST_WAIT: Duration = Duration::from_millis(100);
/// Where the answer is written while it is not whole.
const NEW: &str = "hang.new";
/// After so many looks in vain the pause between two of them grows no more.
const MOST_DOUBLED: u32 = 6;

/// Looks whether the program hangs.
#[derive(Debug)]
pub struct HangWatch {
    limit_ns: u64,
    /// When the thread that stopped last had stopped, at the last look.
    stopped_ns: u64,
    /// When to look again although no other thread has stopped; none after a hang was found.
    next_ns: Option<u64>,
    vain_looks: u32,
    child: Option<Child>,
}

impl HangWatch {
    /// None if it was not asked for.
    pub fn new(limit_ns: u64) -> Option<HangWatch> {
        (limit_ns > 0).then_some(HangWatch { limit_ns, stopped_ns: 0, next_ns: None, vain_looks: 0, child: None })
    }

    /// Only threads that have stopped before this moment give cause to look.
    pub fn quiet_before(&self, now: u64) -> u64 {
        now.saturating_sub(self.limit_ns)
    }

    /// Looks if there is cause: `stopped_ns` is when the last one of those threads stopped. The result is what is to
    /// be saved, once it is known.
    pub fn round(&mut self, run: &RunPath, stopped_ns: Option<u64>, now: u64) -> Option<Vec<u8>> {
        if let Some(child) = &mut self.child {
            let has_succeeded = match child.try_wait() {
                Ok(None) => return None,
                Ok(Some(status)) => status.success(),
                Err(_) => false,
            };
            self.child = None;
            return self.answer(run, has_succeeded);
        }
        let stopped_ns = stopped_ns?;
        let another = stopped_ns > self.stopped_ns;
        if !another && self.next_ns.is_none_or(|next| now < next) {
            return None;
        }
        self.vain_looks = if another { 0 } else { (self.vain_looks + 1).min(MOST_DOUBLED) };
        self.stopped_ns = stopped_ns;
        self.next_ns = Some(now.saturating_add(self.limit_ns.saturating_mul(1 << self.vain_looks)));
        self.child = start_look(run);
        None
    }

    fn answer(&mut self, run: &RunPath, is_whole: bool) -> Option<Vec<u8>> {
        let answer = run.join(NEW).read(MOST_ANSWER).ok().filter(|_| is_whole)?;
        let document: HangDocument = serde_json::from_slice(&answer).ok()?;
        let (_, thread) = document.longest_wait()?;
        let waited = thread.named_entry().is_some_and(|entry| entry.open_ns >= self.limit_ns);
        if !waited || document.quiet_ns < self.limit_ns {
            return None;
        }
        self.next_ns = None;
        let _ = run.join(NEW).rename(control::HANG);
        let folder = std::env::current_dir().unwrap_or_default();
        let recording = Path::new(&document.run);
        let recording = recording.strip_prefix(folder).unwrap_or(recording).display();
        if let Some(wait) = write_wait(&document) {
            print_notice(&format!("the program hangs: {wait}; saved, cutap where {recording} prints it"));
        }
        Some(answer)
    }
}

impl Drop for HangWatch {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            // One that is stuck in the kernel does not hold up the end of the run.
            let begin = Instant::now();
            while matches!(child.try_wait(), Ok(None)) && begin.elapsed() < MOST_WAIT {
                std::thread::sleep(Duration::from_micros(200));
            }
        }
    }
}

/// Starts a process that reads what the recording has by now.
fn start_look(run: &RunPath) -> Option<Child> {
    let recording = run.join(control::RECORDING).read(MOST_PATH).ok()?;
    let _ = run.join(NEW).remove_file();
    let answer = run.join(NEW).create_new().ok()?;
    let mut command = Command::new("/proc/self/exe");
    command.arg0("cutap").args(["where", "--json"]).arg(OsString::from_vec(recording));
    command.stdin(Stdio::null()).stdout(answer).stderr(Stdio::null()).spawn().ok()
}
