//! Thunks that the program has patched in place. UCX, Detours and Frida patch the entry of a function that they looked
//! up. A call that the patch passes on comes back to the thunk and is recorded. A call that it answers itself is not
//! seen, so such functions are named. Each look-up looks at a few thunks, and the end of the process at all.
//!
//! It must never write: the patch is the program's.

use super::code::{THUNK_BYTES, code, thunk};
use super::table;
use crate::process::names;
use crate::ring::counts::THUNKS;
use crate::sys::arch::load8;
use crate::sys::readable;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use cutap_wire::diagnostic;

/// Thunks that one look-up looks at.
const A_FEW: u32 = 128;
/// Where the next look-up begins.
static NEXT: AtomicU32 = AtomicU32::new(0);
/// A bit for each thunk whose patch was listed.
static LISTED: [AtomicU64; THUNKS / 64] = [const { AtomicU64::new(0) }; THUNKS / 64];

/// At a look-up: some thunks, and that of an address which the look-up gave.
pub fn look_at_some(address: usize) {
    let count = table::count();
    let from = if count <= A_FEW { 0 } else { NEXT.fetch_add(A_FEW, Relaxed) % count };
    report_patched(from, count.min(from + A_FEW));
    if let Some(n) = table::number_of(address) {
        report_patched(n, n + 1);
    }
}

/// At the end of the process.
pub fn look_at_all() {
    report_patched(0, table::count());
}

/// Looks at the thunks from one number up to another.
fn report_patched(from: u32, to: u32) {
    const PAGE: usize = 4096;
    let mut page = 0;
    for n in from..to {
        let at = thunk(n as usize);
        // A program may have made its page one that can only be executed.
        if at / PAGE != page {
            if !readable(at) {
                return;
            }
            page = at / PAGE;
        }
        // SAFETY: a thunk; the page can be read.
        if !unsafe { is_whole(at) } && mark_listed(n) {
            names::gap_named(diagnostic::ENTRY_PATCHED, table::name_of(n));
        }
    }
}

/// Whether a thunk begins as it was built.
///
/// # Safety
/// Its page can be read. Others may be writing it.
unsafe fn is_whole(at: usize) -> bool {
    let Some(code) = code() else { return true };
    let (first, second) = code.prologue.split_at(8);
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    // SAFETY: the caller's promise.
    let [here, next_word] = unsafe { [load8(at), load8(at + 8)] };
    here == word(first) && next_word == word(second)
}

/// True once for each thunk.
fn mark_listed(n: u32) -> bool {
    let bit = 1 << (n % 64);
    LISTED
        .get(n as usize / 64)
        .is_some_and(|word| word.load(Relaxed) & bit == 0 && word.fetch_or(bit, Relaxed) & bit == 0)
}

const _: () = assert!(THUNK_BYTES >= 16 && 4096 % THUNK_BYTES == 0);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::code::CODE;
    use crate::slots::code;

    #[test]
    fn a_patch_is_noticed() {
        code::set(&CODE);
        for n in [0, 1, THUNKS - 1] {
            // SAFETY: the thunks of this program.
            assert!(unsafe { is_whole(thunk(n)) }, "{n}");
        }
        let mut copy = [0u8; 16];
        for changed in 0..16 {
            copy.copy_from_slice(&CODE.prologue);
            // SAFETY: a local buffer.
            assert!(unsafe { is_whole(copy.as_ptr() as usize) });
            copy[changed] ^= 0x80;
            // SAFETY: as above.
            assert!(!unsafe { is_whole(copy.as_ptr() as usize) }, "{changed}");
        }
        assert!(mark_listed(7) && !mark_listed(7) && mark_listed(71));
    }
}
