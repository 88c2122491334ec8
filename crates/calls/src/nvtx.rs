//! Types of entries in payloads of NVTX.

use crate::generated::nvtx::ENTRY_TYPES;

/// What the bytes of an entry are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A signed number.
    Int,
    /// An unsigned number.
    Uint,
    /// A floating-point number.
    Float,
    /// A number that people read in hexadecimal.
    Hex,
    /// A character.
    Char,
    /// Characters: so many as the entry says.
    Text,
}

/// A type of an entry (NVTX_PAYLOAD_ENTRY_TYPE_*).
#[derive(Debug)]
pub struct EntryType {
    /// Its number.
    pub number: u64,
    /// What its bytes are.
    pub kind: EntryKind,
    /// How many there are, and their alignment.
    pub bytes: usize,
}

/// The type with this number.
pub fn entry_type(number: u64) -> Option<&'static EntryType> {
    ENTRY_TYPES.iter().find(|of| of.number == number)
}
