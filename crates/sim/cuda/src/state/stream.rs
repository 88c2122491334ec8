//! Streams, their queues of operations, and events.

use super::capture::CapturePosition;
use super::handle::Handle;
use super::host_function::{Data, HostFunction, StreamCallback};
use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

#[derive(Default)]
pub struct StreamState {
    pub streams: BTreeMap<Handle, Stream>,
    pub events: BTreeMap<Handle, Event>,
}

/// What one operation of a stream does.
pub enum Work {
    /// Copies, sets, frees and launches: code of this library, which never waits.
    Internal(Box<dyn FnOnce() + Send>),
    Host(HostFunction, Data),
    Callback(StreamCallback, Handle, Data),
    /// The event, and the number of the recording.
    Record(Handle, u64),
    Wait(Handle, u64),
    /// Waits until a word of memory has a value (cuStreamWaitValue).
    Until(Box<dyn Fn() -> bool + Send>),
    /// The driver thread has taken the work out and runs it.
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
    pub queue: VecDeque<Operation>,
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
            attributes: BTreeMap::new(),
            capture: None,
            capture_info: Default::default(),
        }
    }

    pub fn legacy(self) -> Self {
        Stream { legacy: true, ..self }
    }

    /// Whether it synchronises with the legacy stream.
    pub fn blocking(&self) -> bool {
        self.flags & Self::NON_BLOCKING == 0
    }
}

pub struct Event {
    pub context: Handle,
    pub flags: u32,
    /// The number of recordings that were requested.
    pub recorded: u64,
    /// The number of the last recording that has completed.
    pub completed: u64,
    pub time: Option<Instant>,
    /// The position of the last recording, if its stream was captured.
    pub captured: Option<CapturePosition>,
}

impl Event {
    pub const DISABLE_TIMING: u32 = 2;

    pub fn is_done(&self) -> bool {
        self.completed >= self.recorded
    }
}
