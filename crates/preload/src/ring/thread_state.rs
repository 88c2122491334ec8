//! A thread's state: its ring, and the calls that are open in it. Found by one word of thread-local
//! storage in the static block, without a call and without a destructor. `thread_states` makes it at its first use.

use super::count_files::Counts;
use super::open_ranges::OpenRanges;
use crate::process::{fork, page, path};
use crate::sys::stack::Stack;
use crate::sys::{self, arch};
use core::sync::atomic::{AtomicU32, Ordering::*};
use cutap_wire::diagnostic;
use cutap_wire::process::Process;
use cutap_wire::ring::{ChunkWriter, RingHeader};

/// Calls that a thread state remembers as open.
pub const DEPTH: usize = 128;
/// So many calls ahead of those that there are is the number of a call that is counted and has no call around it: see
/// `push_counted`.
pub const NOWHERE: u32 = 1 << 30;
/// Frames further apart than this are on different stacks.
pub const ONE_STACK: usize = 8 << 20;
/// Chunks that a thread state keeps mapped.
pub const MAPPED: usize = 64;

/// A call that began and did not end yet, as far as this thread knows: a hint for the parent of the
/// next one, never what decides whether something is recorded.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct OpenCall {
    /// Number in the ring.
    pub number: u32,
    pub slot: u32,
    /// Where its frame is on the stack: one that the stack has left is gone.
    pub frame: usize,
    /// The runtime's record, once its callback reported this call too.
    pub reported: usize,
}

/// Nodes that remain known: a node may run another pass.
const NODES: usize = 8;

/// The nodes of PyTorch's autograd that a thread runs, each with where its frame is on the stack, and what is known of
/// it (`cutap_wire::python::Node`).
#[repr(C)]
pub struct RunningNodes {
    count: usize,
    all: [(usize, u64); NODES],
}

impl RunningNodes {
    /// The thread has begun to run one.
    pub fn push(&mut self, frame: usize, node: u64) {
        self.leave_below(frame);
        if let Some(place) = self.all.get_mut(self.count) {
            *place = (frame, node);
            self.count += 1;
        }
    }

    /// Forgets those whose frames are not above `frame`: they have ended, also by an exception.
    #[inline(always)]
    pub fn leave_below(&mut self, frame: usize) {
        while let Some((of, _)) = self.count.checked_sub(1).and_then(|last| self.all.get(last)) {
            if *of > frame {
                return;
            }
            self.count -= 1;
        }
    }

    /// The innermost one around `frame`; 0: none.
    #[inline(always)]
    pub fn innermost(&mut self, frame: usize) -> u64 {
        if self.count == 0 {
            return 0;
        }
        self.leave_below(frame);
        self.count.checked_sub(1).and_then(|last| self.all.get(last)).map_or(0, |(_, node)| *node)
    }

    /// The thread runs none.
    pub fn clear(&mut self) {
        self.count = 0;
    }
}

/// The thread state. What every call needs stands first.
#[repr(C)]
pub struct ThreadState {
    /// Process generation in which the thread state was made.
    pub generation: u32,
    /// Thread that owns it.
    pub tid: AtomicU32,
    /// Number of its ring file.
    pub ring: u32,
    /// Set while our own code runs that may come back to us.
    pub inside: bool,
    /// Set while a chunk is being changed: a signal handler must not wait.
    pub changing: bool,
    /// The ring's first page.
    pub header: *mut RingHeader,
    /// The current chunk.
    pub writer: ChunkWriter,
    /// Record being written, to find one that was given up: its first word and the frame that wrote it.
    pub writing: (*mut u64, usize),
    /// The thread's stack.
    pub stack: Stack,
    /// Open calls.
    pub depth: usize,
    /// See `depth`.
    pub open: [OpenCall; DEPTH],
    /// Numbers of calls, where calls are only counted.
    pub counts: Counts,
    /// While calls are only counted: the record of the call that a runtime reported last, until its end.
    pub reported: usize,
    /// While calls are only counted: where a runtime asked for a kernel's function, outside of what it reports, and
    /// that function's slot, until it reports something. See `runtime::own_calls`.
    pub unreported_lookup: (usize, u32),
    /// Sequence of the current chunk.
    pub sequence: u64,
    /// Whoever drains did not empty a chunk of this ring for too long: it is not waited for until it does.
    pub in_vain: bool,
    /// The ring's first page and first chunk are in a heads file.
    pub shares: bool,
    /// What a flight recorder keeps of chunks that it writes over; null: nothing yet.
    pub copies: *mut (),
    /// In a flight recorder: the ring for the rows of GPU time that this thread has; null: none yet.
    pub rows: *mut ThreadState,
    /// Of a child by vfork: the page that says so, in its own folder; else null.
    pub vfork_page: *mut Process,
    /// Number of that folder among those of the child's process id.
    pub folder: u32,
    /// Number of the last call whose Python frames were written, plus one; 0: none.
    pub python: u32,
    /// Nodes of autograd that it runs.
    pub nodes: RunningNodes,
    /// Ranges that are open.
    pub ranges: OpenRanges,
    /// Which chunk of the file each mapping is, plus one; and the mapping.
    pub mapped: [(u32, *mut u8); MAPPED],
}

/// This thread's word.
#[inline(always)]
pub(super) fn word() -> *mut *mut ThreadState {
    arch::thread_state().cast()
}

/// This thread's state if it has one.
#[inline(always)]
pub fn existing() -> Option<&'static mut ThreadState> {
    // SAFETY: this thread's own word; the thread state is this thread's, and thread states are never given back.
    unsafe { (*word()).as_mut() }
        .filter(|thread_state| &raw const **thread_state as usize > 1 && thread_state.generation == fork::generation())
}

impl ThreadState {
    /// The folder of its files.
    pub fn path(&self) -> path::Path {
        if self.vfork_page.is_null() {
            return path::Path::process();
        }
        let mut path = path::Path::run();
        path.push(b"/p").number(self.tid.load(Relaxed).into()).push(b"-").number(self.folder.into());
        path
    }
    /// What a call's frame keeps of the ring that its record is in: never 0.
    pub fn identity(&self) -> u32 {
        self.generation << 16 | (self.ring + 1) & 0xffff
    }
    /// Forgets the calls that this stack has left (by an exception, longjmp): those whose frames are
    /// not above `frame`. Frames far away are on another stack (fibres, signal stacks): nothing can be
    /// said of them.
    #[inline(always)]
    pub fn leave_below(&mut self, frame: usize) {
        let mut checked_stack = false;
        while let Some(top) = self.depth.checked_sub(1).and_then(|d| self.open.get(d)) {
            if frame.wrapping_sub(top.frame) >= ONE_STACK || (!checked_stack && sys::on_signal_stack()) {
                return;
            }
            checked_stack = true;
            self.depth -= 1;
        }
    }
    /// The innermost open call.
    #[inline(always)]
    pub fn top(&mut self) -> Option<&mut OpenCall> {
        self.depth.checked_sub(1).and_then(|d| self.open.get_mut(d))
    }
    /// A call began.
    #[inline(always)]
    pub fn push(&mut self, call: OpenCall) {
        match self.open.get_mut(self.depth) {
            Some(place) => {
                // Word by word: as a whole it would be copied through vector registers, right behind the stores that
                // made it.
                (place.number, place.slot) = (call.number, call.slot);
                place.frame = call.frame;
                place.reported = call.reported;
                self.depth += 1;
            }
            None => page::count(diagnostic::TOO_DEEP, 1),
        }
    }
    /// A call began that is counted and has no record. Calls inside hang on the call around it, so it stands here with
    /// that one's number. Where there is none, it has a number that no call is near.
    pub fn push_counted(&mut self, calls: u32, call: OpenCall) {
        let number = self.top().map_or(calls.wrapping_add(NOWHERE), |top| top.number);
        self.push(OpenCall { number, ..call });
    }
    /// Whether an open call is one that is counted and has no record.
    pub fn is_counted(&self, calls: u32, call: &OpenCall) -> bool {
        let is_around = |c: &OpenCall| c.number == call.number && c.frame > call.frame;
        call.number.wrapping_sub(calls) as i32 >= 0 || self.open.iter().take(self.depth).any(is_around)
    }
    /// The one at `frame` ended, and with it all that began after it.
    #[inline(always)]
    pub fn pop_counted(&mut self, frame: usize) {
        if let Some(at) = self.open.iter().take(self.depth).rposition(|c| c.frame == frame) {
            self.depth = at;
        }
    }
    /// Call `number` ended, and with it all that began after it.
    #[inline(always)]
    pub fn pop(&mut self, number: u32) {
        let top = self.depth.wrapping_sub(1);
        if self.open.get(top).is_some_and(|c| c.number == number) {
            self.depth = top;
        } else if let Some(at) = self.open.iter().take(self.depth).rposition(|c| c.number == number) {
            self.depth = at;
        }
    }
}
