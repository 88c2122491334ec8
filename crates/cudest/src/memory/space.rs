//! An address space of a GPU. RM makes its page tables (mode A), or the unified memory driver does (mode B).

use crate::base::error::{Error, Result};
use crate::kernel_driver::client::{Client, Handle, or_no_memory};
use crate::kernel_driver::facts;
use crate::kernel_driver::link::Link;
use crate::memory::reserve::{LARGE_PAGE, Reservation};
use crate::memory::uvm::Uvm;
use std::sync::Arc;
use std::sync::atomic::Ordering;

const VIRTUAL_MEMORY: u32 = 0x50a0;
const SPACE: u32 = 0x90f1;

/// Who makes the page tables of a context's address space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// The resource manager, on the GPU's own device node: mode A.
    Rm,
    /// The unified memory driver, `/dev/nvidia-uvm`, as for libcuda: mode B. A context costs 0.1 to 0.2 s more.
    Uvm,
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Rm => "page tables by the resource manager (mode A)",
            Self::Uvm => "page tables by the unified memory driver (mode B)",
        })
    }
}

/// The size of a mapping's pages. The unified memory driver chooses it alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Page {
    /// 2 MiB.
    Large,
    /// As the driver chooses; addresses at 64 KiB or 2 MiB.
    Any,
    /// 4 KiB.
    Small,
}

/// What a mapping consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mapped {
    /// RM's object for the addresses.
    Range(Handle),
    /// A range of the unified memory driver.
    External { address: u64, length: u64 },
}

/// An address space.
#[derive(Debug)]
pub(crate) struct Space {
    uvm: Option<Uvm>,
    pub handle: Handle,
    pub link: Arc<Link>,
}

impl Space {
    pub fn new(link: &Arc<Link>, mode: Mode) -> Result<Arc<Self>> {
        // EXTERNALLY_OWNED and ENABLE_PAGE_FAULTING, as libcuda has them.
        const EXTERNAL: u64 = 0x48;
        let client = &link.client;
        let flags = if mode == Mode::Uvm { EXTERNAL } else { 0 };
        let mut params = client.filled("NV_VASPACE_ALLOCATION_PARAMETERS", &[("flags", flags)])?;
        let handle = client.create(link.device, SPACE, Some(&mut params), "an address space")?;
        let uvm = match mode {
            Mode::Rm => None,
            Mode::Uvm => Some(Uvm::new(link, handle, facts::uuid(link)?)?),
        };
        Ok(Arc::new(Self { uvm, handle, link: Arc::clone(link) }))
    }

    pub fn mode(&self) -> Mode {
        if self.uvm.is_some() { Mode::Uvm } else { Mode::Rm }
    }

    /// Addresses of the process for memory of the GPU. None: RM chooses an address below 2^40. `unified` memory may be
    /// anywhere, and has one address for both.
    pub fn reserve(&self, size: u64, unified: bool) -> Result<Option<Reservation>> {
        match (unified, &self.uvm) {
            (true, _) => Reservation::new(size, LARGE_PAGE).map(Some),
            (false, Some(_)) => Reservation::low(size, LARGE_PAGE).map(Some),
            (false, None) => Ok(None),
        }
    }

    /// Maps a part of a memory, and gives the address. The unified memory driver needs `at`.
    pub fn map(&self, memory: Handle, offset: u64, size: u64, at: Option<u64>, page: Page) -> Result<(Mapped, u64)> {
        let (client, device) = (&self.link.client, self.link.device);
        if let Some(uvm) = &self.uvm {
            let address = at.ok_or(Error::Unsupported("a mapping without an address in mode B"))?;
            let mapped = uvm.map(&self.link, memory, offset, address, size);
            or_no_memory(mapped, "GPU page tables", size)?;
            return Ok((Mapped::External { address, length: size }, address));
        }
        let range = or_no_memory(range(client, device, self.handle, size, at, page), "GPU addresses", size)?;
        match client.map_dma(device, range, memory, offset, size) {
            Ok(address) => Ok((Mapped::Range(range), address)),
            Err(error) => {
                let _ = client.free(device, range);
                or_no_memory(Err(error), "GPU page tables", size)
            }
        }
    }

    /// Ends a mapping. When the whole client goes, there is nothing to do.
    pub fn unmap(&self, mapped: Mapped) {
        if self.link.closing.load(Ordering::Acquire) {
            return;
        }
        match (mapped, &self.uvm) {
            (Mapped::Range(range), _) => {
                let _ = self.link.client.free(self.link.device, range);
            }
            (Mapped::External { address, length }, Some(uvm)) => uvm.unmap(&self.link, address, length),
            (Mapped::External { .. }, None) => {}
        }
    }

    /// Frees a memory, after its mappings.
    pub fn free(&self, memory: Handle) {
        if !self.link.closing.load(Ordering::Acquire) {
            let _ = self.link.client.free(self.link.device, memory);
        }
    }

    /// A new channel, before it is scheduled.
    pub fn register_channel(&self, channel: Handle, is_copy: bool) -> Result<()> {
        self.uvm.as_ref().map_or(Ok(()), |uvm| uvm.register_channel(&self.link, channel, is_copy))
    }
}

/// GPU addresses without memory; at a given place, or where RM chooses.
fn range(client: &Client, device: Handle, space: Handle, size: u64, at: Option<u64>, page: Page) -> Result<Handle> {
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
