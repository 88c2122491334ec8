//! The code that slots and tables of callbacks lead to. `arch` has it; the start says where, before there is a slot.

use crate::loader::objects::Object;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*};

/// A place in the assembler.
pub type Label = unsafe extern "C" fn();

/// Bytes of one thunk.
pub const THUNK_BYTES: usize = 32;
/// Bytes of what one runtime instance calls.
pub const CALLBACK_BYTES: usize = 32;

pub struct Code {
    /// The array of thunks.
    pub thunks: Label,
    /// What each of them begins with.
    pub prologue: [u8; 16],
    /// The gate before the common frame.
    pub gate: Label,
    /// The common frame.
    pub frame: Label,
    /// Where what it calls returns to.
    pub frame_called: Label,
    /// The note of a C++ name.
    pub cxx_note: Label,
    /// The stub of a word that is not bound yet.
    pub resolve: Label,
    /// The common frame, where the caller's stack is kept.
    pub call_stack: Label,
    /// The gate of what a runtime may call because cutap watches.
    pub own_calls: Label,
    /// The frame around which hooks are called.
    pub hooked: Label,
    /// The frame of slot `n`, which is only recorded and has this row, and the first word of its enter records.
    pub fast: fn(n: u32, row: u32, owner: &Object) -> Option<(usize, u32)>,
    /// The frame of a slot whose calls are counted, and recorded only where they fail.
    pub chatter: fn(row: u32, owner: &Object) -> Option<usize>,
    /// What stands between the slot and the driver's function that hands out a kernel's.
    pub kernel_function: fn(real: usize) -> Option<usize>,
    /// `real(handle, name, version)`, as if the object in which `gate` lies looked up.
    pub call_through: unsafe fn(real: usize, handle: usize, name: *const u8, version: *const u8, gate: usize) -> usize,
    /// What the instances of a runtime call: at enter and exit, there with hooks, there with stacks; for the flags.
    pub callbacks: Label,
    pub hooked_callbacks: Label,
    pub stacked_callbacks: Label,
    pub flags: Label,
}

static CODE: AtomicPtr<Code> = AtomicPtr::new(core::ptr::null_mut());
static THUNKS: AtomicUsize = AtomicUsize::new(0);

/// At the start.
pub fn set(code: &'static Code) {
    THUNKS.store(code.thunks as usize, Release);
    CODE.store(core::ptr::from_ref(code).cast_mut(), Release);
}

/// It, once it was set.
pub fn code() -> Option<&'static Code> {
    // SAFETY: null or a static.
    unsafe { CODE.load(Acquire).as_ref() }
}

/// Address of thunk `n`.
#[inline(always)]
pub fn thunk(n: usize) -> usize {
    THUNKS.load(Relaxed) + n * THUNK_BYTES
}
