//! GPUs of the machine, and contexts on them.

use crate::base::error::{Error, Result};
use crate::context::context_memory::Memory;
use crate::context::shared::{Options, Shared};
use crate::kernel_driver::chip::Chip;
use crate::kernel_driver::facts::{self, Facts};
use crate::kernel_driver::link::{Card, FixedFacts, Link};
use crate::kernel_driver::nodes::{Kernel, Linux};
use crate::machine::host::{HostFence, HostTimeline};
use crate::machine::vmm::{Addresses, Backing, Mapping};
use crate::memory::space::Mode;
use crate::streams::event::{Event, Stamps};
use crate::streams::module::Module;
use crate::streams::stream::Stream;
use crate::submission::fence::Fence;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Instant;

/// A GPU.
///
/// ```no_run
/// # fn main() -> cutap_cudest::Result<()> {
/// let gpu = cutap_cudest::Gpu::new(0);
/// let facts = gpu.facts()?;
/// println!("{} with {} SMs", facts.name, facts.sms());
/// let context = gpu.context()?;
/// println!("page tables: {}", context.mode());
/// # Ok(()) }
/// ```
pub struct Gpu {
    kernel: Arc<dyn Kernel>,
    index: usize,
    /// What was read of it before.
    fixed_facts: Option<(Card, FixedFacts)>,
}

impl std::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Gpu({})", self.index)
    }
}

impl Gpu {
    /// A GPU by its place in the driver's list. Nothing is opened yet.
    #[must_use]
    pub fn new(index: usize) -> Self {
        Self::with_kernel(Arc::new(Linux), index)
    }

    /// As [`new`](Gpu::new), through another way to the kernel driver.
    #[must_use]
    pub fn with_kernel(kernel: Arc<dyn Kernel>, index: usize) -> Self {
        Self { kernel, index, fixed_facts: None }
    }

    /// The same GPU with its facts. A context does not ask for them again.
    #[must_use]
    pub fn with_facts(self, facts: &Facts) -> Self {
        Self { fixed_facts: Some((facts.card.clone(), facts.fixed_facts.clone())), ..self }
    }

    /// What the kernel driver says of it. No channel is made.
    ///
    /// # Errors
    /// A query is refused.
    pub fn facts(&self) -> Result<Facts> {
        facts::read(&Link::open(&self.kernel, self.index)?)
    }

    /// A context with ordinary options.
    ///
    /// # Errors
    /// The GPU is of an unsupported kind, or the driver refuses.
    pub fn context(&self) -> Result<Context> {
        self.context_with(Options::default())
    }

    /// A context.
    ///
    /// # Errors
    /// As [`context`](Gpu::context).
    pub fn context_with(&self, options: Options) -> Result<Context> {
        let link = Arc::new(match &self.fixed_facts {
            Some((card, known)) => Link::to_card(&self.kernel, card, known)?,
            None => Link::open(&self.kernel, self.index)?,
        });
        let chip = chip(&link)?;
        let shared = Arc::new(Shared::new(link, chip, options)?);
        Ok(Context { shared, stamps: Arc::new(Stamps::default()) })
    }
}

/// The chip, by the classes that it has.
fn chip(link: &Link) -> Result<&'static Chip> {
    let has = facts::classes(link)?;
    let name = || facts::name(link);
    match Chip::of(&has) {
        Some(chip) if chip.has_run => Ok(chip),
        Some(chip) => Err(Error::UntestedGpu { name: name()?, chip: chip.name, sm: chip.sm }),
        None => {
            let classes: Vec<String> = has.iter().map(|class| format!("{class:#x}")).collect();
            Err(Error::UnsupportedGpu { name: name()?, classes: classes.join(" ") })
        }
    }
}

/// An address space of a GPU, with everything in it. It lives as long as any of its objects.
///
/// ```no_run
/// use cutap_cudest::{Gpu, Shape};
/// # fn main() -> cutap_cudest::Result<()> {
/// # let cubin: Vec<u8> = Vec::new();
/// let context = Gpu::new(0).context()?;
/// let module = context.load(&cubin)?;
/// let kernel = module.kernel("double_all")?;
/// let memory = context.video(4096)?;
/// let stream = context.stream()?;
/// let parameters = memory.address().to_le_bytes();
/// // SAFETY: the kernel accesses 1024 words of `memory` and nothing else.
/// unsafe {
///     stream.upload(&memory, 0, &[1; 4096])?;
///     stream.launch(&kernel, &Shape::linear(4, 256), &parameters)?;
///     let mut result = [0; 4096];
///     stream.download(&memory, 0, &mut result)?;
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Context {
    shared: Arc<Shared>,
    stamps: Arc<Stamps>,
}

impl Context {
    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Video memory. Small pieces share an allocation.
    ///
    /// # Errors
    /// There is not enough.
    pub fn video(&self, bytes: u64) -> Result<Memory> {
        Memory::video(&self.shared, bytes)
    }

    /// Pinned memory of the machine, at one address for CPU and GPU.
    ///
    /// # Errors
    /// There is not enough.
    pub fn pinned(&self, bytes: u64) -> Result<Memory> {
        Memory::pinned(&self.shared, bytes)
    }

    /// The program's own memory, for the GPU too.
    ///
    /// # Errors
    /// The driver refuses: the pages are not ordinary memory of the process.
    ///
    /// # Safety
    /// The pages stay mapped until the result is dropped, and its last work has ended.
    pub unsafe fn register(&self, start: NonNull<u8>, bytes: u64) -> Result<Memory> {
        Memory::register(&self.shared, start, bytes)
    }

    /// Addresses without memory.
    ///
    /// # Errors
    /// The process has no such range left.
    pub fn reserve(&self, bytes: u64) -> Result<Addresses> {
        Addresses::new(&self.shared, bytes)
    }

    /// Video memory without an address.
    ///
    /// # Errors
    /// There is not enough.
    pub fn backing(&self, bytes: u64) -> Result<Backing> {
        Backing::new(&self.shared, bytes)
    }

    /// Maps `bytes` of memory, from `from` on, at addresses that the program has reserved. All are multiples of 2 MiB.
    ///
    /// # Errors
    /// A number is no such multiple or too large, or the GPU has other memory there.
    ///
    /// # Safety
    /// The process keeps nothing else at these addresses until the mapping has ended.
    pub unsafe fn map_at(&self, address: u64, memory: &Backing, from: u64, bytes: u64) -> Result<Mapping> {
        Mapping::at(&self.shared, address, memory, from, bytes)
    }

    /// Loads a cubin, a fat binary or PTX. NVIDIA's `ptxas` compiles PTX, from `CUTAP_PTXAS`, `PATH` or
    /// `/usr/local/cuda/bin`, or else its library nvJitLink.
    ///
    /// # Errors
    /// It is none of them, is damaged, has no code for this GPU, or there is no compiler.
    pub fn load(&self, code: &[u8]) -> Result<Module> {
        Module::load(&self.shared, code)
    }

    /// A stream.
    ///
    /// # Errors
    /// The driver refuses a further channel.
    pub fn stream(&self) -> Result<Stream> {
        Stream::new(&self.shared)
    }

    /// An event.
    ///
    /// # Errors
    /// There is no memory for its time.
    pub fn event(&self) -> Result<Event> {
        Event::new(&self.shared, &self.stamps)
    }

    /// Whether a fence is reached.
    ///
    /// # Errors
    /// The context has ended before.
    pub fn reached(&self, fence: Fence) -> Result<bool> {
        self.shared.reached(fence)
    }

    /// Waits for a fence; without `until` as long as it takes.
    ///
    /// # Errors
    /// [`Error::Timeout`], or the context has ended.
    pub fn wait(&self, fence: Fence, until: Option<Instant>) -> Result<()> {
        self.shared.wait(fence, until)
    }

    /// Waits for all work of the context.
    ///
    /// # Errors
    /// The context has ended.
    pub fn synchronize(&self) -> Result<()> {
        self.shared.idle()
    }

    /// An error if the context has ended, with the Xid.
    ///
    /// # Errors
    /// [`Error::Lost`] or [`Error::Forked`].
    pub fn check(&self) -> Result<()> {
        self.shared.check()
    }

    /// Who makes the page tables of this context.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.shared.space.mode()
    }

    /// Why the resource manager refused to make them, where the unified memory driver took its place.
    #[must_use]
    pub fn refusal(&self) -> Option<&Error> {
        self.shared.refusal.as_ref()
    }

    /// The ioctls that this context has made.
    #[must_use]
    pub fn ioctls(&self) -> u64 {
        self.shared.link.client.ioctls()
    }

    /// A point that host code reaches: see [`HostFence`]. They share timelines, so any number may follow each other.
    ///
    /// # Errors
    /// There are too many that are not signalled.
    pub fn host_fence(&self) -> Result<HostFence> {
        HostFence::new(&self.shared)
    }

    /// Points that host code reaches in order: see [`HostTimeline`].
    ///
    /// # Errors
    /// There are too many timelines.
    pub fn host_timeline(&self) -> Result<HostTimeline> {
        HostTimeline::new(&self.shared)
    }
}
