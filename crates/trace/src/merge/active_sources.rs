//! The processes of a run that each round reads. A process that has ended and was read to its end is skipped until the
//! last round. So many short processes cost no more than few.

use crate::pair::event_queue::Waiting;
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
                self.sources.extend((0..sources.len()).filter(|n| sources[*n].process == self.again));
            }
        }
    }

    /// A round is over: leaves alone those of which nothing more is to come.
    pub fn end(&mut self, folders: &[ProcessSymbols], sources: &[Source], notices: &[VecDeque<Waiting>]) {
        // A ring at least: before it has one it has only begun.
        let mut done: Vec<(bool, bool)> = vec![(false, true); folders.len()];
        for n in &self.sources {
            let source = &sources[*n];
            let done = &mut done[source.process];
            *done = (true, done.1 && source.is_done());
        }
        let is_done =
            |n: &usize| done[*n] == (true, true) && notices[*n].is_empty() && is_gone(folders[*n].dir.page.pid);
        let (gone, going) = self.folders.iter().partition::<Vec<usize>, _>(|n| is_done(n));
        if gone.is_empty() {
            return;
        }
        self.folders = going;
        gone.iter().for_each(|n| folders[*n].dir.let_go());
        let (left, on) = self.sources.iter().partition::<Vec<usize>, _>(|n| gone.contains(&sources[**n].process));
        left.iter().for_each(|n| sources[*n].ring.let_go());
        self.sources = on;
    }
}
