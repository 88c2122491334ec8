//! Functions of the program that the driver calls later, with their data.

use super::handle::Handle;
use std::ffi::c_void;

/// The function of cuLaunchHostFunc.
pub type HostFunction = extern "C" fn(*mut c_void);
/// The function of cuStreamAddCallback: stream, result, data.
pub type StreamCallback = extern "C" fn(Handle, u32, *mut c_void);

/// A pointer that the driver passes back to the program, on another thread.
#[derive(Clone, Copy)]
pub struct Data(pub *mut c_void);
// SAFETY: the driver never reads through it; the program asked for it to be passed to its function on a driver thread.
unsafe impl Send for Data {}
// SAFETY: as above.
unsafe impl Sync for Data {}
