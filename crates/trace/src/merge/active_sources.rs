//! The processes of a run that each round reads. A process that has ended and was read to its end is skipped until the
//! last round. So many short processes cost no more than few.

use crate::pair::event_queue::QueuedEvent;
use crate::pair::source::Source;
use crate::run::listing::Listing;
use crate::run::liveness::is_gone;
use crate::symbols::process::ProcessSymbols;
use std::collections::VecDeque;

/// Processes that are looked at, and their rings, by their places in the run.
#[derive(Debug, Default)]
pub struct ActiveSources {
    pub folders: Vec<usize>,
    pub sources: Vec<usize>,
    pub listing: Listing,
    /// The one that was left alone and is looked at again.
    recheck: usize,
}

impl ActiveSources {
    /// A round begins: the last one is for all.
    pub fn begin(&mut self, last: bool, sources: &[Source], folders: usize) {
        if last {
            (self.folders, self.sources) = ((0..folders).collect(), (0..sources.len()).collect());
        } else if self.folders.len() < folders {
            // The number of a process in another name space tells nothing of it: it may have begun again.
            self.recheck = (self.recheck + 1) % folders;
            if !self.folders.contains(&self.recheck) {
                self.folders.push(self.recheck);
                self.sources.extend((0..sources.len()).filter(|n| sources[*n].process == self.recheck));
            }
        }
    }

    /// A round is over: leaves alone those of which nothing more is to come.
    pub fn end(&mut self, folders: &[ProcessSymbols], sources: &[Source], notices: &[VecDeque<QueuedEvent>]) {
        // A ring at least: before it has one it has only begun.
        let mut read_out: Vec<(bool, bool)> = vec![(false, true); folders.len()];
        for n in &self.sources {
            let source = &sources[*n];
            let progress = &mut read_out[source.process];
            *progress = (true, progress.1 && source.is_done());
        }
        let is_done =
            |n: &usize| read_out[*n] == (true, true) && notices[*n].is_empty() && is_gone(folders[*n].dir.page.pid);
        let (finished, active) = self.folders.iter().partition::<Vec<usize>, _>(|n| is_done(n));
        if finished.is_empty() {
            return;
        }
        self.folders = active;
        finished.iter().for_each(|n| folders[*n].dir.let_go());
        let (closed, active_sources) =
            self.sources.iter().partition::<Vec<usize>, _>(|n| finished.contains(&sources[**n].process));
        closed.iter().for_each(|n| sources[*n].ring.let_go());
        self.sources = active_sources;
    }
}
