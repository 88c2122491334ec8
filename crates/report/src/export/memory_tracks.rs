//! Counter tracks of memory in a file for a viewer: one for each process and kind of memory, with what recorded calls
//! allocated and did not free.

use crate::resources::leaks::{Change, Leaks, Thing};
use cutap_trace::{Call, EventVisitor, Exit};
use std::collections::HashMap;

/// The tracks so far.
#[derive(Debug)]
pub struct MemoryTracks {
    leaks: Leaks,
    /// The size of what is allocated.
    sizes: HashMap<Thing, u64>,
    /// By process and kind: the number of the track, and its bytes.
    tracks: HashMap<(u32, &'static str), (u32, u64)>,
}

/// A counter changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryStep {
    /// The number of its track, from 1.
    pub track: u32,
    /// The kind of memory, if the track is new.
    pub new_track: Option<&'static str>,
    pub bytes: u64,
}

impl Default for MemoryTracks {
    fn default() -> MemoryTracks {
        MemoryTracks { leaks: Leaks::with_changes(), sizes: HashMap::new(), tracks: HashMap::new() }
    }
}

impl MemoryTracks {
    /// A call begins.
    pub fn enter(&mut self, call: &Call) {
        if call.function.range.is_none() {
            self.leaks.enter(call);
        }
    }

    /// A call ends: the counters that it changes, the last value of each.
    pub fn exit(&mut self, exit: &Exit) -> Vec<MemoryStep> {
        if exit.call.function.range.is_some() {
            return Vec::new();
        }
        self.leaks.exit(exit);
        let mut steps: Vec<MemoryStep> = Vec::new();
        for change in self.leaks.changes() {
            let step = match change {
                // A runtime hands out what the driver allocated: the second call changes nothing.
                Change::Made(thing, Some(bytes)) => {
                    let before = self.sizes.insert(thing, bytes).unwrap_or(0);
                    (before != bytes).then(|| self.step(thing, before, bytes))
                }
                Change::Made(_, None) => None,
                Change::Ended(thing) => self.sizes.remove(&thing).map(|before| self.step(thing, before, 0)),
            };
            let Some(step) = step else { continue };
            match steps.iter_mut().find(|of| of.track == step.track) {
                Some(of) => of.bytes = step.bytes,
                None => steps.push(step),
            }
        }
        steps
    }

    fn step(&mut self, (process, kind, _): Thing, before: u64, bytes: u64) -> MemoryStep {
        let next = self.tracks.len() as u32 + 1;
        let (track, sum) = self.tracks.entry((process, kind)).or_insert((next, 0));
        *sum = sum.saturating_sub(before).saturating_add(bytes);
        MemoryStep { track: *track, new_track: (*track == next).then_some(kind), bytes: *sum }
    }
}
