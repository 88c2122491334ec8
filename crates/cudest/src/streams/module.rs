//! Modules and kernels: a cubin in GPU memory, and what a launch of each kernel needs.

use crate::base::error::{Error, Result};
use crate::context::code_map::CodeMap;
use crate::context::context_memory::Memory;
use crate::context::shared::Shared;
use crate::cubin::fatbin::{self, Code};
use crate::cubin::{Entry, Layout, Parameter, Symbols};
use crate::encode::bank::{self, HEADER, LOCAL_OVERHEAD, SYSTEM_SHARED};
use crate::encode::qmd::{Dim3, Program, Qmd};
use crate::streams::ptx;
use crate::submission::lane::Launch;
use cutap_cubin::Cubin;
use std::any::Any;
use std::sync::{Arc, Weak};

/// Limits of a block and a grid, of compute capability 9.0.
const MOST_THREADS: u64 = 1024;
const BLOCK: Dim3 = (1024, 1024, 64);
const GRID: Dim3 = (0x7fff_ffff, 0xffff, 0xffff);
/// Registers of an SM, given out in units of 256 to a warp.
const REGISTERS: u64 = 65536;
/// Blocks of a cluster. More than 8 are not portable.
const MOST_IN_CLUSTER: u32 = 16;
/// The least stack, once a kernel uses one: called functions need some too.
const LEAST_STACK: u32 = 1024;

/// A cubin in the memory of a GPU.
///
/// ```no_run
/// # fn main() -> cutap_cudest::Result<()> {
/// # let cubin: Vec<u8> = Vec::new();
/// let context = cutap_cudest::Gpu::new(0).context()?;
/// let module = context.load(&cubin)?;
/// for name in module.kernels() {
///     println!("{name}: {:?}", module.kernel(name)?.parameters());
/// }
/// let (address, bytes) = module.variable("counter")?;
/// println!("{bytes} bytes at {address:#x}");
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Module {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    symbols: Symbols,
    missing: Vec<String>,
    layout: Layout,
    memory: Memory,
    shared: Arc<Shared>,
}

/// A kernel of a module, ready to be launched. It keeps its module.
///
/// ```no_run
/// # fn main() -> cutap_cudest::Result<()> {
/// # let cubin: Vec<u8> = Vec::new();
/// # let context = cutap_cudest::Gpu::new(0).context()?;
/// let kernel = context.load(&cubin)?.kernel("scale")?;
/// // Each parameter at its offset: an address and a number.
/// let memory = context.video(4096)?;
/// let mut parameters = vec![0; kernel.entry().parameters_size];
/// parameters[..8].copy_from_slice(&memory.address().to_le_bytes());
/// parameters[8..12].copy_from_slice(&3_u32.to_le_bytes());
/// let stream = context.stream()?;
/// let shape = cutap_cudest::Shape { grid: (8, 2, 1), block: (32, 4, 1), shared: 1024 };
/// // SAFETY: the kernel accesses 4096 bytes of `memory` and nothing else.
/// let fence = unsafe { stream.launch(&kernel, &shape, &parameters)? };
/// context.wait(fence, None)?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Kernel {
    module: Arc<Inner>,
    entry: Entry,
    qmd: Qmd,
    /// Bytes a thread of local memory.
    local: u32,
    /// The address of its first instruction.
    code: u64,
    /// Its constant banks besides bank 0, with their addresses.
    banks: Vec<(usize, u64)>,
}

/// The shape of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Blocks.
    pub grid: (u32, u32, u32),
    /// Threads of a block.
    pub block: (u32, u32, u32),
    /// Bytes of dynamic shared memory of a block.
    pub shared: u32,
}

impl Shape {
    /// Blocks and threads in one dimension.
    #[must_use]
    pub fn linear(blocks: u32, threads: u32) -> Self {
        Self { grid: (blocks, 1, 1), block: (threads, 1, 1), shared: 0 }
    }
}

/// What else a launch may ask for. Without any it is an ordinary launch.
///
/// CUDA's programmatic attributes need nothing here: kernels of one stream run one after the other, so a kernel that
/// waits for the one before finds it ended. Priorities and scheduling policies are advice, which this driver ignores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LaunchAttributes {
    /// The sides of a cluster, in blocks. None: those that the kernel was compiled with, if any.
    pub cluster: Option<(u32, u32, u32)>,
    /// All blocks run together, so that the grid can synchronize.
    pub cooperative: bool,
}

impl CodeMap for Inner {
    fn kernel_at(&self, address: u64) -> Option<String> {
        let offset = address.checked_sub(self.memory.address())?;
        let has_address =
            |entry: &&Entry| self.layout.code_range(entry).is_some_and(|(at, size)| (at..at + size).contains(&offset));
        self.symbols.kernels.values().find(has_address).map(|entry| entry.name.clone())
    }

    fn missing_at(&self, address: u64) -> Option<String> {
        let offset = address.checked_sub(self.memory.address())?;
        self.missing.get(self.layout.missing_at(offset)?).cloned()
    }

    fn missing(&self) -> &[String] {
        &self.missing
    }

    fn instruction_at(&self, address: u64) -> Option<u64> {
        let offset = address.checked_sub(self.memory.address())?;
        let mut word = [0; 8];
        // SAFETY: code is written when it is loaded, and then no more.
        unsafe { self.memory.read(offset, &mut word) }.ok()?;
        Some(u64::from_le_bytes(word))
    }
}

impl Module {
    /// A cubin, a fat binary, or PTX.
    pub(crate) fn load(shared: &Arc<Shared>, code: &[u8]) -> Result<Self> {
        let gpu = shared.chip.sm;
        let code = if fatbin::is_fatbin(code) {
            fatbin::choose(code, gpu)?
        } else if ptx::is_ptx(code) {
            Code::Ptx(code.into())
        } else {
            Code::Cubin(code.into())
        };
        match code {
            Code::Cubin(cubin) => Self::load_cubin(shared, &cubin),
            Code::Ptx(text) => Self::load_cubin(shared, &ptx::compile(&text, gpu)?),
        }
    }

    fn load_cubin(shared: &Arc<Shared>, cubin: &[u8]) -> Result<Self> {
        let mut cubin = Cubin::parse(cubin)?;
        let relocations = cubin.relocations()?;
        let gpu = shared.chip.sm;
        // A cubin runs on its own architecture, and on later ones of the same generation.
        let generation = |sm: u32| sm / 10;
        if generation(cubin.architecture) != generation(gpu) || cubin.architecture > gpu {
            return Err(Error::WrongArchitecture { cubin: cubin.architecture, gpu });
        }
        let layout = Layout::of(&cubin, relocations.missing.len())?;
        let memory = Memory::visible(shared, layout.size)?;
        let image = layout.image(&cubin, &relocations, memory.address())?;
        let host = memory.host().ok_or(Error::Unsupported("code that the CPU cannot write"))?;
        // SAFETY: the memory is new, so no work uses it, and it has `layout.size` bytes, of which the image is a part.
        unsafe {
            memory.write(0, &image)?;
            // Variables without initial values begin as zero.
            let rest = (layout.size as usize).saturating_sub(image.len());
            host.as_ptr().add(image.len()).write_bytes(0, rest);
        }
        crate::submission::channel::store_fence();
        shared.code_changed();
        let symbols = Symbols::of(cubin.kernels, cubin.variables);
        let inner = Inner { symbols, missing: relocations.missing, layout, memory, shared: Arc::clone(shared) };
        let inner = Arc::new(inner);
        let map: Weak<Inner> = Arc::downgrade(&inner);
        shared.code_maps.add(map);
        Ok(Self { inner })
    }

    /// A reference that does not keep it.
    pub(crate) fn downgrade(&self) -> Weak<dyn Any + Send + Sync> {
        let weak: Weak<Inner> = Arc::downgrade(&self.inner);
        weak
    }

    /// A module of such a reference, while others keep it.
    pub(crate) fn upgrade(weak: &Weak<dyn Any + Send + Sync>) -> Option<Self> {
        Some(Self { inner: weak.upgrade()?.downcast().ok()? })
    }

    /// The names of its kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.inner.symbols.kernels.keys().map(String::as_str)
    }

    /// Functions that its kernels call and that libcuda would supply. A call ends the kernel with an error.
    #[must_use]
    pub fn missing(&self) -> &[String] {
        &self.inner.missing
    }

    /// A kernel by its name in the cubin.
    ///
    /// # Errors
    /// There is none of this name, or it needs something that this driver does not have.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        let Inner { symbols, layout, memory, shared, .. } = &*self.inner;
        let chip = shared.chip;
        let entry = symbols.kernels.get(name).cloned();
        let mut entry = entry.ok_or_else(|| no_symbol("kernel", name, symbols.kernels.keys()))?;
        if entry.textures {
            return Err(Error::Unsupported("a kernel with a texture or surface reference"));
        }
        if entry.parameters_at > HEADER {
            return Err(Error::BadCubin(format!("parameters at {:#x} of constant bank 0", entry.parameters_at)));
        }
        if entry.parameters_at == 0 {
            entry.parameters_at = HEADER;
        }
        let code = layout.code(&entry).ok_or_else(|| Error::BadCubin("a kernel without code".to_owned()))?;
        let local = match entry.stack {
            0 => 0,
            stack => stack.max(LEAST_STACK).saturating_add(LOCAL_OVERHEAD).next_multiple_of(16),
        };
        let program = Program {
            address: memory.address() + code,
            registers: entry.registers.max(1),
            barriers: entry.barriers,
            local,
            sm: chip.sm,
        };
        let mut qmd = Qmd::new(chip.format, &program);
        for (bank, offset, size) in layout.banks(&entry) {
            qmd.set_bank(bank, memory.address() + offset, size);
        }
        let banks = layout.banks(&entry).map(|(bank, offset, _)| (bank, memory.address() + offset)).collect();
        Ok(Kernel { module: Arc::clone(&self.inner), code: program.address, banks, entry, qmd, local })
    }

    /// A variable: its address and its bytes.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn variable(&self, name: &str) -> Result<(u64, u64)> {
        let Inner { symbols, layout, memory, .. } = &*self.inner;
        let symbol = symbols.variables.get(name).and_then(|v| Some((layout.variable(v)?, v.size)));
        let (offset, size) = symbol.ok_or_else(|| no_symbol("variable", name, symbols.variables.keys()))?;
        Ok((memory.address() + offset, size))
    }
}

fn no_symbol<'a>(kind: &'static str, name: &str, has: impl Iterator<Item = &'a String>) -> Error {
    let has: Vec<&str> = has.take(10).map(String::as_str).collect();
    let has = if has.is_empty() { "none".to_owned() } else { has.join(", ") };
    Error::NoSymbol { kind, name: name.to_owned(), has }
}

impl Kernel {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.entry.name
    }

    /// What the cubin says of it.
    #[must_use]
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Its parameters: offset and size of each.
    #[must_use]
    pub fn parameters(&self) -> &[Parameter] {
        &self.entry.parameters
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.module.shared
    }

    /// Shared memory of a block with so much dynamic memory, and with the system's.
    pub(crate) fn shared_bytes(&self, dynamic: u32) -> u32 {
        self.entry.shared.max(SYSTEM_SHARED).saturating_add(dynamic)
    }

    pub(crate) fn local(&self) -> u32 {
        self.local
    }

    pub(crate) fn refuse(&self, why: impl Into<String>) -> Error {
        Error::Launch { kernel: self.entry.name.clone(), why: why.into() }
    }

    /// The launch of a shape with these parameters.
    pub(crate) fn launch<'a>(
        &self,
        shape: &Shape,
        attributes: &LaunchAttributes,
        parameters: &'a [u8],
    ) -> Result<Launch<'a>> {
        let Shape { grid, block, shared } = *shape;
        let entry = &self.entry;
        if parameters.len() != entry.parameters_size {
            let (kernel, expected, actual) = (entry.name.clone(), entry.parameters_size, parameters.len());
            return Err(Error::Parameters { kernel, expected, actual });
        }
        self.check_shape(grid, block)?;
        let most = self.module.shared.chip.most_shared;
        let own = self.shared_bytes(0);
        let total = own.checked_add(shared).filter(|total| *total <= most + SYSTEM_SHARED);
        let total = total.ok_or_else(|| {
            let own = own - SYSTEM_SHARED;
            self.refuse(format!("{own} + {shared} bytes of shared memory are more than {most}"))
        })?;
        let mut qmd = self.qmd.clone();
        qmd.set_shape(grid, block);
        qmd.set_shared(total);
        let cluster = self.cluster(shape, attributes)?;
        if let Some(sides) = cluster
            && !qmd.set_cluster(grid, sides)
        {
            return Err(self.refuse("clusters on a GPU without them"));
        }
        let launch = bank::Launch { grid, block, cluster, shared: total, dynamic: shared, code: self.code };
        let mut header = self.module.shared.header(&launch)?;
        self.banks.iter().for_each(|(bank, address)| header.set_bank(*bank, *address));
        let parameters_at = entry.parameters_at;
        let needs = crate::submission::lane::Generation::default();
        Ok(Launch { qmd, header, code: self.code, parameters, parameters_at, needs })
    }

    /// The sides of a cluster, which fit the grid.
    fn cluster(&self, shape: &Shape, attributes: &LaunchAttributes) -> Result<Option<Dim3>> {
        let compiled = self.entry.cluster.map(Dim3::from);
        let Some(sides) = attributes.cluster.or(compiled) else { return Ok(None) };
        let (grid, each) = (shape.grid, [sides.0, sides.1, sides.2]);
        let blocks = each.iter().fold(1_u32, |product, side| product.saturating_mul(*side));
        if !(1..=MOST_IN_CLUSTER).contains(&blocks) {
            return Err(self.refuse(format!("a cluster of {sides:?} blocks: 1 to {MOST_IN_CLUSTER} run together")));
        }
        if let Some(own) = compiled.filter(|own| *own != sides) {
            return Err(self.refuse(format!("a cluster of {sides:?} blocks: it was compiled for {own:?}")));
        }
        if ![grid.0, grid.1, grid.2].iter().zip(each).all(|(grid, side)| grid.is_multiple_of(side)) {
            return Err(
                self.refuse(format!("a grid of {grid:?} blocks is not a whole number of clusters of {sides:?}"))
            );
        }
        if attributes.cooperative && blocks > 1 {
            return Err(self.refuse("a cooperative grid of clusters is not supported by cudest"));
        }
        Ok(Some(sides))
    }

    fn check_shape(&self, grid: Dim3, block: Dim3) -> Result<()> {
        let fits = |dim: Dim3, most: Dim3| {
            (1..=most.0).contains(&dim.0) && (1..=most.1).contains(&dim.1) && (1..=most.2).contains(&dim.2)
        };
        if !fits(grid, GRID) {
            return Err(self.refuse(format!("a grid of {grid:?} blocks: each number is 1 to {GRID:?}")));
        }
        if !fits(block, BLOCK) {
            return Err(self.refuse(format!("a block of {block:?} threads: each number is 1 to {BLOCK:?}")));
        }
        let threads = u64::from(block.0) * u64::from(block.1) * u64::from(block.2);
        let most = match self.entry.max_threads {
            0 => MOST_THREADS,
            own => u64::from(own).min(MOST_THREADS),
        };
        if threads > most {
            return Err(self.refuse(format!("{threads} threads in a block are more than {most}")));
        }
        let of_warp = (u64::from(self.entry.registers) * 32).next_multiple_of(256);
        let needed = of_warp * threads.div_ceil(32).next_multiple_of(4);
        if needed > REGISTERS {
            return Err(self.refuse(format!("{threads} threads need {needed} registers, and an SM has {REGISTERS}")));
        }
        Ok(())
    }
}
