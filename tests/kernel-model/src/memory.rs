//! The memory of a process that makes requests.

use std::collections::BTreeMap;

/// Where the first piece is placed: like a stack.
const FIRST: u64 = 0x7ffe_0000_0000;

/// Memory that the driver reads and writes.
pub trait Memory {
    /// The bytes at an address; none where so many are not there.
    fn read(&self, at: u64, len: usize) -> Option<Vec<u8>>;
    /// Writes bytes; false where so many are not there.
    fn write(&mut self, at: u64, new: &[u8]) -> bool;
}

/// The memory of a pretended process: pieces by their address.
#[derive(Debug, Default)]
pub struct Pieces {
    pieces: BTreeMap<u64, Vec<u8>>,
}

impl Pieces {
    /// Places bytes, and gives their address.
    pub fn place(&mut self, bytes: &[u8]) -> u64 {
        let end = self.pieces.last_key_value().map_or(FIRST, |(at, bytes)| at + bytes.len() as u64);
        let at = end.next_multiple_of(0x1000);
        self.place_at(at, bytes);
        at
    }

    /// Places bytes at an address.
    pub fn place_at(&mut self, at: u64, bytes: &[u8]) {
        self.pieces.insert(at, bytes.to_vec());
    }
}

impl Memory for Pieces {
    fn read(&self, at: u64, len: usize) -> Option<Vec<u8>> {
        let (from, bytes) = self.pieces.range(..=at).next_back()?;
        let skip = usize::try_from(at - from).ok()?;
        Some(bytes.get(skip..)?.get(..len)?.to_vec())
    }

    fn write(&mut self, at: u64, new: &[u8]) -> bool {
        let Some((from, bytes)) = self.pieces.range_mut(..=at).next_back() else { return false };
        let skip = usize::try_from(at - from).unwrap_or(usize::MAX);
        let place = bytes.get_mut(skip..).and_then(|b| b.get_mut(..new.len()));
        place.map(|to| to.copy_from_slice(new)).is_some()
    }
}
