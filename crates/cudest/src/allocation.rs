//! One piece of memory with its GPU address, and its CPU address where it has one. Three or four ioctls each: the pools
//! above cut it into smaller pieces.

use crate::client::{Client, Handle, Set, or_no_memory};
use crate::error::{Error, Result};
use crate::kernel::Node;
use crate::link::Link;
use crate::reserve::{LARGE_PAGE, Reservation};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

const LOCAL_MEMORY: u32 = 0x40;
const SYSTEM_MEMORY: u32 = 0x3e;
const VIRTUAL_MEMORY: u32 = 0x50a0;

/// What memory, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    pub place: Place,
    pub size: u64,
    /// Whether the CPU reaches it too. System memory always has a CPU address.
    pub visible: bool,
    /// GPU address equal to a reserved CPU address. Otherwise RM chooses a low one, which fits 40 bits.
    pub unified: bool,
}

/// Where memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Video,
    System,
}

/// The size of a mapping's pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Page {
    /// 2 MiB.
    Large,
    /// As the driver chooses; addresses at 64 KiB or 2 MiB.
    Any,
    /// 4 KiB.
    Small,
}

/// Memory of a GPU's address space. Dropping it frees it: after the GPU has finished with it.
#[derive(Debug)]
pub(crate) struct Allocation {
    link: Arc<Link>,
    memory: Handle,
    range: Handle,
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
    pub fn new(link: &Arc<Link>, space: Handle, request: Request) -> Result<Self> {
        let Request { place, size, .. } = request;
        let large = place == Place::Video;
        let align = if large { LARGE_PAGE } else { 1 << 16 };
        let what = if large { "video memory" } else { "pinned memory" };
        let no_memory = || Error::NoMemory { what, bytes: size };
        let size = size.max(1).checked_next_multiple_of(align).filter(|size| *size < 1 << 47).ok_or_else(no_memory)?;
        let reserved = request.unified.then(|| Reservation::new(size, LARGE_PAGE)).transpose()?;
        let memory = or_no_memory(allocate(&link.client, link.device, place, size), what, size)?;
        let mut new =
            Self { link: Arc::clone(link), memory, range: 0, address: 0, size, host: None, owns_host: true, reserved };
        if request.visible || place == Place::System {
            new.map_host(place)?;
        }
        new.map_gpu(space, if large { Page::Large } else { Page::Any })?;
        Ok(new)
    }

    /// Pages of the program, which must stay mapped. `start` and `length` are multiples of the page size.
    pub fn register(link: &Arc<Link>, space: Handle, start: NonNull<u8>, length: u64) -> Result<Self> {
        let address = start.as_ptr() as u64;
        link.register_node()?;
        let registered = link.client.register(&link.node, link.device, address, length);
        let memory = or_no_memory(registered, "registered memory", length)?;
        let link = Arc::clone(link);
        let host = Some(start);
        let mut new = Self { link, memory, range: 0, address: 0, size: length, host, owns_host: false, reserved: None };
        // The same address for the GPU, or any other where that one is taken.
        new.map_at(space, Some(address), Page::Small).or_else(|_| new.map_at(space, None, Page::Any))?;
        Ok(new)
    }

    pub fn memory(&self) -> Handle {
        self.memory
    }

    fn map_host(&mut self, place: Place) -> Result<()> {
        // Video memory through BAR1 is write-combined: bits 25 to 23 of NVOS33's flags.
        let (node, flags) = match place {
            Place::Video => (Node::Gpu(self.link.card.minor), 2 << 23),
            Place::System => (Node::Control, 0),
        };
        let at = self.reserved.as_ref().map(Reservation::start);
        // SAFETY: the reservation is this object's and still empty.
        let host = unsafe { self.link.client.map(node, self.link.device, self.memory, self.size, flags, at) }?;
        self.host = Some(host);
        Ok(())
    }

    fn map_gpu(&mut self, space: Handle, page: Page) -> Result<()> {
        let at = self.reserved.as_ref().map(Reservation::address);
        match self.map_at(space, at, page) {
            // The driver may have put it on small pages.
            Err(Error::Refused { .. }) if page == Page::Large => self.map_at(space, at, Page::Any),
            result => result,
        }
    }

    fn map_at(&mut self, space: Handle, at: Option<u64>, page: Page) -> Result<()> {
        let (link, size) = (&self.link, self.size);
        let client = &link.client;
        let range = or_no_memory(range(client, link.device, space, size, at, page), "GPU addresses", size)?;
        match client.map_dma(link.device, range, self.memory, 0, size) {
            Ok(address) => {
                (self.range, self.address) = (range, address);
                Ok(())
            }
            Err(error) => {
                let _ = client.free(link.device, range);
                or_no_memory(Err(error), "GPU page tables", size)
            }
        }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // With a reservation the mapping is inside it.
        if let (Some(host), true, None) = (self.host, self.owns_host, &self.reserved) {
            // SAFETY: the mapping is this object's, and its user is gone.
            unsafe { self.link.client.kernel.unmap(host, self.size as usize) };
        }
        self.reserved = None;
        if self.link.closing.load(Ordering::Acquire) {
            return;
        }
        for handle in [self.range, self.memory].into_iter().filter(|handle| *handle != 0) {
            let _ = self.link.client.free(self.link.device, handle);
        }
    }
}

/// A memory object without an address.
pub(crate) fn allocate(client: &Client, device: Handle, place: Place, size: u64) -> Result<Handle> {
    // IGNORE_BANK_PLACEMENT, MEMORY_HANDLE_PROVIDED, MAP_NOT_REQUIRED; for video memory ALIGNMENT_FORCE, PERSISTENT.
    const COMMON: u64 = 0x1 | 0x4000 | 0x8000;
    const VIDEO: u64 = 0x100 | 0x10000;
    // Attributes: physically scattered is allowed; for system memory also PCI and CPU-cached.
    const SCATTERED: u64 = 0x1800_0000;
    const SYSTEM: u64 = 0x0200_0000 | 0x0800_0000 | 0x2000_0000;
    let owner = ("owner", u64::from(client.root));
    let (class, fields): (u32, Vec<Set<'_>>) = match place {
        Place::Video => (
            LOCAL_MEMORY,
            vec![owner, ("flags", COMMON | VIDEO), ("attr", SCATTERED), ("size", size), ("alignment", LARGE_PAGE)],
        ),
        Place::System => (SYSTEM_MEMORY, vec![owner, ("flags", COMMON), ("attr", SYSTEM), ("size", size)]),
    };
    let mut params = client.filled("NV_MEMORY_ALLOCATION_PARAMS", &fields)?;
    client.create(device, class, Some(&mut params), "memory")
}

/// GPU addresses without memory; at a given place, or where the driver chooses.
pub(crate) fn range(
    client: &Client,
    device: Handle,
    space: Handle,
    size: u64,
    at: Option<u64>,
    page: Page,
) -> Result<Handle> {
    // VIRTUAL, IGNORE_BANK_PLACEMENT, MEMORY_HANDLE_PROVIDED.
    const FLAGS: u64 = 0x80000 | 0x1 | 0x4000;
    const FIXED: u64 = 0x10;
    // LOCATION_PCI, NONCONTIGUOUS; PAGE_SIZE_HUGE of 2 MiB, or PAGE_SIZE_4KB.
    const ATTRIBUTES: u64 = 0x0200_0000 | 0x0800_0000;
    const HUGE: (u64, u64) = (0x0180_0000, 0x0010_0000);
    const SMALL: u64 = 0x0080_0000;
    // Without ALIGNMENT_FORCE the driver takes no address between two multiples of 64 KiB.
    const ALIGNMENT_FORCE: u64 = 0x100;
    let more = if page == Page::Small { ALIGNMENT_FORCE } else { 0 };
    let (attr, attr2, align) = match page {
        Page::Large => (ATTRIBUTES | HUGE.0, HUGE.1, LARGE_PAGE),
        Page::Any if size >= LARGE_PAGE => (ATTRIBUTES, 0, LARGE_PAGE),
        Page::Any => (ATTRIBUTES, 0, 1 << 16),
        Page::Small => (ATTRIBUTES | SMALL, 0, 4096),
    };
    let fields = [
        ("owner", u64::from(client.root)),
        ("flags", FLAGS | more | if at.is_some() { FIXED } else { 0 }),
        ("attr", attr),
        ("attr2", attr2),
        ("size", size),
        ("alignment", align),
        ("offset", at.unwrap_or(0)),
        ("hVASpace", space.into()),
    ];
    let mut params = client.filled("NV_MEMORY_ALLOCATION_PARAMS", &fields)?;
    client.create(device, VIRTUAL_MEMORY, Some(&mut params), "GPU addresses")
}
