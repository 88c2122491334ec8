//! The Python frames that a call was made from, as a STACK record has them: one word a frame, the innermost first.
//!
//! | bits | meaning |
//! | --- | --- |
//! | 0..32 | number of the code object (`names::kind::PYTHON_CODE`), 0: it has none |
//! | 32..63 | bytes from the start of the code to the instruction |
//! | 63 | [`LAST_OF_EVALUATION`] |

use crate::words::Words;

/// Of a frame: C code called the interpreter for it. The frames before it, back to the one before them with this bit,
/// are in one C function of the interpreter.
pub const LAST_OF_EVALUATION: u64 = 1 << 63;
/// The largest offset of an instruction; larger ones are written as this.
pub const MOST_OFFSET: u64 = (1 << 31) - 1;
/// Frames of a call at most. Those further out are left out.
pub const MOST_FRAMES: usize = 128;

/// Packs a frame.
#[inline(always)]
pub const fn frame(code: u32, offset: u64) -> u64 {
    let offset = if offset > MOST_OFFSET { MOST_OFFSET } else { offset };
    code as u64 | offset << 32
}

/// A frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Number of the code object, 0: it has none.
    pub code: u32,
    /// Bytes from the start of the code to the instruction.
    pub offset: u32,
    /// See [`LAST_OF_EVALUATION`].
    pub is_last_of_evaluation: bool,
}

impl Frame {
    /// Unpacks one.
    pub fn of(word: u64) -> Frame {
        let offset = (word >> 32 & MOST_OFFSET) as u32;
        Frame { code: word as u32, offset, is_last_of_evaluation: word & LAST_OF_EVALUATION != 0 }
    }
}

/// The frames of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PythonFrames<'a> {
    /// Which call.
    pub number: u32,
    /// There are more, further out.
    pub has_more: bool,
    /// The thread runs a node of autograd.
    pub node: Option<Node>,
    /// One word each.
    pub words: Words<'a>,
}

/// A node of PyTorch's autograd that a thread runs. 0 is unknown.
///
/// | bits | meaning |
/// | --- | --- |
/// | 0..20 | `made_at` |
/// | 20..40 | `began_at` |
/// | 40..60 | `of_type` |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Node {
    /// Number of the stack that made the node (`names::kind::PYTHON_STACK`): the forward pass.
    pub made_at: u32,
    /// Number of the stack that began the backward pass.
    pub began_at: u32,
    /// Number of the node's type (`names::kind::NODE_TYPE`).
    pub of_type: u32,
}

impl Node {
    const BITS: u32 = 20;
    /// The largest number.
    pub const MOST: u32 = (1 << Node::BITS) - 1;

    /// In a word.
    #[inline(always)]
    pub const fn pack(self) -> u64 {
        self.made_at as u64 | (self.began_at as u64) << Node::BITS | (self.of_type as u64) << (2 * Node::BITS)
    }

    /// From a word.
    #[inline(always)]
    pub const fn of(word: u64) -> Node {
        let made_at = word as u32 & Node::MOST;
        let began_at = (word >> Node::BITS) as u32 & Node::MOST;
        Node { made_at, began_at, of_type: (word >> (2 * Node::BITS)) as u32 & Node::MOST }
    }
}

/// How the lines of a code object are written (`names::kind::PYTHON_CODE`).
pub mod line_table {
    /// Pairs of bytes: instructions and lines to go on (3.9 and older).
    pub const PAIRS: u8 = 1;
    /// The same where a pair says how far its line reaches (3.10).
    pub const RANGES: u8 = 2;
    /// Entries with columns (3.11 and newer).
    pub const LOCATIONS: u8 = 3;
}

/// What a PYTHON_CODE name says of its texts in `c`: bytes of the file name, bytes of each of its characters, bytes of
/// each character of the function's name.
pub const fn texts(file_bytes: u16, file_width: u8, name_width: u8) -> u64 {
    file_bytes as u64 | (file_width as u64) << 16 | (name_width as u64) << 24
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_in_a_word() {
        let word = frame(7, 12) | LAST_OF_EVALUATION;
        assert_eq!(word, 0x8000_000c_0000_0007);
        assert_eq!(Frame::of(word), Frame { code: 7, offset: 12, is_last_of_evaluation: true });
        assert_eq!(Frame::of(frame(1, u64::MAX)).offset, 0x7fff_ffff);
    }
}
