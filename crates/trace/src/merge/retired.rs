//! Processes that have ended and were read to their end. What the end of a trace says of them is kept. All else is
//! forgotten, so a run of many short processes takes little more memory than one of few.

use super::active_sources::ActiveSources;
use super::event_reader::EventReader;
use crate::pair::sink::{Context, Sink};
use crate::summary::counted::CountSums;
use crate::summary::end::End;
use crate::summary::filter_outcome::RunFunctions;
use std::collections::{BTreeSet, VecDeque};

/// So many are forgotten together: each time all others are moved.
const TOGETHER: usize = 32;

/// What is kept of them.
#[derive(Debug, Default)]
pub struct Retired {
    /// Folders that were read to their end once, and are read again before they are forgotten.
    ending: BTreeSet<String>,
    pub end: End,
    pub run_functions: RunFunctions,
    pub counted: CountSums,
    /// Calls that the filter let through, and others.
    pub shown_calls: u64,
    pub filtered_out: u64,
}

impl EventReader {
    /// Forgets processes that have ended, once all of their events are handed out and given back: the names of their
    /// folders. `has_ended` says that no process uses a folder any more.
    pub fn retire(&mut self, has_ended: &mut dyn FnMut(&str) -> bool) -> Vec<String> {
        // The number of a process in another name space tells nothing of it: `has_ended` does.
        let mut finished: Vec<bool> = self.notices.iter().map(VecDeque::is_empty).collect();
        for source in self.sources.iter().filter(|source| source.has_open() || !source.is_done()) {
            finished[source.process] = false;
        }
        if finished.iter().filter(|finished| **finished).count() < TOGETHER {
            return Vec::new();
        }
        let mut is_forgotten = vec![false; self.folders.len()];
        for n in (0..finished.len()).filter(|n| finished[*n]) {
            let name = self.folders[n].dir.process.folder.to_string();
            if self.retired.ending.remove(&name) {
                is_forgotten[n] = true;
            } else if has_ended(&name) {
                // What it did up to now may not have been read yet.
                self.retired.ending.insert(name);
                self.reactivate(n);
            }
        }
        (0..is_forgotten.len()).filter(|n| is_forgotten[*n]).for_each(|n| self.keep_end(n));
        let names = (0..is_forgotten.len())
            .filter(|n| is_forgotten[*n])
            .map(|n| self.folders[n].dir.process.folder.to_string());
        let names = names.collect();
        self.forget(&is_forgotten);
        names
    }

    /// Process `n` is read in the next round.
    fn reactivate(&mut self, n: usize) {
        if !self.active.folders.contains(&n) {
            self.active.folders.push(n);
            self.active.sources.extend((0..self.sources.len()).filter(|source| self.sources[*source].process == n));
        }
    }

    /// Keeps what the end says of process `n`.
    fn keep_end(&mut self, n: usize) {
        let end = &mut self.retired.end;
        end.folder(&mut self.folders[n]);
        for source in self.sources.iter_mut().filter(|source| source.process == n) {
            let mut context = Context { process: &mut self.folders[n], shared: &mut self.shared };
            let now = source.calls.sink.last_time();
            end.unfinished.extend(source.end(now, &mut context));
            end.ring(&mut source.ring, &self.folders[n].dir.process, &self.run_reader);
            self.retired.shown_calls += source.calls.shown_calls + source.calls.sink.lookups;
            self.retired.filtered_out += source.calls.filtered_out;
        }
        self.interpreters[n].undecoded.all().for_each(|function| end.add_undecoded(function));
        let only_counted = self.run_reader.only_counts();
        self.retired.counted.add(&mut self.folders[n], &mut self.shared.resolver, only_counted);
        self.retired.run_functions.add(&self.folders[n], &self.shared.resolver.filter);
    }

    fn forget(&mut self, is_forgotten: &[bool]) {
        // Where each process and each ring is afterwards.
        let places = |flags: &mut dyn Iterator<Item = bool>| -> Vec<Option<usize>> {
            let mut next = 0;
            let place = |is_forgotten: bool| {
                next += usize::from(!is_forgotten);
                (!is_forgotten).then_some(next - usize::from(!is_forgotten))
            };
            flags.map(place).collect()
        };
        let folders = places(&mut is_forgotten.iter().copied());
        let sources = places(&mut self.sources.iter().map(|source| is_forgotten[source.process]));
        keep(&mut self.folders, &folders);
        keep(&mut self.interpreters, &folders);
        keep(&mut self.notices, &folders);
        keep(&mut self.sources, &sources);
        for source in &mut self.sources {
            source.process = folders[source.process].unwrap_or_default();
        }
        let ActiveSources { folders: active, sources: read, .. } = &mut self.active;
        *active = active.iter().filter_map(|n| folders[*n]).collect();
        *read = read.iter().filter_map(|n| sources[*n]).collect();
    }
}

/// Keeps what has a place.
fn keep<T>(all: &mut Vec<T>, places: &[Option<usize>]) {
    let mut n = 0;
    all.retain(|_| {
        n += 1;
        places[n - 1].is_some()
    });
}
