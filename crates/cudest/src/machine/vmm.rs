//! Addresses and memory apart: addresses are reserved first, memory has no address, and mappings join parts of both.

use crate::base::error::{Error, Result};
use crate::context::shared::Shared;
use crate::kernel_driver::client::or_no_memory;
use crate::memory::allocation::{MemoryKind, allocate};
use crate::memory::physical::{Joined, Physical};
use crate::memory::pool::Owner;
use crate::memory::reserve::{LARGE_PAGE, Reservation};
use crate::memory::space::Page;
use std::sync::Arc;

/// Video memory without an address, in pieces of 2 MiB. It lives as long as its mappings.
#[derive(Debug, Clone)]
pub struct Backing {
    inner: Arc<Physical>,
}

/// Reserved addresses, of the process and of the GPU. They live as long as the mappings in them.
#[derive(Debug, Clone)]
pub struct Addresses {
    shared: Arc<Shared>,
    reserved: Arc<Reservation>,
    size: u64,
}

/// A part of memory at reserved addresses. Dropping it ends the mapping, after all work that was submitted until then.
#[derive(Debug)]
pub struct Mapping {
    shared: Arc<Shared>,
    joined: Option<Joined>,
    address: u64,
    size: u64,
}

impl Backing {
    pub(crate) fn new(shared: &Arc<Shared>, bytes: u64) -> Result<Self> {
        shared.check()?;
        let memory_kind = "video memory";
        let size = bytes.max(1).checked_next_multiple_of(LARGE_PAGE).filter(|size| *size < 1 << 47);
        let size = size.ok_or(Error::NoMemory { memory_kind, bytes })?;
        let (space, link) = (Arc::clone(&shared.space), &shared.link);
        let memory = or_no_memory(allocate(&link.client, link.device, MemoryKind::Video, size), memory_kind, size)?;
        Ok(Self { inner: Arc::new(Physical { space, memory, size }) })
    }

    /// Its bytes: a multiple of 2 MiB.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.inner.size
    }
}

impl Addresses {
    pub(crate) fn new(shared: &Arc<Shared>, bytes: u64) -> Result<Self> {
        let size = bytes.max(1).checked_next_multiple_of(LARGE_PAGE);
        let size = size.ok_or(Error::NoMemory { memory_kind: "addresses", bytes })?;
        let reserved = Arc::new(Reservation::new(size, LARGE_PAGE)?);
        Ok(Self { shared: Arc::clone(shared), reserved, size })
    }

    /// The first address.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.reserved.address()
    }

    /// How many: a multiple of 2 MiB.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Maps `bytes` of memory, from `memory_offset` on, at `offset` of these addresses. All are multiples of 2 MiB.
    ///
    /// # Errors
    /// A number is no such multiple or too large, or there is a mapping already.
    pub fn map(&self, offset: u64, memory: &Backing, memory_offset: u64, bytes: u64) -> Result<Mapping> {
        let fits = |offset: u64, size: u64| offset.checked_add(bytes).is_some_and(|end| end <= size);
        let whole = [offset, memory_offset, bytes].iter().all(|n| n.is_multiple_of(LARGE_PAGE));
        if bytes == 0 || !whole || !fits(offset, self.size) || !fits(memory_offset, memory.size()) {
            return Err(Error::Range(format!(
                "a mapping of {bytes} bytes from {memory_offset} at {offset}: numbers are multiples of 2 MiB, inside"
            )));
        }
        let shared = &self.shared;
        shared.check()?;
        let at = Some(self.address() + offset);
        let (mapped, address) = shared.space.map(memory.inner.memory, memory_offset, bytes, at, Page::Large)?;
        let joined = Joined::new(mapped, Arc::clone(&memory.inner), Some(Arc::clone(&self.reserved)));
        Ok(Mapping { shared: Arc::clone(shared), joined: Some(joined), address, size: bytes })
    }
}

impl Mapping {
    /// Maps a part of memory at addresses that the program has reserved.
    pub(crate) fn at(shared: &Arc<Shared>, address: u64, memory: &Backing, from: u64, bytes: u64) -> Result<Self> {
        let fits = from.checked_add(bytes).is_some_and(|end| end <= memory.size());
        let whole = [address, from, bytes].iter().all(|n| n.is_multiple_of(LARGE_PAGE));
        if bytes == 0 || !whole || !fits {
            return Err(Error::Range(format!(
                "a mapping of {bytes} bytes from {from} at {address:#x}: numbers are multiples of 2 MiB, inside"
            )));
        }
        shared.check()?;
        let (mapped, address) = shared.space.map(memory.inner.memory, from, bytes, Some(address), Page::Large)?;
        let joined = Joined::new(mapped, Arc::clone(&memory.inner), None);
        Ok(Self { shared: Arc::clone(shared), joined: Some(joined), address, size: bytes })
    }

    /// Ends it now, so that other memory can be mapped there. No work may use it any more.
    pub fn end(mut self) {
        self.joined = None;
    }

    /// Its first address.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if let Some(joined) = self.joined.take() {
            self.shared.free_after_work(Owner::Mapping(joined));
        }
    }
}
