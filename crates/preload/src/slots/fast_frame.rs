//! A call as it stands in the fast frame, whose assembler is in the files `fast_*`.

use super::frame::{Frame, STACK_WORDS};
use super::interceptors::RECORD;
use super::{rows, table};
use crate::ring::thread_state::ThreadState;
use crate::sys::arch::load8;
use core::mem::offset_of;
use core::sync::atomic::Ordering::Relaxed;

/// A call as it stands in its frame, from its stack pointer up. The assembler knows these offsets.
#[repr(C)]
pub struct FastFrame {
    /// On the way in: the thread's state and its chunk, where it has both. On the way out: the registers of the
    /// result as the function left them.
    result: [u64; 2],
    /// The record's second word on the way in, the first on the way out.
    word: u64,
    /// Number of the call in its ring.
    pub number: u64,
    /// Where the thread's word lies from its thread pointer; the slot's `plan`.
    thread: u64,
    plan: u64,
    /// Number of vector registers of a variadic call.
    vector_count: u64,
    /// Address of the slot.
    slot: usize,
    /// The argument registers, the last first.
    args: [u64; 6],
    /// The caller's frame pointer, and where the call returns to.
    caller_frame: [usize; 2],
}
/// Bytes of what lies below the frame pointer.
pub const BYTES: usize = offset_of!(FastFrame, caller_frame);
const _: () = assert!(BYTES == 112 && offset_of!(FastFrame, slot) + 56 == BYTES);
/// Bytes of the stack words that the form for unknown functions passes on.
pub const PASSED: usize = 8 * STACK_WORDS;
/// Stack words that the frames of calls with inputs pass on at most.
pub const INPUTS_STACK_WORDS: usize = 16;
/// Fields that the assembler names.
pub const THREAD_STATE: usize = offset_of!(FastFrame, result);
/// See `THREAD_STATE`.
pub const THREAD: usize = offset_of!(FastFrame, thread);
/// See `THREAD_STATE`.
pub const WORD: usize = offset_of!(FastFrame, word);
/// See `THREAD_STATE`.
pub const NUMBER: usize = offset_of!(FastFrame, number);

impl FastFrame {
    /// Its call is recorded under a number, by a thread with this state.
    pub fn entered(&mut self, number: u32, thread_state: &ThreadState) {
        self.number = number.into();
        self.result = [&raw const *thread_state as u64, thread_state.writer.chunk as u64];
    }
    /// Where the caller's stack words would be.
    pub fn at(&self) -> usize {
        &raw const *self as usize + size_of::<FastFrame>()
    }
    /// Number of the slot.
    pub fn slot(&self) -> u32 {
        table::number_at(self.slot)
    }
    /// Where the call returns to.
    pub fn caller(&self) -> usize {
        let [_, caller] = self.caller_frame;
        caller
    }
    /// The words of the integer registers, in order.
    #[inline(always)]
    pub fn args(&self) -> [u64; 6] {
        // One by one: two at a time would wait for the stores behind which they come.
        let place = |n: usize| &raw const self.args as usize + 8 * (5 - n);
        // SAFETY: this frame.
        core::array::from_fn(|n| unsafe { load8(place(n)) })
    }
    /// The same call as it would stand in the common frame, begun by a thread with this state.
    pub fn frame(&self, began: &ThreadState) -> Frame {
        let slot = self.slot();
        Frame {
            args: self.args(),
            vector_count: self.vector_count,
            static_chain: 0,
            vectors: [0; 8],
            stack: self.at() as *const u64,
            caller: self.caller(),
            target: table::slot(slot).map_or(0, |s| s.real.load(Relaxed)),
            slot,
            number: self.number as u32,
            // None, but in the frame of calls with inputs, which believes the registry.
            stack_words: rows::of(table::row_of(slot)).map_or(0, |row| row.stack.into()),
            result: self.result,
            result_vectors: [0; 2],
            recorded: began.identity(),
            interceptors: RECORD,
            word: 0,
        }
    }
}
