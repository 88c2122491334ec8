//! What belongs to the quick frame (`quick_x86_64`) and is no assembler: which functions have it, or the frame of calls
//! with inputs (`inputs_x86_64`), the fields of both, and what is done where something is not as usual. It must never
//! give either to a function of which the registry may be wrong: each of the two says what it believes.

use super::hooks::RECORD;
use super::thunks_x86_64::Frame;
use super::{fast_inputs_x86_64, fast_stack_inputs_x86_64, fast_x86_64, launch_x86_64, table, unwound};
use crate::capture::{self, plan};
use crate::loader::objects::Object;
use crate::sys::x86_64::load8;
use crate::thread::block::ThreadState;
use crate::thread::{clock, record};
use core::ffi::{c_int, c_void};
use core::mem::offset_of;
use core::sync::atomic::Ordering::Relaxed;
use cutap_calls::Layer;
use cutap_calls::generated::capture::NEWEST;
use cutap_wire::record::{first_word, kind};

/// A call as it stands in its frame, from its stack pointer up. The assembler knows these offsets.
#[repr(C)]
pub struct QuickFrame {
    /// On the way in: the thread's block and its chunk, where it has both. On the way out: rax, rdx as the function
    /// left them.
    result: [u64; 2],
    /// The record's second word on the way in, the first on the way out.
    word: u64,
    /// Number of the call in its ring.
    pub number: u64,
    /// Where the thread's word lies from its thread pointer; the slot's `quick`.
    thread: u64,
    quick: u64,
    /// rax at entry.
    rax: u64,
    /// Address of the slot.
    slot: usize,
    /// r9, r8, rcx, rdx, rsi, rdi
    args: [u64; 6],
    /// The caller's rbp, and where the call returns to.
    behind: [usize; 2],
}
/// Bytes of what lies below rbp.
pub const BYTES: usize = offset_of!(QuickFrame, behind);
const _: () = assert!(BYTES == 112 && offset_of!(QuickFrame, slot) + 56 == BYTES);
/// Fields that the assembler names.
pub const BLOCK: usize = offset_of!(QuickFrame, result);
/// See `BLOCK`.
pub const THREAD: usize = offset_of!(QuickFrame, thread);
/// See `BLOCK`.
pub const WORD: usize = offset_of!(QuickFrame, word);
/// See `BLOCK`.
pub const NUMBER: usize = offset_of!(QuickFrame, number);

impl QuickFrame {
    /// Its call is recorded under a number, by a thread with this block.
    pub fn entered(&mut self, number: u32, b: &ThreadState) {
        self.number = number.into();
        self.result = [&raw const *b as u64, b.writer.chunk as u64];
    }
    /// Where the caller's stack words would be.
    pub fn at(&self) -> usize {
        &raw const *self as usize + size_of::<QuickFrame>()
    }
    /// Number of the slot.
    pub fn slot(&self) -> u32 {
        table::number_at(self.slot)
    }
    /// Where the call returns to.
    pub fn caller(&self) -> usize {
        let [_, caller] = self.behind;
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
    /// The same call as it would stand in the common frame, begun by a thread with this block.
    pub fn frame(&self, began: &ThreadState) -> Frame {
        let slot = self.slot();
        Frame {
            args: self.args(),
            rax: self.rax,
            r10: 0,
            xmm: [0; 8],
            stack: self.at() as *const u64,
            caller: self.caller(),
            target: table::slot(slot).map_or(0, |s| s.real.load(Relaxed)),
            slot,
            number: self.number as u32,
            // None, but in the frame of calls with inputs, which believes the registry.
            stack_words: capture::of(table::row_of(slot)).map_or(0, |row| row.stack.into()),
            result: self.result,
            result_xmm: [0; 2],
            recorded: began.identity(),
            hooks: RECORD,
            word: 0,
        }
    }
}

/// Where the thunk of slot `n` may lead instead of the gate, and the first word of its enter records. The driver's
/// exported names keep their arguments in all versions; what a library newer than the registry may have changed is not
/// believed.
pub fn entry(n: u32, remembered: u32, owner: &Object) -> Option<(usize, u32)> {
    let Some(row) = capture::of(remembered) else {
        let first = first_word(kind::ENTER, 2 + 6, n, 0) as u32;
        return clock::is_timestamp().then(|| (fast_x86_64::unknown(), first));
    };
    let known = |(soname, newest): &(&str, u32)| {
        (1..=*newest).contains(&owner.major()) && cutap_calls::is_soname(soname, owner.name())
    };
    let believed = owner.layer == Layer::DRIVER.number() || NEWEST.iter().any(known);
    if !believed || !clock::is_timestamp() {
        return None;
    }
    let frame = match plan::is_quick(plan::of_row(remembered)) {
        true => fast_x86_64::frame(row.ints.into())?,
        false => launch_x86_64::entry(row)
            .or_else(|| fast_stack_inputs_x86_64::entry(n, row))
            .or_else(|| fast_inputs_x86_64::entry(row))?,
    };
    Some((frame, first_word(kind::ENTER, 2 + u32::from(row.ints), n, 0) as u32))
}

/// After the call, where something is not as usual: its exit is not recorded yet, or (`recorded`) the call is not
/// closed. Its result is given back by the assembler.
#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_quick_after(frame: *const QuickFrame, recorded: u32, began: *const ThreadState) {
    // SAFETY: the assembler's frame, and the block of the thread in which the call began; blocks live permanently.
    let (frame, began) = unsafe { (&*frame, &*began) };
    match recorded {
        0 => record::after_quick(frame, began),
        _ => record::ended_quick(frame),
    }
}

/// The frame's personality routine: see `left`.
#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_quick_personality(
    _version: c_int,
    actions: c_int,
    _class: u64,
    exception: *const unwound::Exception,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the unwinder's own; the frame's stack pointer during the call is where its fields begin.
    unsafe { left_above(0, actions, exception, context) }
}

/// The same where outgoing stack words lie below the fields.
#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_quick_unknown_personality(
    _version: c_int,
    actions: c_int,
    _class: u64,
    exception: *const unwound::Exception,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the unwinder's own, as above.
    unsafe { left_above(fast_x86_64::PASSED, actions, exception, context) }
}

/// A frame is being left whose fields begin so many bytes above its stack pointer.
///
/// # Safety
/// The unwinder's own exception and context.
unsafe fn left_above(
    outgoing: usize,
    actions: c_int,
    exception: *const unwound::Exception,
    context: *mut c_void,
) -> c_int {
    if actions & unwound::CLEANUP_PHASE != 0
        // SAFETY: the caller's promise.
        && let Some(frame) = unsafe { unwound::frame_of(context).map(|at| &*((at + outgoing) as *const QuickFrame)) }
    {
        record::unwound(frame.number as u32, frame.at());
        // SAFETY: the unwinder's own.
        record::unwound_around(frame.at(), unsafe { unwound::end_of(exception) });
    }
    unwound::CONTINUE_UNWIND
}
