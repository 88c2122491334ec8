//! A STACK record: a piece of the stack that a call was made on. The first piece has the caller's registers; all of
//! them together hold the bytes from its stack pointer upwards, in order, without a gap.
//!
//! Word 1: number of the piece, number of all pieces << 16, [`WITH_REGISTERS`]. Then the registers, if they are there,
//! and one piece of [`Fragments`]. One whose fragment holds less than it means is the last: no more could be read.

use crate::words::{Fragments, word};

/// In word 1: the registers of the caller follow.
pub const WITH_REGISTERS: u64 = 1 << 32;
/// In word 1: no piece of the stack follows, but the Python frames of the thread ([`crate::python`]).
pub const PYTHON: u64 = 1 << 33;
/// In word 1, with [`PYTHON`]: there are more frames, further out.
pub const MORE_FRAMES: u64 = 1 << 34;
/// In word 1, with [`PYTHON`]: before the frames is a word about the node of autograd that the thread runs
/// ([`crate::python::Node`]).
pub const WITH_NODE: u64 = 1 << 35;
/// Registers of the caller when it made the call: rip (the return address), rsp (after the return), rbp, rbx, r12, r13,
/// r14, r15.
pub const REGISTERS: usize = 8;

/// A STACK record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackPiece<'a> {
    /// Which call.
    pub number: u32,
    /// When.
    pub ticks: u64,
    /// Place of this piece, from 0.
    pub piece: u16,
    /// Pieces in all.
    pub pieces: u16,
    /// The caller's registers: see [`REGISTERS`]. In the first piece.
    pub registers: Option<[u64; REGISTERS]>,
    /// What lies on the stack.
    pub memory: Fragments<'a>,
}

impl<'a> StackPiece<'a> {
    /// From a record's bytes.
    pub(crate) fn decode(number: u32, ticks: u64, body: &'a [u8]) -> Option<StackPiece<'a>> {
        let about = word(body, 1)?;
        let (mut registers, mut from) = (None, 16);
        if about & WITH_REGISTERS != 0 {
            let mut all = [0; REGISTERS];
            for (n, to) in all.iter_mut().enumerate() {
                *to = word(body, 2 + n)?;
            }
            registers = Some(all);
            from += REGISTERS * 8;
        }
        let memory = Fragments::new(body.get(from..).unwrap_or(&[]));
        Some(StackPiece { number, ticks, piece: about as u16, pieces: (about >> 16) as u16, registers, memory })
    }
}

#[cfg(test)]
mod tests {
    use crate::python::{Frame, Node};
    use crate::record::{COMMITTED, Cursor, Record, Step};
    use crate::ring::CHUNK_HEADER;

    /// Python frames of the call before the last one.
    #[test]
    fn frames_of_python() {
        let words = [
            0x0000_0007_0000_0000 | 1 << 13 | 4 << 5 | COMMITTED | 9, // kind 9, 4 words, one call back, 7 ticks
            1 << 34 | 1 << 33 | 1 << 16,                              // of Python, and there are more
            0x0000_000c_0000_0003,                                    // 12 bytes into code 3
            0x8000_0002_0000_0001,                                    // 2 bytes into code 1, called by C code
        ];
        let mut bytes = [0u8; CHUNK_HEADER + 4 * 8];
        for (to, word) in bytes[CHUNK_HEADER..].chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&u64::to_le_bytes(word));
        }
        let mut cursor = Cursor::new(0, 5);
        let Step::Record(Record::Python(found)) = cursor.step(&bytes, bytes.len(), false) else { panic!() };
        assert_eq!((found.number, found.has_more), (3, true));
        let mut frames = found.words.iter().map(Frame::of);
        let one = |code, offset, last| Some(Frame { code, offset, is_last_of_evaluation: last });
        assert_eq!([frames.next(), frames.next(), frames.next()], [one(3, 12, false), one(1, 2, true), None]);
        assert_eq!(found.node, None);
    }

    /// A thread that runs a node of autograd.
    #[test]
    fn a_node() {
        let words = [
            0x0000_0007_0000_0000 | 4 << 5 | COMMITTED | 9,
            1 << 35 | 1 << 33 | 1 << 16,
            3 << 40 | 2 << 20 | 1, // type 3, the pass began at stack 2, it was made at stack 1
            0x8000_0002_0000_0001,
        ];
        let mut bytes = [0u8; CHUNK_HEADER + 4 * 8];
        for (to, word) in bytes[CHUNK_HEADER..].chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&u64::to_le_bytes(word));
        }
        let mut cursor = Cursor::new(0, 5);
        let Step::Record(Record::Python(found)) = cursor.step(&bytes, bytes.len(), false) else { panic!() };
        assert_eq!(found.node, Some(Node { made_at: 1, began_at: 2, of_type: 3 }));
        assert_eq!(found.node.map(Node::pack), Some(words[2]));
        assert_eq!(found.words.iter().count(), 1);
    }

    /// The bytes of a first piece, word by word as in docs/reference/file-format.md, in a chunk with one known call.
    #[test]
    fn its_bytes() {
        let words = [
            0x0000_0007_0000_0000 | 14 << 5 | COMMITTED | 9, // kind 9, 14 words, no call back, 7 ticks
            1 << 32 | 3 << 16,                               // piece 0 of 3, with registers
            0x401000,
            0x7ffe_0000,
            6,
            3,
            12,
            13,
            14,
            15, // rip, rsp, rbp, rbx, r12 to r15
            0x7ffe_0000,
            12 | 16 << 32, // a fragment: address, 12 bytes of 16
            0x1111_1111_1111_1111,
            0x2222_2222,
        ];
        let mut bytes = [0u8; CHUNK_HEADER + 14 * 8];
        for (to, word) in bytes[CHUNK_HEADER..].chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&u64::to_le_bytes(word));
        }
        let mut cursor = Cursor::new(0, 5);
        let Step::Record(Record::Stack(found)) = cursor.step(&bytes, bytes.len(), false) else { panic!() };
        assert_eq!((found.number, found.ticks, found.piece, found.pieces), (4, 7, 0, 3));
        assert_eq!(found.registers, Some([0x401000, 0x7ffe_0000, 6, 3, 12, 13, 14, 15]));
        let piece = found.memory.into_iter().next().unwrap();
        assert_eq!((piece.address, piece.full_length, piece.bytes.len()), (0x7ffe_0000, 16, 12));
    }
}
