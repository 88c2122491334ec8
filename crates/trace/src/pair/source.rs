//! One ring that is read for its events. They wait here for earlier events of other threads.

use super::event_queue::EventQueue;
use super::pairer::Pairer;
use super::selected_calls::CallNumbers;
use super::sink::Context;
use crate::event::Exit;
use crate::ring::reader::Ring;
use std::collections::VecDeque;
use std::sync::Arc;

/// Chunks that are kept for a call that has not ended: half of a ring.
const MOST_HELD: usize = 16;

/// A ring, and the calls of the thread that has it now.
#[derive(Debug)]
pub struct Source {
    /// Place of its process in the run.
    pub process: usize,
    pub ring: Ring,
    /// When the ring was first seen without an owner, and whether all that it holds was read the last time.
    pub abandoned_since: Option<u64>,
    pub read_out: bool,
    pub calls: Pairer<EventQueue>,
    /// Chunks that were read: their places, and the number of events so far then, and the time of the last.
    read: VecDeque<(u32, u64, u64)>,
}

impl Source {
    /// A ring of this process. With `decode` its arguments are to be understood. With `only`, these calls are read.
    pub fn new(process: usize, ring: Ring, decode: bool, only: Option<Arc<CallNumbers>>) -> Source {
        let calls = Pairer::new(EventQueue::new(decode, only));
        Source { process, ring, abandoned_since: None, read_out: false, calls, read: VecDeque::new() }
    }

    /// Reads up to `most` records. False when there is nothing more for now.
    pub fn fill(&mut self, context: &mut Context<'_>, now: u64, most: usize) -> bool {
        let calls = &mut self.calls;
        let more = calls.take(&mut self.ring, now, most, context);
        self.read_out = !more && self.ring.ready;
        let (pushed, last) = (calls.sink.pushed(), calls.sink.last_ticks());
        self.read.extend(self.ring.take_finished_chunks().map(|n| (n, pushed, last)));
        more
    }

    /// Nothing of it waits, nothing is to be given back, and no thread has it.
    pub fn is_done(&self) -> bool {
        self.abandoned_since.is_some() && self.read_out && self.calls.sink.queue.is_empty() && self.read.is_empty()
    }

    /// True while calls are open.
    pub fn has_open(&self) -> bool {
        self.calls.open().next().is_some()
    }

    /// Nothing more is read: the calls that never ended and are shown, the innermost first.
    pub fn end(&mut self, now: u64, context: &mut Context<'_>) -> Vec<Exit> {
        self.calls.end(now, context);
        std::mem::take(&mut self.calls.sink.unfinished)
    }

    /// Chunks whose events have been read.
    pub fn unreleased_chunks(&self) -> usize {
        self.read.len()
    }

    /// Gives back the chunks whose events have all been taken out of the queue; with `whole`, not those in which a call
    /// began that has not ended, unless they are many: another reader who goes on from here has to see it begin.
    pub fn give_back(&mut self, whole: bool) {
        let delivered = self.calls.sink.pushed() - self.calls.sink.queue.len() as u64;
        let open = self.calls.open().last().map_or(u64::MAX, |open| open.ticks);
        while let Some(&(n, pushed, last)) = self.read.front()
            && pushed <= delivered
            && (!whole || last < open || self.read.len() > MOST_HELD)
        {
            self.ring.give_back(n);
            self.read.pop_front();
        }
    }
}
