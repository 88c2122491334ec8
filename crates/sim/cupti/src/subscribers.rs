//! Subscribers, of whom there is one at a time, and the end of CUPTI in a process. Nobody's function is called.

use crate::buffers;
use crate::collection::collection;
use cutap_calls::generated::gpu_time::result;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The subscriber; 0: none.
static SUBSCRIBER: AtomicUsize = AtomicUsize::new(0);
/// A function of the global family was used since CUPTI is attached.
static IS_GLOBAL: AtomicBool = AtomicBool::new(false);

/// To be called by functions of the global family.
pub fn use_global_family() {
    IS_GLOBAL.store(true, Ordering::Release);
}

fn subscribe(subscriber: *mut usize) -> u32 {
    if subscriber.is_null() {
        return result::INVALID_PARAMETER;
    }
    let free = SUBSCRIBER.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire);
    if free.is_err() {
        return result::MULTIPLE_SUBSCRIBERS;
    }
    // SAFETY: not NULL, and by the prototype there is room for a handle.
    unsafe { subscriber.write(1) };
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn cuptiSubscribe(subscriber: *mut usize, _callback: *mut c_void, _data: *mut c_void) -> u32 {
    use_global_family();
    subscribe(subscriber)
}

/// CUPTI refuses such a subscriber after the global family was used (pytorch#192094).
#[unsafe(no_mangle)]
pub extern "C" fn cuptiSubscribe_v2(
    subscriber: *mut usize,
    _callback: *mut c_void,
    _data: *mut c_void,
    _parameters: *mut c_void,
) -> u32 {
    if IS_GLOBAL.load(Ordering::Acquire) {
        return result::NOT_COMPATIBLE;
    }
    subscribe(subscriber)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuptiUnsubscribe(_subscriber: usize) -> u32 {
    SUBSCRIBER.store(0, Ordering::Release);
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn cuptiFinalize() -> u32 {
    SUBSCRIBER.store(0, Ordering::Release);
    IS_GLOBAL.store(false, Ordering::Release);
    buffers::forget();
    *collection() = Default::default();
    0
}
