//! `RUN/limit`: what `--limit-memory` allows, and by which functions memory is taken. `cutap` writes it before the
//! program starts. The hook library `crates/limit` maps it in each process, and counts there what it refused. Names of
//! functions, numbers of their results and places in their structures are here, so that the library has none.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// Name of the file in the run directory.
pub const FILE: &str = "limit";
/// What the file begins with.
pub const MAGIC: u64 = u64::from_le_bytes(*b"cutaplim");
/// Bytes of a name of a function, with the zero behind it.
pub const NAME: usize = 64;
/// Bytes of the path of the accounts, with the zero behind it.
pub const PATH: usize = 1024;
/// Functions with a rule at most.
pub const ROWS: usize = 48;
/// Devices that may have separate limits, by their number in the program.
pub const DEVICES: usize = 32;
/// Refused calls that are described.
pub const REFUSALS: usize = 8;

/// What is done with calls of a function: it is also the number of its row's kind in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// Takes memory: address, bytes.
    Linear,
    /// Takes lines: address, distance, bytes of a line, lines.
    Lines,
    /// Takes an array: handle, description.
    Array,
    /// Takes an array of three dimensions: handle, description.
    Array3D,
    /// Takes arrays: handle, description, number of levels.
    Mipmaps,
    /// Takes memory without an address: handle, bytes, properties.
    Physical,
    /// Takes memory of the device's pool: address, bytes, stream.
    Pooled,
    /// Takes memory of a pool: address, bytes, pool, stream.
    FromPool,
    /// Gives memory back: its address or handle.
    Gives,
    /// Gives memory of a pool back: address, stream.
    GivesPooled,
    /// Gives memory without an address back: its handle.
    GivesPhysical,
    /// Gets the memory at an address once more: handle, address.
    Retains,
    /// Puts memory to an address: address, bytes, offset, handle.
    Maps,
    /// Takes memory from its address: address, bytes.
    Unmaps,
    /// Makes a pool smaller: pool.
    ShrinksPool,
    /// Ends a pool: it.
    EndsPool,
    /// Work has ended, after which a pool may be smaller.
    Waits,
    /// Adds a node that takes memory: node, graph, dependencies, their number, parameters.
    AddsNode,
    /// Adds a node of any kind: node, graph, dependencies, (their edges,) their number, parameters.
    AddsAnyNode,
    /// Copies a graph: copy, graph.
    Clones,
    /// Makes a graph that can run: it, graph.
    Instantiates,
    /// Ends a graph, or one that can run.
    EndsGraph,
    /// Runs a graph, which may take memory.
    RunsGraph,
    /// Gives back memory of graphs: device.
    TrimsGraphs,
    /// Loads code, which takes memory: handle.
    LoadsCode,
    /// Unloads it: handle.
    UnloadsCode,
    /// Ends a context and all memory of it: context.
    EndsContext,
    /// Ends or releases the context of a device: device.
    EndsPrimary,
    /// Tells the free memory and all of it.
    TellsFree,
    /// Tells all memory: bytes, device.
    TellsTotal,
    /// Tells properties: structure, device.
    TellsProperties,
    /// Tells what is in use, in the first form: device, structure.
    TellsUse,
    /// The same in the second form.
    TellsUse2,
    /// Tells processes in the first form: device, number, list.
    TellsProcesses1,
    /// Tells processes with instances: device, number, list.
    TellsProcesses,
}

/// Number of kinds.
pub const KINDS: usize = Kind::TellsProcesses as usize + 1;

impl Kind {
    /// From the number in a file.
    pub fn of_number(number: u32) -> Option<Kind> {
        // SAFETY: the kinds are numbered from 0 without a gap.
        ((number as usize) < KINDS).then(|| unsafe { core::mem::transmute::<u32, Kind>(number) })
    }
}

/// Functions that the library calls itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Helper {
    /// The device of the current context.
    CurrentDevice,
    /// The current context.
    CurrentContext,
    /// The UUID of a device.
    Uuid,
    /// The pool of a device.
    Pool,
    /// An attribute of a pool.
    PoolAttribute,
    /// Makes a pool smaller.
    TrimPool,
    /// The graph of a stream that is captured.
    CaptureInfo,
    /// Whether a device has its primary context.
    PrimaryState,
    /// The primary context of a device.
    RetainPrimary,
    /// Its end, perhaps.
    ReleasePrimary,
    /// An attribute of the memory of graphs.
    GraphMemory,
    /// Free memory and all of it.
    FreeMemory,
    /// The UUID of a device as a text, by NVML.
    UuidText,
}

/// Number of helpers.
pub const HELPERS: usize = Helper::UuidText as usize + 1;

/// Places in structures of the interfaces, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Places {
    /// Of an array: width, height, format, channels.
    pub array: [u32; 4],
    /// Of an array of three dimensions: width, height, depth, format, channels, flags.
    pub array3d: [u32; 6],
    /// All memory in the properties of a device.
    pub total: u32,
    /// Kind and number of the location in the properties of an allocation.
    pub location: [u32; 2],
    /// Bytes in the parameters of a node that takes memory; kind and bytes in those of any node.
    pub node: [u32; 3],
    /// What NVML says about memory: all, free, in use.
    pub memory: [u32; 3],
    /// The same in its second form, and reserved memory.
    pub memory2: [u32; 4],
    /// What NVML says about a process: bytes of the structure, number, memory.
    pub process: [u32; 3],
    /// The same in its second form.
    pub process2: [u32; 3],
}

/// Numbers of the interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Numbers {
    /// The result of a driver that has no memory left.
    pub out_of_memory: u32,
    /// NVML has more than there is room for.
    pub insufficient_size: u32,
    /// The kind of location that is a device.
    pub device_location: u32,
    /// The attributes of a pool: bytes that it has, and those that are in use.
    pub pool: [u32; 2],
    /// These attributes for the memory of graphs.
    pub graph: [u32; 2],
    /// Flags of an array that gets memory later, from elsewhere.
    pub no_memory: u32,
    /// The kind of a node that takes memory.
    pub memory_node: u32,
}

/// A refused call.
#[repr(C)]
#[derive(Debug)]
pub struct Refusal {
    /// The row of its function, from 1; 0: nothing is here.
    pub row: AtomicU32,
    /// The process.
    pub pid: AtomicU32,
    /// The device, as the process counts.
    pub device: AtomicU64,
    /// Bytes that it asked for.
    pub requested: AtomicU64,
    /// Bytes that were in use.
    pub used: AtomicU64,
}

/// Things that could not be counted.
#[repr(C)]
#[derive(Debug)]
pub struct Uncounted {
    /// Processes without a place in the accounts.
    pub processes: AtomicU64,
    /// Allocations whose device has no place, or of which the driver did not tell the device.
    pub devices: AtomicU64,
    /// Allocations that are not remembered, and whose end will not be seen.
    pub allocations: AtomicU64,
    /// Bytes above the limit, at most.
    pub above: AtomicU64,
    /// Functions for which there is no place among the hooks.
    pub functions: AtomicU64,
}

/// The head of the file. Rows follow.
#[repr(C)]
#[derive(Debug)]
pub struct Head {
    /// [`MAGIC`].
    pub magic: u64,
    /// [`crate::VERSION`].
    pub version: u32,
    /// Number of rows.
    pub rows: u32,
    /// Places in structures.
    pub places: Places,
    /// Numbers.
    pub numbers: Numbers,
    /// Bytes of an element of each format of arrays, and whether all channels are in them (128).
    pub formats: [u8; 256],
    /// The path of the accounts, filled up with zeros.
    pub accounts: [u8; PATH],
    /// The functions that the library calls.
    pub helpers: [[u8; NAME]; HELPERS],
    /// Bytes of each device without a separate limit; `u64::MAX`: no limit.
    pub limit: u64,
    /// Bytes of each device; 0: it has no separate limit.
    pub limits: [u64; DEVICES],
    /// What could not be counted.
    pub uncounted: Uncounted,
    /// Number of refused calls.
    pub refused: AtomicU64,
    /// The first of them.
    pub refusals: [Refusal; REFUSALS],
}

/// A function with a rule.
#[repr(C)]
#[derive(Debug)]
pub struct Row {
    /// Its name, filled up with zeros.
    pub name: [u8; NAME],
    /// A [`Kind`].
    pub kind: u32,
    /// Layers, as a hook library names them.
    pub layers: u32,
}

/// Bytes of the head.
pub const HEAD: usize = size_of::<Head>();
/// Bytes of a row.
pub const ROW: usize = size_of::<Row>();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_numbers() {
        assert_eq!(Kind::of_number(Kind::TellsProcesses as u32), Some(Kind::TellsProcesses));
        assert_eq!(Kind::of_number(Kind::Gives as u32), Some(Kind::Gives));
        assert_eq!(Kind::of_number(KINDS as u32), None);
    }
}
