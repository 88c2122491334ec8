//! The open calls of all threads, and the part of each that lies in the interval.

use cutap_trace::{Call, Thread};
use std::sync::Arc;

/// A call that has not ended.
#[derive(Debug)]
pub struct OpenFrame {
    pub call: Call,
    /// The number of its function; none of a range.
    pub function: Option<usize>,
    /// Time of the calls inside it within the interval.
    inside_ns: u64,
}

/// Time of a call within an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimePart {
    /// With the calls inside it.
    pub time_ns: u64,
    /// Without them.
    pub self_ns: u64,
}

/// The open calls of a thread, the outermost first.
#[derive(Debug, Default)]
struct OpenStack {
    thread: Option<Arc<Thread>>,
    frames: Vec<OpenFrame>,
}

/// All threads, by their keys.
#[derive(Debug, Default)]
pub struct OpenCalls {
    threads: Vec<OpenStack>,
}

impl OpenCalls {
    /// A call begins.
    pub fn enter(&mut self, call: &Call, function: Option<usize>) {
        let key = call.thread.key as usize;
        if key >= self.threads.len() {
            self.threads.resize_with(key + 1, OpenStack::default);
        }
        let stack = &mut self.threads[key];
        stack.thread.get_or_insert_with(|| call.thread.clone());
        stack.frames.push(OpenFrame { call: call.clone(), function, inside_ns: 0 });
    }

    /// More is known of a call.
    pub fn update(&mut self, call: &Call) {
        let frames = self.threads.get_mut(call.thread.key as usize).map(|stack| &mut stack.frames);
        let frame = frames.into_iter().flatten().rev().find(|frame| frame.call.is_same_call(call));
        frame.into_iter().for_each(|frame| frame.call = call.clone());
    }

    /// A call ends: its function, and its time since the interval began.
    pub fn exit(&mut self, call: &Call, end_ns: u64, begin_ns: u64) -> Option<(Option<usize>, TimePart)> {
        let frames = &mut self.threads.get_mut(call.thread.key as usize)?.frames;
        let place = frames.iter().rposition(|frame| frame.call.is_same_call(call))?;
        // A range may be popped while others that were pushed later are open.
        let frame = match call.function.range {
            Some(_) => frames.remove(place),
            None => frames.drain(place..).next()?,
        };
        let part = part(&frame, end_ns, begin_ns);
        let outer_frames = if frame.function.is_some() { frames.get_mut(..place) } else { None };
        // A range takes no time from the calls around it.
        let parent = outer_frames.into_iter().flatten().rev().find(|frame| frame.function.is_some());
        parent.into_iter().for_each(|parent| parent.inside_ns += part.time_ns);
        Some((frame.function, part))
    }

    /// The interval ends: hands out the parts of all open calls that lie in it.
    pub fn end_interval(&mut self, begin_ns: u64, end_ns: u64, sink: &mut dyn FnMut(usize, TimePart)) {
        for stack in &mut self.threads {
            let mut inside = 0;
            for frame in stack.frames.iter_mut().rev() {
                let Some(function) = frame.function else { continue };
                frame.inside_ns += inside;
                let part = part(frame, end_ns, begin_ns);
                frame.inside_ns = 0;
                inside = part.time_ns;
                sink(function, part);
            }
        }
    }

    /// Threads with open calls: each with its calls, the outermost first.
    pub fn open(&self) -> impl Iterator<Item = (&Thread, &[OpenFrame])> {
        let open = self.threads.iter().filter(|stack| stack.frames.iter().any(|frame| frame.function.is_some()));
        open.filter_map(|stack| Some((&**stack.thread.as_ref()?, &stack.frames[..])))
    }
}

/// The part of a call after the interval began.
fn part(frame: &OpenFrame, end_ns: u64, begin_ns: u64) -> TimePart {
    let time_ns = end_ns.saturating_sub(frame.call.start_ns.max(begin_ns));
    TimePart { time_ns, self_ns: time_ns.saturating_sub(frame.inside_ns) }
}
