//! What the simulated driver reports to the simulated CUPTI (`crates/sim/cupti`). The driver exports
//! [`PROFILER_SYMBOL`], a [`Profiler`]. CUPTI finds it by dlsym and stores its listener there.

use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicPtr, Ordering};

/// The name of the driver's export.
pub const PROFILER_SYMBOL: &CStr = c"CUTAP_SIM_PROFILER";

/// Called for each driver call that submits work, in the order of submission. The driver holds its lock, so a listener
/// must not call the driver. Pointers are valid only during the call.
pub type Listener = extern "C" fn(&SubmittedCall);

/// The driver's export.
#[repr(C)]
#[derive(Debug)]
pub struct Profiler {
    /// A [`Listener`]; NULL if none is registered.
    listener: AtomicPtr<()>,
}

impl Profiler {
    pub const fn new() -> Self {
        Profiler { listener: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// The listener stays registered until the process ends.
    pub fn register(&self, listener: Listener) {
        self.listener.store(listener as *mut (), Ordering::Release);
    }

    pub fn listener(&self) -> Option<Listener> {
        let listener = self.listener.load(Ordering::Acquire);
        // SAFETY: only `register` writes the word, and it writes a Listener.
        (!listener.is_null()).then(|| unsafe { std::mem::transmute::<*mut (), Listener>(listener) })
    }
}

impl Default for Profiler {
    fn default() -> Self {
        Profiler::new()
    }
}

/// The name of the export with [`GraphIds`].
pub const GRAPH_IDS_SYMBOL: &CStr = c"CUTAP_SIM_GRAPH_IDS";

/// Functions of the driver that write the id of a handle. They return a CUresult.
#[repr(C)]
#[derive(Debug)]
pub struct GraphIds {
    pub of_graph: extern "C" fn(u64, *mut u32) -> u32,
    pub of_executable: extern "C" fn(u64, *mut u32) -> u32,
    pub of_node: extern "C" fn(u64, *mut u64) -> u32,
}

/// A driver call that submitted work.
#[repr(C)]
#[derive(Debug)]
pub struct SubmittedCall {
    /// The callback id of the driver function. All functions that launch one kernel have the same one here.
    pub function: u32,
    /// The work, in the order of execution.
    pub works: *const SubmittedWork,
    pub count: usize,
}

/// What a piece of work is.
#[repr(u32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WorkKind {
    #[default]
    Kernel,
    Copy,
    Set,
}

/// A kernel, a copy or a set. Fields of other kinds are 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SubmittedWork {
    pub kind: WorkKind,
    pub device: u32,
    pub context: u32,
    pub stream: u32,
    /// Name of the kernel.
    pub name: *const c_char,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub registers: u32,
    pub static_shared: u32,
    pub dynamic_shared: u32,
    /// Of a copy, such as `HtoD`.
    pub direction: [u8; 4],
    /// Of a copy or a set.
    pub bytes: u64,
    /// Of a set.
    pub value: u32,
    /// Id of the executable graph; 0 for work that is no node.
    pub graph: u32,
    /// `graph` << 32 | index of the node.
    pub graph_node: u64,
}

impl Default for SubmittedWork {
    fn default() -> Self {
        SubmittedWork {
            kind: WorkKind::Kernel,
            device: 0,
            context: 0,
            stream: 0,
            name: std::ptr::null(),
            grid: [0; 3],
            block: [0; 3],
            registers: 0,
            static_shared: 0,
            dynamic_shared: 0,
            direction: [0; 4],
            bytes: 0,
            value: 0,
            graph: 0,
            graph_node: 0,
        }
    }
}
