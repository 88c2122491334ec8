//! A MEMORY record: a piece of what an open call leads to, beside the fragments of its own records. The layer `syscall`
//! writes them: the bytes of an ioctl's argument are many. All pieces of a call stand between its beginning and its
//! end.
//!
//! Word 1: an address. Word 2: how many bytes are meant, [`piece_kind`] << 32, bytes that are here << 40. Then the
//! bytes.

use crate::words::word;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What a piece is.
pub mod piece_kind {
    /// Memory before the call.
    pub const BEFORE: u8 = 0;
    /// The same after it.
    pub const AFTER: u8 = 1;
    /// A text: the file that the descriptor in the place of the address leads to.
    pub const FILE: u8 = 2;
    /// No bytes: the address is the errno that a failed call left.
    pub const ERRNO: u8 = 3;
    /// No bytes: the call was answered by `--deny` or `--fail`, and did not reach the kernel. The address is the
    /// status.
    pub const ANSWERED: u8 = 4;
    /// Of a submission: new entries of the ring; the address is the GPU's.
    pub const ENTRIES: u8 = 5;
    /// The same: commands that an entry leads to.
    pub const COMMANDS: u8 = 6;
    /// The same: a launch descriptor that lies in memory.
    pub const DESCRIPTOR: u8 = 7;
    /// The same: the class of each of the eight subchannels before the first command, four bytes each.
    pub const CLASSES: u8 = 8;
}

/// Words of the record before the bytes.
pub const HEAD: usize = 3;
/// Bytes of one piece at most: one word is left for the number of a call that is far back.
pub const MOST: usize = (crate::words::MAX_WORDS as usize - HEAD - 1) * 8;

/// The second word.
pub const fn about(kind: u8, captured: usize, full_length: usize) -> u64 {
    let full_length = if full_length > u32::MAX as usize { u32::MAX as usize } else { full_length };
    full_length as u64 | (kind as u64) << 32 | (captured as u64) << 40
}

/// A piece that is about to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewPiece {
    /// One of [`piece_kind`].
    pub kind: u8,
    /// Where the bytes are.
    pub address: u64,
    /// Bytes that the record has room for.
    pub room: usize,
    /// How many bytes are meant from there on.
    pub full_length: usize,
}

impl NewPiece {
    /// Words of its record.
    pub const fn words(&self) -> usize {
        HEAD + self.room.div_ceil(8)
    }

    /// Writes it behind the first word of the record at `to`. `fill` writes at most `room` bytes and returns their
    /// number; this returns it too. No byte of the record keeps its old value.
    ///
    /// # Safety
    /// So many words are reserved.
    pub unsafe fn write(&self, to: *const AtomicU64, fill: impl FnOnce(*mut u8) -> usize) -> usize {
        let words = self.words();
        // SAFETY: the caller's promise: `n` is less than `words`.
        let put = |n: usize, word: u64| unsafe { (*to.add(n)).store(word, Relaxed) };
        if words > HEAD {
            put(words - 1, 0);
        }
        // SAFETY: the caller's promise.
        let captured = fill(unsafe { to.add(HEAD) }.cast_mut().cast());
        for n in HEAD + captured.div_ceil(8)..words {
            put(n, 0);
        }
        put(1, self.address);
        put(2, about(self.kind, captured, self.full_length));
        captured
    }
}

/// A MEMORY record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryPiece<'a> {
    /// Which call.
    pub number: u32,
    /// One of [`piece_kind`].
    pub kind: u8,
    /// Where the bytes are.
    pub address: u64,
    /// How many bytes are meant from there on.
    pub full_length: u32,
    /// Those that could be read.
    pub bytes: &'a [u8],
}

impl<'a> MemoryPiece<'a> {
    /// From a record's bytes.
    pub(crate) fn decode(number: u32, body: &'a [u8]) -> Option<MemoryPiece<'a>> {
        let (address, about) = (word(body, 1)?, word(body, 2)?);
        let bytes = body.get(HEAD * 8..)?.get(..(about >> 40) as usize)?;
        Some(MemoryPiece { number, kind: (about >> 32) as u8, address, full_length: about as u32, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{COMMITTED, Cursor, Record, Step};
    use crate::ring::CHUNK_HEADER;

    /// What is written is what is read; words behind the kept bytes are 0, whatever was there.
    #[test]
    fn written_and_read() {
        let piece = NewPiece { kind: piece_kind::AFTER, address: 0x7ffe_0000, room: 20, full_length: 30 };
        let record: Vec<AtomicU64> = (0..piece.words()).map(|_| AtomicU64::new(u64::MAX)).collect();
        // SAFETY: the record has the words of the piece, and 12 bytes are within its room.
        let kept = unsafe {
            piece.write(record.as_ptr(), |bytes| {
                std::ptr::write_bytes(bytes, 0x11, 12);
                12
            })
        };
        let mut body = Vec::new();
        record.iter().for_each(|word| body.extend(word.load(Relaxed).to_le_bytes()));
        let found = MemoryPiece::decode(4, &body).unwrap();
        assert_eq!((kept, found.kind, found.address, found.full_length), (12, piece_kind::AFTER, 0x7ffe_0000, 30));
        assert_eq!(found.bytes, [0x11; 12]);
        assert_eq!(&record[5..].iter().map(|word| word.load(Relaxed)).collect::<Vec<_>>(), &[0]);
    }

    /// The bytes of a piece, word by word as docs/reference/file-format.md has them.
    #[test]
    fn its_bytes() {
        let words = [
            0x0000_0007_0000_0000 | 5 << 5 | COMMITTED | 11, // kind 11, 5 words, no call back, 7 ticks
            0x7ffe_0000,
            20 | 1 << 32 | 12 << 40, // 12 of 20 bytes, after the call
            0x1111_1111_1111_1111,
            0x2222_2222,
        ];
        assert_eq!(words[2], about(piece_kind::AFTER, 12, 20));
        let mut bytes = [0u8; CHUNK_HEADER + 5 * 8];
        for (to, word) in bytes[CHUNK_HEADER..].chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&u64::to_le_bytes(word));
        }
        let mut cursor = Cursor::new(0, 5);
        let Step::Record(Record::Memory(found)) = cursor.step(&bytes, bytes.len(), false) else { panic!() };
        assert_eq!(
            (found.number, found.kind, found.address, found.full_length),
            (4, piece_kind::AFTER, 0x7ffe_0000, 20)
        );
        assert_eq!(found.bytes, [0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x22, 0x22, 0x22, 0x22]);
    }
}
