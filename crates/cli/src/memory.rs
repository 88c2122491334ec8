//! The allocator of this program. Reading allocates and frees small objects for each call, on two threads. With the C
//! library's allocator that is a quarter of the time.

use libmimalloc_sys::{mi_free, mi_malloc, mi_malloc_aligned, mi_realloc, mi_realloc_aligned, mi_zalloc_aligned};
use std::alloc::{GlobalAlloc, Layout};

/// mimalloc, without asking it to align what it aligns anyway.
pub struct Memory;

/// mimalloc aligns all memory like this.
const ALIGNED: usize = 8;

// SAFETY: mimalloc keeps the contract of an allocator, and aligns by eight bytes where it is not asked.
unsafe impl GlobalAlloc for Memory {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: any size and any power of two is allowed.
        unsafe {
            match layout.align() {
                ..=ALIGNED => mi_malloc(layout.size()).cast(),
                align => mi_malloc_aligned(layout.size(), align).cast(),
            }
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe { mi_zalloc_aligned(layout.size(), layout.align()).cast() }
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, _: Layout) {
        // SAFETY: it is memory of this allocator, as the caller says.
        unsafe { mi_free(memory.cast()) }
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        unsafe {
            match layout.align() {
                ..=ALIGNED => mi_realloc(memory.cast(), size).cast(),
                align => mi_realloc_aligned(memory.cast(), size, align).cast(),
            }
        }
    }
}
