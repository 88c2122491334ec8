//! Streams, their queues of operations, and events.

use super::capture::CapturePosition;
use super::handle::Handle;
use super::host_function::{Data, HostFunction, StreamCallback};
use crate::abi::{Answer, Fault};
use crate::engine::{self, Fence, Lane, Op, Stamp};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

#[derive(Default)]
pub struct StreamState {
    pub streams: BTreeMap<Handle, Stream>,
    pub events: BTreeMap<Handle, Event>,
    /// Work of streams that were destroyed before it has completed, by context.
    pub orphans: Vec<(Handle, Fence)>,
    /// The first failure of an operation that the driver thread submitted. The next wait returns it.
    pub failure: Option<Fault>,
}

/// What one operation of a stream does.
pub enum Work {
    /// Copies, sets and launches: the engine's.
    Engine(Op),
    /// Frees: code of this library, which never waits.
    Internal(Box<dyn FnOnce() + Send>),
    Host(HostFunction, Data),
    Callback(StreamCallback, Handle, Data),
    /// The event, and the number of the recording.
    Record(Handle, u64),
    Wait(Handle, u64),
    /// Waits until a word of memory has a value (cuStreamWaitValue).
    Until(Box<dyn Fn() -> bool + Send>),
    /// A thread has taken the work out and runs it.
    Running,
}

pub struct Operation {
    pub order: u64,
    pub work: Work,
}

pub struct Stream {
    pub context: Handle,
    pub flags: u32,
    pub priority: i32,
    pub id: u64,
    pub legacy: bool,
    /// The program has destroyed it. It exists until its queue is empty.
    pub closed: bool,
    /// What is not submitted to the engine yet.
    pub queue: VecDeque<Operation>,
    /// The engine's lane, from the first operation on.
    pub lane: Option<Arc<dyn Lane>>,
    /// The last operation that was submitted, unless it has completed.
    pub last: Option<Fence>,
    /// What the next operation comes after, beside `last`.
    pub after: Vec<Fence>,
    pub attributes: BTreeMap<u32, [u64; 8]>,
    pub capture: Option<CapturePosition>,
    /// The lists that cuStreamGetCaptureInfo returned pointers to. They live until its next call.
    pub capture_info: (Vec<Handle>, Vec<[u8; 8]>),
}

impl Stream {
    pub const NON_BLOCKING: u32 = 1;

    pub fn new(context: Handle, flags: u32, priority: i32, id: u64) -> Self {
        Stream {
            context,
            flags,
            priority,
            id,
            legacy: false,
            closed: false,
            queue: VecDeque::new(),
            lane: None,
            last: None,
            after: Vec::new(),
            attributes: BTreeMap::new(),
            capture: None,
            capture_info: Default::default(),
        }
    }

    pub fn legacy(self) -> Self {
        Stream { legacy: true, ..self }
    }

    /// What was submitted and may not have completed.
    pub fn open_fences(&self) -> impl Iterator<Item = Fence> {
        self.last.into_iter().chain(self.after.iter().copied())
    }

    /// Whether it synchronises with the legacy stream.
    pub fn blocking(&self) -> bool {
        self.flags & Self::NON_BLOCKING == 0
    }
}

#[derive(Default)]
pub struct Event {
    pub context: Handle,
    pub flags: u32,
    /// The number of recordings that were requested.
    pub recorded: u64,
    /// The number of the last recording that was submitted to the engine.
    pub submitted: u64,
    /// The work before that recording, unless it has completed.
    pub fence: Option<Fence>,
    /// Its time, unless the event has none.
    pub stamp: Option<Arc<dyn Stamp>>,
    /// The position of the last recording, if its stream was captured.
    pub captured: Option<CapturePosition>,
}

impl Event {
    pub const DISABLE_TIMING: u32 = 2;

    /// Whether all recordings have completed.
    pub fn is_done(&self) -> Answer<bool> {
        Ok(self.submitted >= self.recorded && self.fence.map_or(Ok(true), engine::reached)?)
    }
}
