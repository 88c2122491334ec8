//! Processes that have ended and were read to their end. What the end of a trace says of them is kept. All else is
//! forgotten, so a run of many short processes takes little more memory than one of few.

use super::active_sources::ActiveSources;
use super::event_reader::EventReader;
use crate::pair::sink::{Context, Sink};
use crate::summary::counted::CountSums;
use crate::summary::end::End;
use crate::summary::filtered::MetFunctions;
use std::collections::{BTreeSet, VecDeque};

/// So many are forgotten together: each time all others are moved.
const TOGETHER: usize = 32;

/// What is kept of them.
#[derive(Debug, Default)]
pub struct Retired {
    /// Folders that were read to their end once, and are read again before they are forgotten.
    ending: BTreeSet<String>,
    pub end: End,
    pub met: MetFunctions,
    pub counted: CountSums,
    /// Calls that the filter let through, and others.
    pub shown: u64,
    pub filtered_out: u64,
}

impl EventReader {
    /// Forgets processes that have ended, once all of their events are handed out and given back: the names of their
    /// folders. `has_ended` says that no process uses a folder any more.
    pub fn retire(&mut self, has_ended: &mut dyn FnMut(&str) -> bool) -> Vec<String> {
        // The number of a process in another name space tells nothing of it: `has_ended` does.
        let mut left: Vec<bool> = self.notices.iter().map(VecDeque::is_empty).collect();
        for source in self.sources.iter().filter(|source| source.has_open() || !source.is_done()) {
            left[source.process] = false;
        }
        if left.iter().filter(|left| **left).count() < TOGETHER {
            return Vec::new();
        }
        let mut gone = vec![false; self.folders.len()];
        for n in (0..left.len()).filter(|n| left[*n]) {
            let name = self.folders[n].dir.process.folder.to_string();
            if self.retired.ending.remove(&name) {
                gone[n] = true;
            } else if has_ended(&name) {
                // What it did up to now may not have been read yet.
                self.retired.ending.insert(name);
                self.look_again(n);
            }
        }
        (0..gone.len()).filter(|n| gone[*n]).for_each(|n| self.keep_end(n));
        let names = (0..gone.len()).filter(|n| gone[*n]).map(|n| self.folders[n].dir.process.folder.to_string());
        let names = names.collect();
        self.forget(&gone);
        names
    }

    /// Process `n` is read in the next round.
    fn look_again(&mut self, n: usize) {
        if !self.going.folders.contains(&n) {
            self.going.folders.push(n);
            self.going.sources.extend((0..self.sources.len()).filter(|source| self.sources[*source].process == n));
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
            end.ring(&mut source.ring, &self.folders[n].dir.process, &self.opened);
            self.retired.shown += source.calls.shown + source.calls.sink.lookups;
            self.retired.filtered_out += source.calls.filtered_out;
        }
        self.interpreters[n].raws.all().for_each(|raw| end.raw(raw));
        self.retired.counted.add(&mut self.folders[n], &mut self.shared.resolver);
        self.retired.met.add(&self.folders[n], &self.shared.resolver.filter);
    }

    fn forget(&mut self, gone: &[bool]) {
        // Where each process and each ring is afterwards.
        let places = |gone: &mut dyn Iterator<Item = bool>| -> Vec<Option<usize>> {
            let mut next = 0;
            let place = |gone: bool| {
                next += usize::from(!gone);
                (!gone).then_some(next - usize::from(!gone))
            };
            gone.map(place).collect()
        };
        let folders = places(&mut gone.iter().copied());
        let sources = places(&mut self.sources.iter().map(|source| gone[source.process]));
        keep(&mut self.folders, &folders);
        keep(&mut self.interpreters, &folders);
        keep(&mut self.notices, &folders);
        keep(&mut self.sources, &sources);
        for source in &mut self.sources {
            source.process = folders[source.process].unwrap_or_default();
        }
        let ActiveSources { folders: going, sources: read, .. } = &mut self.going;
        *going = going.iter().filter_map(|n| folders[*n]).collect();
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
