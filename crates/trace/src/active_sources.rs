//! Which processes of a run are looked at round by round. One that has ended, and was read to its end, is left alone until the last
//! round, which looks at all once more: a run of many short processes costs no more for each than one of few.

use crate::folder::Folder;
use crate::source::{Source, Waiting};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Processes that are looked at, and their rings, by their places in the run.
#[derive(Debug, Default)]
pub struct ActiveSources {
    pub folders: Vec<usize>,
    pub sources: Vec<usize>,
    pub listing: Listing,
    /// The one that was left alone and is looked at again.
    again: usize,
}

impl ActiveSources {
    /// A round begins: the last one is for all.
    pub fn begin(&mut self, last: bool, sources: &[Source], folders: usize) {
        if last {
            (self.folders, self.sources) = ((0..folders).collect(), (0..sources.len()).collect());
        } else if self.folders.len() < folders {
            // The number of a process in another name space tells nothing of it: it may have begun again.
            self.again = (self.again + 1) % folders;
            if !self.folders.contains(&self.again) {
                self.folders.push(self.again);
                self.sources.extend((0..sources.len()).filter(|n| sources[*n].folder == self.again));
            }
        }
    }

    /// A round is over: leaves alone those of which nothing more is to come.
    pub fn end(&mut self, folders: &[Folder], sources: &[Source], notices: &[VecDeque<Waiting>]) {
        // A ring at least: before it has one it has only begun.
        let mut done: Vec<(bool, bool)> = vec![(false, true); folders.len()];
        for n in &self.sources {
            let source = &sources[*n];
            let done = &mut done[source.folder];
            *done = (true, done.1 && source.is_done());
        }
        let is_done = |n: &usize| done[*n] == (true, true) && notices[*n].is_empty() && is_gone(folders[*n].page.pid);
        let (gone, going) = self.folders.iter().partition::<Vec<usize>, _>(|n| is_done(n));
        if gone.is_empty() {
            return;
        }
        self.folders = going;
        gone.iter().for_each(|n| folders[*n].let_go());
        let (left, on) = self.sources.iter().partition::<Vec<usize>, _>(|n| gone.contains(&sources[**n].folder));
        left.iter().for_each(|n| sources[*n].ring.let_go());
        self.sources = on;
    }
}

/// When the folder of a run is listed: the longer that takes, the rarer.
#[derive(Debug, Default)]
pub struct Listing(Option<Instant>);

impl Listing {
    /// It is time.
    pub fn is_due(&self) -> bool {
        self.0.is_none_or(|next| Instant::now() >= next)
    }

    /// Lists it.
    pub fn time<T>(&mut self, list: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let listed = list();
        self.0 = Some(Instant::now() + (began.elapsed() * 8).min(Duration::from_millis(100)));
        listed
    }
}

/// Whether a process has ended, as far as its number tells: one in another name space has another.
pub fn is_gone(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

/// Where /proc tells of a process that runs, and is not only waiting to be collected: its folder, or that of a thread of it where the
/// first thread has ended, for then the first tells of neither memory nor environment.
pub fn living(pid: u32) -> Option<PathBuf> {
    let folder = PathBuf::from(format!("/proc/{pid}"));
    if runs(&folder)? {
        return Some(folder);
    }
    let threads = std::fs::read_dir(folder.join("task")).ok()?.flatten();
    threads.map(|thread| thread.path()).find(|thread| runs(thread) == Some(true))
}

/// None: there is no such process or thread.
fn runs(folder: &Path) -> Option<bool> {
    let stat = std::fs::read_to_string(folder.join("stat")).ok()?;
    // Behind the name, which is in brackets and may hold anything.
    stat.rsplit(") ").next().map(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X']))
}
