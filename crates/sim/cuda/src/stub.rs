//! The exported functions themselves: each is a few instructions of its own, so that no two exports share an
//! address (a tracer names a function by its address) whatever the optimiser merges behind them.

use std::ffi::c_void;
use std::sync::atomic::AtomicU64;

/// What every export looks like to code that only hands its address out.
pub type Function = unsafe extern "C" fn();

/// One answer of cuGetProcAddress.
pub struct Proc {
    /// The name asked for.
    pub base: &'static str,
    /// The least version that must be asked for.
    pub since: u32,
    /// Only for callers that want the per-thread default stream.
    pub thread: bool,
    /// The export.
    pub function: Function,
}

impl Proc {
    pub const fn new(base: &'static str, since: u32, thread: bool, function: Function) -> Self {
        Proc { base, since, thread, function }
    }
}

/// Calls of each export that is answered by default.
pub static COUNTS: [AtomicU64; crate::generated::DEFAULTS.len()] =
    [const { AtomicU64::new(0) }; crate::generated::DEFAULTS.len()];

/// Address of an export as programs hold it.
pub fn address(function: Function) -> *const c_void {
    function as *const c_void
}

/// Hands the number in eax and the words of the call to `default::answer`.
#[unsafe(naked)]
pub unsafe extern "C" fn by_default() {
    core::arch::naked_asm!(
        "push r9",
        "push r8",
        "push rcx",
        "push rdx",
        "push rsi",
        "push rdi",
        "mov edi, eax",
        "mov rsi, rsp",
        "lea rdx, [rsp + 56]", // six words and the return address
        "sub rsp, 8",
        "call {answer}",
        "add rsp, 56",
        "ret",
        answer = sym crate::default::answer,
    )
}
pub(crate) use cutap_machine::{default, written};
