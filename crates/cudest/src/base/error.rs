//! Every way in which a request to this driver fails, each as one sentence: what, why, what to do.

use std::path::PathBuf;
use std::sync::Arc;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a request failed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The machine has no NVIDIA kernel driver.
    #[error(
        "no NVIDIA kernel driver: {0} is missing; load the nvidia module, or pass the device nodes into the container"
    )]
    NoDriver(PathBuf),
    /// There is a device node, and no driver behind it.
    #[error("no NVIDIA kernel driver: {0} exists, but no driver serves it; load the nvidia module")]
    NotLoaded(PathBuf),
    /// A device node may not be opened.
    #[error("no permission for {0}: ask for read and write access to the NVIDIA device nodes")]
    NoPermission(PathBuf),
    /// A device node cannot be opened for another reason.
    #[error("cannot open {path}: {why}")]
    Open {
        /// The node.
        path: PathBuf,
        /// The answer of the operating system.
        why: Arc<std::io::Error>,
    },
    /// There are device nodes, but no GPU.
    #[error("the kernel driver lists no GPU")]
    NoGpu,
    /// There is no GPU of this number.
    #[error("the kernel driver lists no GPU {index}; it lists {count}")]
    NoSuchGpu {
        /// The number asked for.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// The version of the driver is no version.
    #[error("the kernel driver's version {0:?} is not understood; cutap has tables for branches 535 to 595")]
    UnknownVersion(String),
    /// The tables of this driver have no such struct or field.
    #[error(
        "the tables of driver {release} do not describe {item}: cutap is too old for this driver, or it is damaged"
    )]
    Tables {
        /// The release of the tables.
        release: &'static str,
        /// The struct or field.
        item: String,
    },
    /// An ioctl or mmap failed in the operating system.
    #[error("{request} failed: {why}")]
    System {
        /// The request.
        request: String,
        /// The answer of the operating system.
        why: Arc<std::io::Error>,
    },
    /// The kernel driver answered with a status other than 0.
    #[error("the kernel driver refused {request}: {name} ({status:#x})")]
    Refused {
        /// The request.
        request: String,
        /// The status.
        status: u32,
        /// Its name.
        name: &'static str,
    },
    /// Neither the resource manager nor the unified memory driver makes page tables.
    #[error("no address space for the GPU: mode A: {rm}; mode B: {uvm}")]
    NoMode {
        /// Why not the resource manager.
        rm: Box<Error>,
        /// Why not the unified memory driver.
        uvm: Box<Error>,
    },
    /// There is not enough memory.
    #[error("no memory for {bytes} bytes of {memory_kind}: free some, or ask for less")]
    NoMemory {
        /// The kind of memory.
        memory_kind: &'static str,
        /// The size asked for.
        bytes: u64,
    },
    /// The GPU's architecture has no encoders here.
    #[error("{name} has no compute class that cutap can drive (its classes: {classes}); sm_90 is supported")]
    UnsupportedGpu {
        /// The GPU.
        name: String,
        /// Its classes.
        classes: String,
    },
    /// There are encoders for the GPU's architecture, which have never run.
    #[error("{name} is {chip}, sm_{sm}: cutap has encoders for it that have never run; sm_90 is supported")]
    UntestedGpu {
        /// The GPU.
        name: String,
        /// Its kind.
        chip: &'static str,
        /// Its compute capability.
        sm: u32,
    },
    /// The kernel driver's branch has no checked tables.
    #[error(
        "kernel driver {version} has no checked tables (those of {tables} are the nearest): use NVIDIA's libcuda on \
         this machine"
    )]
    UncheckedDriver {
        /// The release of the machine.
        version: String,
        /// The nearest release that has tables.
        tables: &'static str,
    },
    /// No GPU can run kernels here.
    #[error("no GPU can be used without NVIDIA's libcuda: {0}")]
    NoUsableGpu(String),
    /// A module is no ELF file.
    #[error("the module is not an ELF file, a fat binary or PTX: pass a cubin, as `nvcc -cubin -arch=sm_90` makes it")]
    NotElf,
    /// A module is an ELF file, and no cubin.
    #[error("the module is an ELF file for machine {0}, not a cubin (machine 190)")]
    NotCubin(u16),
    /// A cubin cannot be read to its end.
    #[error("the cubin is damaged: {0}")]
    BadCubin(String),
    /// A cubin is for another architecture.
    #[error("the cubin is for sm_{cubin}, and the GPU is sm_{gpu}: compile with -arch=sm_{gpu}")]
    WrongArchitecture {
        /// Of the cubin.
        cubin: u32,
        /// Of the GPU.
        gpu: u32,
    },
    /// A fat binary cannot be read to its end.
    #[error("the fat binary is damaged: {0}")]
    BadFatbin(String),
    /// A fat binary has nothing for the GPU.
    #[error("the fat binary has code for {has}, and the GPU is sm_{gpu}: compile with -arch=sm_{gpu}")]
    NoCode {
        /// What it has code for.
        has: String,
        /// The GPU.
        gpu: u32,
    },
    /// There is no compiler for PTX.
    #[error(
        "the module is PTX, and neither NVIDIA's ptxas nor its library nvJitLink is here: \
         install one, name it in CUTAP_PTXAS or CUTAP_NVJITLINK, or pass a cubin"
    )]
    NoPtxCompiler,
    /// The compiler refused PTX.
    #[error("{compiler} refused the module's PTX: {why}")]
    Ptx {
        /// The compiler.
        compiler: String,
        /// What it said.
        why: String,
    },
    /// A module has no such kernel or variable.
    #[error("the module has no {kind} named {name:?}; it has: {has}")]
    NoSymbol {
        /// Kernel or variable.
        kind: &'static str,
        /// The name asked for.
        name: String,
        /// Those that it has.
        has: String,
    },
    /// Parameters of another size than the kernel's.
    #[error("kernel {kernel} takes {expected} bytes of parameters, not {actual}")]
    Parameters {
        /// The kernel.
        kernel: String,
        /// Its own size.
        expected: usize,
        /// The size given.
        actual: usize,
    },
    /// A launch that no GPU of this kind can run.
    #[error("kernel {kernel} cannot be launched: {why}")]
    Launch {
        /// The kernel.
        kernel: String,
        /// The limit.
        why: String,
    },
    /// An address or length is outside of an object.
    #[error("{0}")]
    Range(String),
    /// Something that is not in this driver.
    #[error("{0} is not supported by cudest")]
    Unsupported(&'static str),
    /// The context ended by a fault.
    #[error("the context ended: {0}")]
    Lost(Box<Loss>),
    /// The process was forked after the context was made.
    #[error("this context was made before fork: make a new context in the child")]
    Forked,
    /// A wait's time limit passed.
    #[error("the wait's time limit passed")]
    Timeout,
}

/// How a context ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// The Xid of the kernel log.
    pub xid: u32,
    /// The driver's clock when it wrote the notifier, in nanoseconds.
    pub time: u64,
    /// The memory access, as far as RM knows it.
    pub fault: Option<Fault>,
    /// The SM that stopped, as far as RM knows it.
    pub sm: Option<SmError>,
    /// The kernel that ended by it, if that is known.
    pub kernel: Option<String>,
    /// The function of libcuda that the kernel called, if it ended there.
    pub called: Option<String>,
    /// The SM stopped at an instruction by which a program ends its kernel: `trap` or `brkpt`.
    pub trapped: bool,
    /// What else is known of it.
    pub detail: String,
}

/// A memory access that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The GPU's address.
    pub address: u64,
    /// The kind of fault, as a number and as RM names it.
    pub code: u32,
    /// Its name.
    pub kind: String,
    /// The engine whose channel reports it.
    pub engine: &'static str,
}

/// An SM that stopped a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmError {
    /// Its number.
    pub sm: u32,
    /// Its error register.
    pub error: u32,
    /// The address of the instruction.
    pub instruction: u64,
}

impl std::fmt::Display for Loss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Xid {} ({})", self.xid, xid_meaning(self.xid))?;
        if let Some(Fault { address, kind, engine, .. }) = &self.fault {
            write!(f, "; {kind} at {address:#x} on the {engine} engine")?;
        }
        if let Some(SmError { sm, error, instruction }) = self.sm {
            write!(f, "; SM {sm} stopped at instruction {instruction:#x} with error {error:#x}")?;
        }
        if let Some(kernel) = &self.kernel {
            write!(f, "; kernel {kernel}")?;
        }
        if let Some(called) = &self.called {
            write!(f, "; it called {called}, which cudest does not have")?;
        } else if self.trapped {
            write!(f, "; the instruction is a trap of the program")?;
        }
        f.write_str(&self.detail)
    }
}

fn xid_meaning(xid: u32) -> &'static str {
    match xid {
        8 => "a channel made no progress",
        13 => "a kernel did what the SM refuses",
        31 => "a memory access outside of mapped addresses",
        32 => "a damaged pushbuffer",
        43 => "the channel was reset",
        45 => "the channel was removed after an earlier error",
        48 | 63 | 64 | 94 | 95 => "a memory error that ECC cannot correct",
        69 => "a damaged method",
        79 => "the GPU fell off the bus",
        109 => "a kernel of more than four seconds, and another process has work for the GPU",
        119 | 120 => "the GPU's firmware does not answer",
        _ => "see the kernel log",
    }
}

impl Error {
    pub(crate) fn system(request: impl Into<String>, why: std::io::Error) -> Self {
        Self::System { request: request.into(), why: Arc::new(why) }
    }
}

impl From<cutap_cubin::Error> for Error {
    fn from(error: cutap_cubin::Error) -> Self {
        match error {
            cutap_cubin::Error::NotElf => Self::NotElf,
            cutap_cubin::Error::NotCubin(machine) => Self::NotCubin(machine),
            cutap_cubin::Error::Cubin(reason) => Self::BadCubin(reason),
            cutap_cubin::Error::Fatbin(reason) => Self::BadFatbin(reason),
        }
    }
}
