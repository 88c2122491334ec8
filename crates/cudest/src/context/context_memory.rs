//! Memory of a context: video memory, pinned memory of the system, and the program's own pages.

use crate::base::error::{Error, Result};
use crate::context::shared::Shared;
use crate::memory::allocation::{Allocation, MemoryKind, Request};
use crate::memory::pool::Owner;
use std::ptr::NonNull;
use std::sync::Arc;

/// Where [`Memory`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// In the GPU's own memory. The CPU reaches it by copies.
    Video,
    /// In the machine's memory, for CPU and GPU at one address.
    Pinned,
    /// Pages of the program.
    Registered,
}

/// Memory with an address of the GPU. Dropping it frees it after all work that was submitted until then.
///
/// ```no_run
/// # fn main() -> cutap_cudest::Result<()> {
/// let context = cutap_cudest::Gpu::new(0).context()?;
/// let (pinned, video) = (context.pinned(4096)?, context.video(4096)?);
/// let stream = context.stream()?;
/// let mut result = [0; 4];
/// // SAFETY: the stream orders the fill and the copy, and the CPU waits for them.
/// unsafe {
///     stream.fill(video.address(), 7, 4, 1024)?;
///     stream.copy_memory(&pinned, 0, &video, 0, 4096)?;
///     stream.synchronize()?;
///     pinned.read(0, &mut result)?;
/// }
/// assert_eq!(u32::from_le_bytes(result), 7);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Memory {
    shared: Arc<Shared>,
    owner: Option<Owner>,
    kind: Kind,
    address: u64,
    size: u64,
    host: Option<NonNull<u8>>,
}

// SAFETY: it owns its memory, and gives out raw addresses only.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    pub(crate) fn video(shared: &Arc<Shared>, size: u64) -> Result<Self> {
        let (owner, address) = shared.pool.take(size, |request| shared.allocate(request))?;
        Ok(Self { shared: Arc::clone(shared), owner: Some(owner), kind: Kind::Video, address, size, host: None })
    }

    pub(crate) fn pinned(shared: &Arc<Shared>, size: u64) -> Result<Self> {
        let memory = shared.allocate(Request { place: MemoryKind::System, size, visible: true, unified: true })?;
        Ok(Self::whole(shared, memory, Kind::Pinned, size))
    }

    /// Video memory that the CPU reaches too, through BAR1: for code and constants.
    pub(crate) fn visible(shared: &Arc<Shared>, size: u64) -> Result<Self> {
        let memory = shared.allocate(Request { place: MemoryKind::Video, size, visible: true, unified: true })?;
        Ok(Self::whole(shared, memory, Kind::Video, size))
    }

    pub(crate) fn register(shared: &Arc<Shared>, start: NonNull<u8>, length: u64) -> Result<Self> {
        const PAGE: u64 = 4096;
        let first = start.as_ptr() as u64;
        let skip = first % PAGE;
        let whole = skip.checked_add(length).and_then(|length| length.checked_next_multiple_of(PAGE));
        let whole = whole.filter(|_| length > 0).ok_or_else(|| Error::Range(format!("{length} bytes to register")))?;
        // SAFETY: the address stays in the page of `start`.
        let page = unsafe { start.sub(skip as usize) };
        let memory = shared.register(page, whole)?;
        let mut new = Self::whole(shared, memory, Kind::Registered, length);
        new.address += skip;
        new.host = Some(start);
        Ok(new)
    }

    fn whole(shared: &Arc<Shared>, memory: Allocation, kind: Kind, size: u64) -> Self {
        let (address, host) = (memory.address, memory.host);
        Self { shared: Arc::clone(shared), owner: Some(Owner::Whole(memory)), kind, address, size, host }
    }

    /// The GPU's address. Of pinned memory it is the CPU's too.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Where it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The CPU's address, if it has one. The GPU may write there at any time until its work has ended, so this is a raw
    /// pointer and never a reference.
    #[must_use]
    pub fn host(&self) -> Option<NonNull<u8>> {
        self.host
    }

    /// Copies bytes into it, by the CPU.
    ///
    /// # Errors
    /// The CPU does not reach it, or the bytes do not fit.
    ///
    /// # Safety
    /// No work of the GPU uses these bytes at the same time.
    pub unsafe fn write(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let to = self.host_at(offset, bytes.len())?;
        // SAFETY: the range was checked, and the caller says that it is unused.
        unsafe { to.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(())
    }

    /// Copies bytes out of it, by the CPU.
    ///
    /// # Errors
    /// The CPU does not reach it, or it has fewer bytes.
    ///
    /// # Safety
    /// No work of the GPU writes these bytes at the same time.
    pub unsafe fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let from = self.host_at(offset, bytes.len())?;
        // SAFETY: the range was checked, and the caller says that it is not written.
        unsafe { from.as_ptr().copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    fn host_at(&self, offset: u64, length: usize) -> Result<NonNull<u8>> {
        self.check(offset, length as u64)?;
        let host = self.host.ok_or(Error::Unsupported("access by the CPU to video memory without a copy"))?;
        // SAFETY: the offset was checked.
        Ok(unsafe { host.add(offset as usize) })
    }

    /// Whether a range is inside; its GPU address.
    pub(crate) fn check(&self, offset: u64, length: u64) -> Result<u64> {
        let end = offset.checked_add(length).filter(|end| *end <= self.size);
        end.map(|_| self.address + offset).ok_or_else(|| {
            Error::Range(format!("{length} bytes at {offset} are outside of a memory of {} bytes", self.size))
        })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(owner) = self.owner.take() {
            self.shared.free_after_work(owner);
        }
    }
}
