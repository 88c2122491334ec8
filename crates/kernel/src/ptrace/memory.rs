//! Memory of a stopped thread: the argument of a request, and what its pointers lead to. Each piece is kept, so that it
//! is read again after the call.

use super::sys;
use crate::Piece;
use cutap_rm::{Memory, Moment};

/// The longest path that is read.
const LONGEST_PATH: usize = 4096;

/// Reads at an address, as far as possible.
pub(super) fn bytes(tid: i32, address: u64, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    let read = sys::read(tid, address, &mut bytes);
    bytes.truncate(read);
    bytes
}

/// A text that ends with a zero byte.
pub(super) fn text(tid: i32, address: u64) -> Option<String> {
    let mut all = Vec::new();
    while all.len() < LONGEST_PATH {
        let from = address.checked_add(all.len() as u64)?;
        let page = 256 - usize::try_from(from & 255).ok()?;
        let next = bytes(tid, from, page);
        if let Some(end) = next.iter().position(|b| *b == 0) {
            all.extend_from_slice(next.get(..end)?);
            return Some(String::from_utf8_lossy(&all).into_owned());
        }
        if next.len() < page {
            return None;
        }
        all.extend(next);
    }
    None
}

/// The decoder asks for memory before the call; what it got is kept.
pub(super) struct Reader {
    pub(super) tid: i32,
    pub(super) pieces: Vec<Piece>,
}

impl Memory for Reader {
    fn read(&mut self, _: Moment, address: u64, into: &mut [u8]) -> usize {
        let read = sys::read(self.tid, address, into);
        if let Some(before) = into.get(..read).filter(|b| !b.is_empty()) {
            let known = self.pieces.iter().any(|p| p.address == address && p.before.len() >= read);
            if !known {
                self.pieces.push(Piece { address, before: before.to_vec(), after: None });
            }
        }
        read
    }
}
