//! How many buffers CUPTI may have in the memory of each device. CUTAP_CUPTI_BUFFERS bounds them, for a program that
//! needs the memory. CUPTI drops records when all are full.

use crate::cupti::Cupti;
use core::sync::atomic::{AtomicUsize, Ordering};
use cutap_calls::generated::gpu_time::attribute::DEVICE_BUFFERS;

/// The number before the collection; 0: it was not changed.
static BEFORE: AtomicUsize = AtomicUsize::new(0);

/// Sets the number that the user named.
pub fn limit(cupti: &Cupti) {
    if let (Some(wanted), Some(before)) = (named_by_user(), cupti.attribute(DEVICE_BUFFERS)) {
        BEFORE.store(before, Ordering::Release);
        cupti.set_attribute(DEVICE_BUFFERS, wanted);
    }
}

/// Sets the number of before.
pub fn restore(cupti: &Cupti) {
    let before = BEFORE.swap(0, Ordering::AcqRel);
    if before != 0 {
        cupti.set_attribute(DEVICE_BUFFERS, before);
    }
}

fn named_by_user() -> Option<usize> {
    // SAFETY: C strings. The result is NULL or a C string in the environment, of which a number is read.
    let number = unsafe {
        let value = libc::getenv(c"CUTAP_CUPTI_BUFFERS".as_ptr());
        if value.is_null() {
            return None;
        }
        libc::strtol(value, core::ptr::null_mut(), 10)
    };
    usize::try_from(number).ok().filter(|number| *number > 0)
}
