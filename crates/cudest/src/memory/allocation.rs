//! One piece of memory with its GPU address, and its CPU address where it has one. Three or four ioctls each: the pools
//! above cut it into smaller pieces.

use crate::base::error::{Error, Result};
use crate::kernel_driver::client::{Client, Handle, Set, or_no_memory};
use crate::kernel_driver::nodes::Node;
use crate::memory::reserve::{LARGE_PAGE, Reservation};
use crate::memory::space::{Mapped, Mode, Page, Space};
use std::ptr::NonNull;
use std::sync::Arc;

const LOCAL_MEMORY: u32 = 0x40;
const SYSTEM_MEMORY: u32 = 0x3e;

/// What memory, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    pub place: MemoryKind,
    pub size: u64,
    /// Whether the CPU reaches it too. System memory always has a CPU address.
    pub visible: bool,
    /// GPU address equal to a reserved CPU address. Otherwise RM chooses a low one, which fits 40 bits.
    pub unified: bool,
}

/// Where memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemoryKind {
    Video,
    System,
}

/// Memory of a GPU's address space. Dropping it frees it: after the GPU has finished with it.
#[derive(Debug)]
pub(crate) struct Allocation {
    space: Arc<Space>,
    memory: Handle,
    mapped: Option<Mapped>,
    /// The GPU's address.
    pub address: u64,
    pub size: u64,
    /// The CPU's address.
    pub host: Option<NonNull<u8>>,
    /// Registered pages are the program's.
    owns_host: bool,
    reserved: Option<Reservation>,
}

// SAFETY: the pointer is to memory that this owns, and nothing in it belongs to a thread.
unsafe impl Send for Allocation {}
// SAFETY: shared access gives out addresses only.
unsafe impl Sync for Allocation {}

impl Allocation {
    pub fn new(space: &Arc<Space>, request: Request) -> Result<Self> {
        let Request { place, size, .. } = request;
        let large = place == MemoryKind::Video;
        let align = if large { LARGE_PAGE } else { 1 << 16 };
        let memory_kind = if large { "video memory" } else { "pinned memory" };
        let no_memory = || Error::NoMemory { memory_kind, bytes: size };
        let size = size.max(1).checked_next_multiple_of(align).filter(|size| *size < 1 << 47).ok_or_else(no_memory)?;
        let reserved = space.reserve(size, request.unified)?;
        let link = &space.link;
        let memory = or_no_memory(allocate(&link.client, link.device, place, size), memory_kind, size)?;
        let mut new = Self::unmapped(space, memory, size);
        new.reserved = reserved;
        if request.visible || place == MemoryKind::System {
            new.map_host(place)?;
        }
        new.map_gpu(if large { Page::Large } else { Page::Any })?;
        Ok(new)
    }

    fn unmapped(space: &Arc<Space>, memory: Handle, size: u64) -> Self {
        let space = Arc::clone(space);
        Self { space, memory, mapped: None, address: 0, size, host: None, owns_host: true, reserved: None }
    }

    /// Pages of the program, which must stay mapped. `start` and `length` are multiples of the page size.
    pub fn register(space: &Arc<Space>, start: NonNull<u8>, length: u64) -> Result<Self> {
        let address = start.as_ptr() as u64;
        let link = &space.link;
        link.register_node()?;
        let registered = link.client.register(&link.node, link.device, address, length);
        let memory = or_no_memory(registered, "registered memory", length)?;
        let mut new = Self::unmapped(space, memory, length);
        (new.host, new.owns_host) = (Some(start), false);
        // The same address for the GPU, or any other where that one is taken.
        if new.map_at(Some(address), Page::Small).is_err() {
            if space.mode() == Mode::Uvm {
                new.reserved = Some(Reservation::new(length, LARGE_PAGE)?);
            }
            new.map_at(new.reserved.as_ref().map(Reservation::address), Page::Any)?;
        }
        Ok(new)
    }

    pub fn memory(&self) -> Handle {
        self.memory
    }

    fn map_host(&mut self, place: MemoryKind) -> Result<()> {
        let link = &self.space.link;
        // Video memory through BAR1 is write-combined: bits 25 to 23 of NVOS33's flags.
        let (node, flags) = match place {
            MemoryKind::Video => (Node::Gpu(link.card.minor), 2 << 23),
            MemoryKind::System => (Node::Control, 0),
        };
        let at = self.reserved.as_ref().map(Reservation::start);
        // SAFETY: the reservation is this object's and still empty.
        let host = unsafe { link.client.map(node, link.device, self.memory, self.size, flags, at) }?;
        self.host = Some(host);
        Ok(())
    }

    fn map_gpu(&mut self, page: Page) -> Result<()> {
        let at = self.reserved.as_ref().map(Reservation::address);
        match self.map_at(at, page) {
            // The driver may have put it on small pages.
            Err(Error::Refused { .. }) if page == Page::Large && self.space.mode() == Mode::Rm => {
                self.map_at(at, Page::Any)
            }
            result => result,
        }
    }

    fn map_at(&mut self, at: Option<u64>, page: Page) -> Result<()> {
        let (mapped, address) = self.space.map(self.memory, 0, self.size, at, page)?;
        (self.mapped, self.address) = (Some(mapped), address);
        Ok(())
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if let Some(mapped) = self.mapped {
            self.space.unmap(mapped);
        }
        // With a reservation the mapping is inside it.
        if let (Some(host), true, None) = (self.host, self.owns_host, &self.reserved) {
            // SAFETY: the mapping is this object's, and its user is gone.
            unsafe { self.space.link.client.kernel.unmap(host, self.size as usize) };
        }
        self.reserved = None;
        self.space.free(self.memory);
    }
}

/// A memory object without an address.
pub(crate) fn allocate(client: &Client, device: Handle, place: MemoryKind, size: u64) -> Result<Handle> {
    // IGNORE_BANK_PLACEMENT, MEMORY_HANDLE_PROVIDED, MAP_NOT_REQUIRED; for video memory ALIGNMENT_FORCE, PERSISTENT.
    const COMMON: u64 = 0x1 | 0x4000 | 0x8000;
    const VIDEO: u64 = 0x100 | 0x10000;
    // Attributes: physically scattered is allowed; for system memory also PCI and CPU-cached.
    const SCATTERED: u64 = 0x1800_0000;
    const SYSTEM: u64 = 0x0200_0000 | 0x0800_0000 | 0x2000_0000;
    let owner = ("owner", u64::from(client.root));
    let (class, fields): (u32, Vec<Set<'_>>) = match place {
        MemoryKind::Video => (
            LOCAL_MEMORY,
            vec![owner, ("flags", COMMON | VIDEO), ("attr", SCATTERED), ("size", size), ("alignment", LARGE_PAGE)],
        ),
        MemoryKind::System => (SYSTEM_MEMORY, vec![owner, ("flags", COMMON), ("attr", SYSTEM), ("size", size)]),
    };
    let mut params = client.filled("NV_MEMORY_ALLOCATION_PARAMS", &fields)?;
    client.create(device, class, Some(&mut params), "memory")
}
