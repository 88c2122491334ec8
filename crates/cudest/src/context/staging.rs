//! Pinned memory in pieces, for copies of pageable memory. It is small, so that it stays in the CPU's caches.

use crate::base::error::{Error, Result};
use crate::context::context_memory::Memory;
use crate::context::shared::Shared;
use crate::submission::fence::Fence;
use std::sync::Arc;

/// Pieces of pinned memory, and the bytes of each.
pub(crate) const PIECE_COUNT: usize = 4;
pub(crate) const PIECE_BYTES: usize = 512 << 10;

/// A stream's pinned memory. Made at its first use.
#[derive(Debug, Default)]
pub(crate) struct Staging {
    memory: Option<Memory>,
    /// The copy that reads or writes each piece.
    users: [Option<Fence>; PIECE_COUNT],
}

impl Staging {
    /// A piece that no copy uses: its offset.
    pub fn piece(&mut self, n: usize, shared: &Arc<Shared>) -> Result<(&Memory, u64)> {
        let n = n % PIECE_COUNT;
        if let Some(fence) = self.users.get_mut(n).and_then(Option::take) {
            shared.wait(fence, None)?;
        }
        if self.memory.is_none() {
            self.memory = Some(Memory::pinned(shared, (PIECE_COUNT * PIECE_BYTES) as u64)?);
        }
        let memory =
            self.memory.as_ref().ok_or(Error::NoMemory { memory_kind: "pinned memory", bytes: PIECE_BYTES as u64 })?;
        Ok((memory, (n * PIECE_BYTES) as u64))
    }

    pub fn used(&mut self, n: usize, fence: Fence) {
        if let Some(user) = self.users.get_mut(n % PIECE_COUNT) {
            *user = Some(fence);
        }
    }
}
