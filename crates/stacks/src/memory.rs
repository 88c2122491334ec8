//! A stack as it was copied: registers, and pieces of memory in the order of their addresses.

use crate::Registers;

/// A stack that was copied and not unwound.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Raw {
    /// The caller's registers.
    pub registers: Registers,
    start: u64,
    bytes: Vec<u8>,
}

/// A copied stack is no longer than this, whatever a damaged recording says.
const MOST: usize = 1 << 20;

impl Raw {
    /// A stack of which nothing but its registers is known yet.
    pub fn new(registers: Registers) -> Raw {
        Raw { registers, start: registers[1], bytes: Vec::new() }
    }

    /// The piece that lies behind what is there. One that does not, because one in between was lost, is left out.
    pub fn add(&mut self, address: u64, bytes: &[u8]) {
        let end = self.start.wrapping_add(self.bytes.len() as u64);
        if address == end && self.bytes.len() + bytes.len() <= MOST {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Bytes that were copied.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// So many bytes at an address, as a number.
    pub(crate) fn read(&self, address: u64, bytes: usize) -> Option<u64> {
        let at = usize::try_from(address.checked_sub(self.start)?).ok()?;
        let from = self.bytes.get(at..at.checked_add(bytes)?)?;
        let mut word = [0; 8];
        word.get_mut(..bytes)?.copy_from_slice(from);
        Some(u64::from_le_bytes(word))
    }
}
