//! The first bytes of a recording: that it is one, and of which version.

use crate::block::{u32_at, u64_at};

/// First word of the file: "CUTAPREC" in little endian.
pub const MAGIC: u64 = u64::from_le_bytes(*b"CUTAPREC");
/// Version of the bytes described in this crate. A change of any layout raises it.
///
/// Version 2 added Zstandard.
///
/// Version 3 holds files of a run directory of a new version. No older file can be read.
pub const VERSION: u32 = 3;

/// What the file says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Version of the blocks; [`VERSION`] when we write it.
    pub version: u32,
    /// Version of the run directory's files whose bytes the blocks hold.
    pub wire: u32,
}

impl Head {
    /// Its size in the file.
    pub const BYTES: usize = 24;

    /// Whether this crate reads the version.
    pub fn is_known(&self) -> bool {
        self.version == VERSION
    }

    /// Its bytes.
    pub fn bytes(&self) -> [u8; Head::BYTES] {
        let mut bytes = [0; Head::BYTES];
        bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.version.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.wire.to_le_bytes());
        let sum = crc32fast::hash(&bytes[..20]);
        bytes[20..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads it. Of another version all but the two numbers may differ, so that only those that
    /// are read are checked to the last byte; `None` when it is none.
    pub fn parse(bytes: &[u8]) -> Option<Head> {
        if u64_at(bytes, 0)? != MAGIC {
            return None;
        }
        let head = Head { version: u32_at(bytes, 8)?, wire: u32_at(bytes, 12)? };
        let whole = bytes.len() >= Head::BYTES && u32_at(bytes, 20)? == crc32fast::hash(&bytes[..20]);
        (whole || !head.is_known()).then_some(head)
    }
}
