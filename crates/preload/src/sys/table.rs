//! Large tables at fixed addresses, of which a process uses only the beginning. The rest is read-only until it is used,
//! so that it does not count as the program's data (`RLIMIT_DATA`, VmData): a table is made read-only at start, and
//! opened in steps.
//!
//! Whoever writes a place asks `Opened::reach` first. Reading needs no question: an unused place reads as zeros.

use super::{PROT_READ, PROT_WRITE, protect};
use core::ops::Deref;
use core::sync::atomic::{AtomicUsize, Ordering::*};

/// Bytes that are opened at a time.
const STEP: usize = 256 * 1024;

/// A table on separate pages. All of them lie in one section, beside each other, so that those not in use are one
/// mapping.
#[repr(C, align(4096))]
pub struct Table<T, const N: usize>(pub [T; N]);

impl<T, const N: usize> Deref for Table<T, N> {
    type Target = [T; N];
    #[inline(always)]
    fn deref(&self) -> &[T; N] {
        &self.0
    }
}

/// How much of a table may be written: bytes at its beginning. All of one that was never closed.
pub struct Opened(AtomicUsize);

impl Opened {
    /// Of a table that is not closed yet.
    pub const fn all() -> Opened {
        Opened(AtomicUsize::new(usize::MAX))
    }

    /// Makes a table read-only that is not used yet. Where that is refused it stays open.
    pub fn close<T, const N: usize>(&self, table: &Table<T, N>) {
        let (at, bytes) = extent(table);
        // SAFETY: no place was written, and whoever writes one opens it first.
        if unsafe { protect(at, bytes, PROT_READ) } {
            self.0.store(0, Release);
        }
    }

    /// Opens a table up to a place; false when there is no such place, or the kernel refuses (a data limit, a sandbox):
    /// then it is full.
    #[inline]
    pub fn reach<T, const N: usize>(&self, table: &Table<T, N>, n: usize) -> bool {
        n < N && ((n + 1) * size_of::<T>() <= self.0.load(Acquire) || self.open(table, n))
    }

    #[cold]
    fn open<T, const N: usize>(&self, table: &Table<T, N>, n: usize) -> bool {
        let (at, bytes) = extent(table);
        let end = ((n + 1) * size_of::<T>()).next_multiple_of(STEP).min(bytes);
        // SAFETY: pages of a table of ours, which only gain rights. Two threads may do the same.
        let opened = unsafe { protect(at, end, PROT_READ | PROT_WRITE) };
        if opened {
            self.0.fetch_max(end, AcqRel);
        }
        opened
    }
}

/// Where a table lies.
fn extent<T, const N: usize>(table: &Table<T, N>) -> (usize, usize) {
    (core::ptr::from_ref(table) as usize, size_of::<Table<T, N>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::AtomicU64;

    #[test]
    fn a_table_is_opened_as_far_as_it_is_reached() {
        const N: usize = 3 * STEP / 8 - 5;
        static TABLE: Table<AtomicU64, N> = Table([const { AtomicU64::new(0) }; N]);
        static OPENED: Opened = Opened::all();
        assert!(OPENED.reach(&TABLE, N - 1) && !OPENED.reach(&TABLE, N), "one that was never closed is open");
        OPENED.close(&TABLE);
        assert!(TABLE.iter().all(|place| place.load(Relaxed) == 0), "what is closed can be read");
        for (n, open) in [(0, STEP), (STEP / 8 - 1, STEP), (STEP / 8, 2 * STEP), (N - 1, size_of_val(&TABLE))] {
            assert!(OPENED.reach(&TABLE, n));
            assert_eq!(OPENED.0.load(Relaxed), open, "{n}");
            TABLE[n].store(1, Relaxed);
        }
        assert!(!OPENED.reach(&TABLE, N));
    }
}
