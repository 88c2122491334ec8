//! The type of an export, and the entries of cuGetProcAddress.

use std::ffi::c_void;

/// An export as code sees it that only passes its address on.
pub type Function = unsafe extern "C" fn();

/// One answer of cuGetProcAddress.
pub struct Proc {
    /// The name that the program asks for.
    pub base: &'static str,
    /// The lowest version that the program must ask for.
    pub since: u32,
    /// Only for callers that want the per-thread default stream.
    pub thread: bool,
    pub function: Function,
}

impl Proc {
    pub const fn new(base: &'static str, since: u32, thread: bool, function: Function) -> Self {
        Proc { base, since, thread, function }
    }
}

/// The address of an export, as programs have it.
pub fn address(function: Function) -> *const c_void {
    function as *const c_void
}
