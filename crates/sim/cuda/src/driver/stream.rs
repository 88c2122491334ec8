//! Streams and events as data; `engine.rs` moves them.

use super::capture::Place;
use super::driver_state::Handle;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::c_void;
use std::time::Instant;

/// A function of the program: cuLaunchHostFunc's.
pub type HostFunction = extern "C" fn(*mut c_void);
/// A function of the program: cuStreamAddCallback's (stream, result, data).
pub type StreamCallback = extern "C" fn(Handle, u32, *mut c_void);

/// A pointer of the program that is handed back to it on another thread.
#[derive(Clone, Copy)]
pub struct Data(pub *mut c_void);
// SAFETY: never read here; the program asked for it to be given to its own function on a driver thread.
unsafe impl Send for Data {}
// SAFETY: as above.
unsafe impl Sync for Data {}

/// One operation of a stream.
pub enum Work {
    /// Copies, sets, frees, launches: of ours, quick.
    Ours(Box<dyn FnOnce() + Send>),
    Host(HostFunction, Data),
    Callback(StreamCallback, Handle, Data),
    /// (event, its which recording)
    Record(Handle, u64),
    Wait(Handle, u64),
    /// Until memory holds what is waited for (cuStreamWaitValue).
    Until(Box<dyn Fn() -> bool + Send>),
    /// Taken out by the driver thread, which is at it.
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
    /// Destroyed by the program; lives until it is empty.
    pub closed: bool,
    pub queue: VecDeque<Operation>,
    pub attributes: BTreeMap<u32, [u64; 8]>,
    /// Its part in a capture.
    pub capture: Option<Place>,
    /// What cuStreamGetCaptureInfo pointed the program to: there until it asks again.
    pub told: (Vec<Handle>, Vec<[u8; 8]>),
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
            told: Default::default(),
        }
    }

    pub fn legacy(self) -> Self {
        Stream { legacy: true, ..self }
    }

    /// Whether it is in order with the legacy stream.
    pub fn blocking(&self) -> bool {
        self.flags & Self::NON_BLOCKING == 0
    }
}

pub struct Event {
    pub context: Handle,
    pub flags: u32,
    /// How often it was recorded; 0: never.
    pub recorded: u64,
    /// The last recording that is over.
    pub done: u64,
    pub time: Option<Instant>,
    /// Recorded last in a stream that is captured.
    pub captured: Option<Place>,
}

impl Event {
    pub const DISABLE_TIMING: u32 = 2;

    pub fn is_done(&self) -> bool {
        self.done >= self.recorded
    }
}
