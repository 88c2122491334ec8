//! The current context and device, as the driver itself says.

use crate::table::File;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering::*};
use cutap_hook::contract::Host;

static CONTEXT: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static DEVICE: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// A function of the driver past all hooks, found once.
fn function(host: &Host, at: &AtomicPtr<c_void>, name: &[u8]) -> Option<*mut c_void> {
    let mut address = at.load(Acquire);
    if address.is_null() {
        if name.last() != Some(&0) {
            return None;
        }
        // SAFETY: the host's function, with a name that ends with a zero.
        address = unsafe { (host.original)(core::ptr::null(), name.as_ptr().cast()) };
        at.store(address, Release);
    }
    (!address.is_null()).then_some(address)
}

/// This thread's context; 0: none.
pub fn current(host: &Host, file: &File) -> usize {
    let mut context = 0_usize;
    let [name, _] = file.asking();
    let Some(address) = function(host, &CONTEXT, name) else { return 0 };
    // SAFETY: it writes one pointer.
    let get: unsafe extern "C" fn(*mut usize) -> c_int = unsafe { core::mem::transmute(address) };
    // SAFETY: as above.
    if unsafe { get(&mut context) } == 0 { context } else { 0 }
}

/// The device of this thread's context; -1: none.
pub fn device(host: &Host, file: &File) -> i32 {
    let mut device = -1;
    let [_, name] = file.asking();
    let Some(address) = function(host, &DEVICE, name) else { return -1 };
    // SAFETY: it writes one number.
    let get: unsafe extern "C" fn(*mut i32) -> c_int = unsafe { core::mem::transmute(address) };
    // SAFETY: as above.
    if unsafe { get(&mut device) } == 0 { device } else { -1 }
}
