//! A call as it stands in the common frame, and how many of its stack words can be read.

use crate::process::page;
use crate::sys;
use cutap_wire::diagnostic;

/// Stack words that a frame passes on at most.
pub const STACK_WORDS: usize = 40;

/// A call as it stands in its frame. The assembler in `arch` knows these offsets.
#[repr(C)]
pub struct Frame {
    /// The argument registers of integers and pointers, in order.
    pub args: [u64; 6],
    /// Number of vector registers of a variadic call.
    pub vector_count: u64,
    /// The register of the static chain.
    pub static_chain: u64,
    /// The argument registers of vectors, in order.
    pub vectors: [u128; 8],
    /// The caller's stack arguments.
    pub stack: *const u64,
    /// Return address in the caller.
    pub caller: usize,
    /// What will be called.
    pub target: usize,
    pub slot: u32,
    /// Number of the call in its ring, if recorded.
    pub number: u32,
    /// Stack words to pass on.
    pub stack_words: usize,
    /// The result's registers of integers and pointers.
    pub result: [u64; 2],
    /// The result's registers of vectors.
    pub result_vectors: [u128; 2],
    /// Which ring the call was recorded in on the way in (`ThreadState::identity`); 0: in none.
    pub recorded: u32,
    /// Interceptors that ran before.
    pub interceptors: u32,
    /// A word for the interceptors.
    pub word: u64,
}

const _: () = {
    assert!(STACK_WORDS == 40);
    assert!(core::mem::offset_of!(Frame, stack) == 192);
    assert!(core::mem::offset_of!(Frame, target) == 208);
    assert!(core::mem::offset_of!(Frame, slot) == 216);
    assert!(core::mem::offset_of!(Frame, stack_words) == 224);
    assert!(core::mem::offset_of!(Frame, result) == 232);
    assert!(core::mem::offset_of!(Frame, result_vectors) == 256);
    assert!(size_of::<Frame>() == 304);
};

/// How many of the caller's stack words can be read. Nothing says how many arguments there are, and a stack may end
/// just above them (a fibre's): what lies in the page in which they begin is mapped, the page behind it is asked of the
/// kernel. What is known of the thread's stack does not help: a fibre's may have lain below it, and be gone.
#[inline(always)]
pub fn stack_words(at: usize) -> usize {
    let in_page = (4096 - (at & 4095)) / 8;
    let there = in_page >= STACK_WORDS || sys::readable(at + in_page * 8);
    // Where a sandbox lets nobody ask: hardly a stack ends there, and a call without its arguments is a wrong one.
    if there || !sys::allowed::may_ask_of_memory() {
        return STACK_WORDS;
    }
    page::count(diagnostic::STACK_SHORT, 1);
    in_page
}
