//! Writes memory records: pieces of what an open call leads to, beside the fragments of its own records. The layers
//! `kernel` and `submit` keep them.

use crate::start;
use crate::thread::block::ThreadState;
use crate::thread::record;
use cutap_wire::diagnostic;
use cutap_wire::memory::{HEAD, about};
use cutap_wire::record::kind;

/// The call whose pieces are written.
pub struct Pieces<'a> {
    pub b: &'a mut ThreadState,
    /// Stack address that tells this frame from those of other calls.
    pub at: usize,
    pub number: u32,
}

impl Pieces<'_> {
    /// A record with room for `len` of `meant` bytes. `fill` writes at most `len` bytes and returns their number, which
    /// this returns too.
    pub fn write(
        &mut self,
        what: u8,
        address: u64,
        len: usize,
        meant: usize,
        fill: impl FnOnce(*mut u8) -> usize,
    ) -> usize {
        let words = HEAD + len.div_ceil(8);
        // SAFETY: the record has that many words; no byte of them is left as it was before.
        let done = record::about_with(self.b, self.at, kind::MEMORY, self.number, words as u32, |to| unsafe {
            if words > HEAD {
                to.word(words - 1, 0);
            }
            let kept = fill(to.at.add(HEAD).cast());
            for n in HEAD + kept.div_ceil(8)..words {
                to.word(n, 0);
            }
            to.word(1, address);
            to.word(2, about(what, kept, meant));
            kept
        });
        if done.is_none() {
            start::count(diagnostic::MEMORY_NOT_KEPT, 1);
        }
        done.unwrap_or(0)
    }

    /// A record of values of ours.
    pub fn own<T: Copy>(&mut self, what: u8, address: u64, values: &[T]) {
        let len = size_of_val(values);
        self.write(what, address, len, len, |to| {
            // SAFETY: as many bytes as the record has room for.
            unsafe { core::ptr::copy_nonoverlapping(values.as_ptr().cast(), to, len) };
            len
        });
    }
}
