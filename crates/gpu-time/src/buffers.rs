//! Buffers for CUPTI. Those that come back are kept for the next request.

use core::sync::atomic::{AtomicPtr, Ordering};

/// Bytes of a buffer.
pub const BYTES: usize = 1 << 20;
/// Buffers that are kept.
const SPARE: usize = 16;

static SPARES: [AtomicPtr<u8>; SPARE] = [const { AtomicPtr::new(core::ptr::null_mut()) }; SPARE];

/// A buffer, or NULL if there is no memory.
pub fn take() -> *mut u8 {
    let spare = SPARES.iter().map(|spare| spare.swap(core::ptr::null_mut(), Ordering::AcqRel)).find(|p| !p.is_null());
    spare.unwrap_or_else(|| {
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new memory.
        let memory = unsafe { libc::mmap(core::ptr::null_mut(), BYTES, access, flags, -1, 0) };
        if memory == libc::MAP_FAILED { core::ptr::null_mut() } else { memory.cast() }
    })
}

/// Gives a buffer back.
///
/// # Safety
/// It came from [`take`], and is not used any more.
pub unsafe fn give_back(buffer: *mut u8) {
    let empty = core::ptr::null_mut();
    let is_kept =
        |spare: &AtomicPtr<u8>| spare.compare_exchange(empty, buffer, Ordering::AcqRel, Ordering::Acquire).is_ok();
    if !SPARES.iter().any(is_kept) {
        // SAFETY: as promised, a buffer of `take`, which has so many bytes.
        unsafe { libc::munmap(buffer.cast(), BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_used_again() {
        let first = take();
        assert!(!first.is_null());
        // SAFETY: it came from `take`.
        unsafe { give_back(first) };
        assert_eq!(take(), first);
    }
}
