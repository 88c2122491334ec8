//! The MEMORY records of one call, put together: what was kept of a call of the layers `syscall` and `submit` beside
//! its words. `cutap_rm` knows what the bytes mean.

use cutap_wire::memory::{MOST as PIECE, MemoryPiece, piece_kind};
use std::sync::Arc;

/// A piece of memory, before or after the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedMemory {
    /// Where.
    pub address: u64,
    /// Whether it was read after the call.
    pub after: bool,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A piece of what a call of the layer `submit` found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    /// One of `cutap_wire::memory::what`.
    pub kind: u8,
    /// The GPU's address.
    pub address: u64,
    /// How many bytes are meant.
    pub full_length: u32,
    /// Those that could be read.
    pub bytes: Vec<u8>,
}

/// All that is known of a call of the layer `syscall` beside its words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pieces {
    /// The file that its descriptor leads to.
    pub file: Option<String>,
    /// What a failed call left in errno.
    pub errno: Option<i32>,
    /// It was answered by `--deny` or `--fail`, with this status.
    pub answered: Option<u32>,
    /// Version of the kernel driver.
    pub driver: Option<String>,
    /// The library that made the call.
    pub caller: Option<Arc<str>>,
    /// Memory, in the order in which it was read.
    pub memory: Vec<CapturedMemory>,
    /// What a call of the layer `submit` found, in the order in which it was read.
    pub submitted: Vec<Submitted>,
}

/// Bytes that are put together for one call at most; a recording that was tampered with could name more.
const MOST: usize = 1 << 20;

impl Pieces {
    /// Takes a record.
    pub(crate) fn take(&mut self, piece: &MemoryPiece<'_>) {
        let after = match piece.kind {
            piece_kind::BEFORE => false,
            piece_kind::AFTER => true,
            piece_kind::FILE => return self.file = Some(String::from_utf8_lossy(piece.bytes).into_owned()),
            piece_kind::ERRNO => return self.errno = i32::try_from(piece.address).ok(),
            piece_kind::ANSWERED => return self.answered = Some(piece.address as u32),
            piece_kind::ENTRIES | piece_kind::COMMANDS | piece_kind::DESCRIPTOR | piece_kind::CLASSES => {
                return self.submission(piece);
            }
            _ => return,
        };
        if self.memory.iter().map(|p| p.bytes.len()).sum::<usize>() + piece.bytes.len() > MOST {
            return;
        }
        // One that is longer than a record goes on in the next; another may begin where it ends.
        let goes_on = |last: &CapturedMemory| last.bytes.len().is_multiple_of(PIECE) && last.after == after;
        match self.memory.last_mut() {
            Some(last) if goes_on(last) && last.address.wrapping_add(last.bytes.len() as u64) == piece.address => {
                last.bytes.extend_from_slice(piece.bytes);
            }
            _ => self.memory.push(CapturedMemory { address: piece.address, after, bytes: piece.bytes.to_vec() }),
        }
    }

    fn submission(&mut self, piece: &MemoryPiece<'_>) {
        let MemoryPiece { kind, address, full_length, bytes, .. } = *piece;
        if self.submitted.iter().map(|p| p.bytes.len()).sum::<usize>() + bytes.len() > MOST {
            return;
        }
        // Commands of one entry that are longer than a record continue in the next.
        let end = |last: &Submitted| last.address.wrapping_add(last.bytes.len() as u64);
        match self.submitted.last_mut() {
            Some(last)
                if kind == piece_kind::COMMANDS
                    && last.kind == kind
                    && end(last) == address
                    && last.full_length.checked_sub(last.bytes.len() as u32) == Some(full_length) =>
            {
                last.bytes.extend_from_slice(bytes);
            }
            _ => self.submitted.push(Submitted { kind, address, full_length, bytes: bytes.to_vec() }),
        }
    }

    /// The bytes from an address on.
    fn at(&self, after: bool, address: u64) -> Option<&[u8]> {
        self.memory.iter().filter(|p| p.after == after).find_map(|p| {
            let skip = usize::try_from(address.checked_sub(p.address)?).ok()?;
            p.bytes.get(skip..).filter(|b| !b.is_empty())
        })
    }

    /// The bytes from an address on, `len` of them at most.
    #[must_use]
    pub fn before(&self, address: u64, len: usize) -> Option<Vec<u8>> {
        self.at(false, address).map(|bytes| bytes.get(..len.min(bytes.len())).unwrap_or_default().to_vec())
    }

    /// The same as they were after the call. What was not read then is as it was before: where the driver wrote a
    /// smaller count less was read.
    #[must_use]
    pub fn after(&self, address: u64, len: usize) -> Option<Vec<u8>> {
        let bytes = self.at(true, address)?;
        let mut after = bytes.get(..len.min(bytes.len())).unwrap_or_default().to_vec();
        if let Some(rest) = self.before(address, len).as_ref().and_then(|b| b.get(after.len()..)) {
            after.extend_from_slice(rest);
        }
        Some(after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(kind: u8, address: u64, bytes: &[u8]) -> MemoryPiece<'_> {
        MemoryPiece { number: 0, kind, address, full_length: bytes.len() as u32, bytes }
    }

    #[test]
    fn pieces_are_joined_and_read() {
        let (mut pieces, long) = (Pieces::default(), vec![7; PIECE]);
        pieces.take(&piece(piece_kind::FILE, 9, b"/dev/nvidiactl"));
        pieces.take(&piece(piece_kind::BEFORE, 100, &[1, 2, 3, 4]));
        pieces.take(&piece(piece_kind::BEFORE, 104, &[5, 6]));
        pieces.take(&piece(piece_kind::AFTER, 100, &[9, 9]));
        pieces.take(&piece(piece_kind::ERRNO, 22, &[]));
        pieces.take(&piece(piece_kind::BEFORE, 5000, &long));
        pieces.take(&piece(piece_kind::BEFORE, 5000 + PIECE as u64, &[8]));
        assert_eq!((pieces.file.as_deref(), pieces.errno), (Some("/dev/nvidiactl"), Some(22)));
        assert_eq!(pieces.memory.iter().map(|p| p.bytes.len()).collect::<Vec<_>>(), [4, 2, 2, PIECE + 1]);
        assert_eq!(pieces.before(102, 8), Some(vec![3, 4]));
        assert_eq!(pieces.before(104, 8), Some(vec![5, 6]));
        assert_eq!(pieces.after(100, 5), Some(vec![9, 9, 3, 4]));
        assert_eq!(pieces.after(104, 2), None);
    }
}
