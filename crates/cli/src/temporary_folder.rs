//! A folder for the time of one command. It is removed at the end of the command, and when a signal ends it.

use cutap_collect::{Result, cannot};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;

/// Signals that ask a program to end. One that is ignored stays so.
const ENDING: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Stands for a process id: a signal ends this program.
const ENDED: i32 = -1;

/// The folder. At most one is made in a process, before there is another thread.
pub struct TemporaryFolder {
    path: PathBuf,
    /// The program that reads it, by its process id; 0: none.
    reader: Arc<AtomicI32>,
}

impl TemporaryFolder {
    /// Makes the folder with this beginning of a name.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create(name: &str) -> Result<TemporaryFolder> {
        let path = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        let signals = block();
        let cannot_make = |e: io::Error| cannot("make the folder", &path, &e, "set TMPDIR to one that you may write");
        std::fs::create_dir(&path).map_err(cannot_make)?;
        let reader = Arc::new(AtomicI32::new(0));
        let (folder, to_end) = (path.clone(), reader.clone());
        let waiting = thread::Builder::new().spawn(move || end_by(wait(&signals), &folder, &to_end));
        let folder = TemporaryFolder { path, reader };
        waiting.map_err(|e| cannot("watch the folder", folder.path(), &e, "end other programs"))?;
        Ok(folder)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for a program that reads the folder. A signal that ends this program ends that one first.
    ///
    /// # Errors
    /// It cannot be waited for.
    pub fn wait_for(&self, mut child: Child) -> io::Result<ExitStatus> {
        let is_ended = self.reader.swap(child.id() as i32, Ordering::AcqRel) == ENDED;
        if is_ended {
            child.kill()?;
        }
        let status = child.wait();
        // A signal has ended the program: this one ends by the same, and says nothing more.
        if self.reader.swap(0, Ordering::AcqRel) == ENDED || is_ended {
            loop {
                thread::park();
            }
        }
        status
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Lets the signals wait, in this thread and those that it starts. A program that is started gets them all the same:
/// the standard library gives it an empty mask.
fn block() -> libc::sigset_t {
    // SAFETY: the set is initialised by `sigemptyset`; all pointers are to locals.
    unsafe {
        let mut signals: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut signals);
        for signal in ENDING {
            libc::sigaddset(&raw mut signals, signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signals, std::ptr::null_mut());
        signals
    }
}

fn wait(signals: &libc::sigset_t) -> libc::c_int {
    let mut signal = 0;
    // SAFETY: both pointers are to locals of this thread's caller, and the set is initialised.
    unsafe { libc::sigwait(signals, &raw mut signal) };
    signal
}

/// Removes the folder and ends this program as the signal would have.
fn end_by(signal: libc::c_int, folder: &Path, reader: &AtomicI32) {
    let pid = reader.swap(ENDED, Ordering::AcqRel);
    if pid > 0 {
        // SAFETY: no memory is passed; the process is a child that was not waited for.
        unsafe { libc::kill(pid, signal) };
    }
    let _ = std::fs::remove_dir_all(folder);
    // SAFETY: the set is initialised by `sigemptyset`; this thread alone gets the signal, whose action is the default.
    unsafe {
        let mut one: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut one);
        libc::sigaddset(&raw mut one, signal);
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const one, std::ptr::null_mut());
    }
}
