//! The argument of a request, and what its pointers lead to. Each piece is kept, so that it is read again after the
//! call.

use crate::Piece;
use cutap_ptrace::memory::Remote;
use cutap_rm::{Memory, Moment};

/// The decoder asks for memory before the call; what it got is kept.
pub(super) struct Reader<'a> {
    pub(super) remote: &'a Remote,
    pub(super) pieces: Vec<Piece>,
}

impl Memory for Reader<'_> {
    fn read(&mut self, _: Moment, address: u64, into: &mut [u8]) -> usize {
        let read = self.remote.read(address, into);
        if let Some(before) = into.get(..read).filter(|b| !b.is_empty()) {
            let is_captured = self.pieces.iter().any(|p| p.address == address && p.before.len() >= read);
            if !is_captured {
                self.pieces.push(Piece { address, before: before.to_vec(), after: None });
            }
        }
        read
    }
}
