//! What does the work of the driver: a machine with devices, and one address space for each device. This folder has the
//! traits and the operations. Two crates implement them: `cutap-sim` on host memory, which runs no kernel, and
//! `cutap-gpu-engine`, which drives GPUs through `cutap-cudest`.
//!
//! An operation is data. Order is fences: a lane runs its operations in order, after the fences that are given with
//! them. The engine must not know an object of the driver, and must not decide what a driver call means.

mod chosen;
mod op;
mod piece;
pub mod refused;

pub use chosen::{MakeMachine, join, machine};
pub use op::{Fence, KernelLaunch, Op, Place, Side};
pub use piece::{Access, Piece, View};

/// Names of functions that GPUs do not have in full.
pub use crate::generated::limited;

use crate::abi::Answer;
use std::any::Any;
use std::ffi::CStr;
use std::sync::Arc;

/// The devices of a machine, by their number in NVML.
pub trait Machine: Send + Sync {
    /// The uuid of each device.
    fn uuids(&self) -> &[[u8; 16]];
    fn name(&self, device: i32) -> &CStr;
    /// PCI domain, bus and device.
    fn pci(&self, device: i32) -> [i32; 3];
    /// The value of a CUdevice_attribute.
    fn attribute(&self, device: i32, id: u32) -> Option<i32>;
    /// Where the multiprocessors of a device are.
    fn floor_plan(&self, device: i32) -> FloorPlan<'_>;
    /// All memory of a device, in bytes.
    fn memory(&self, device: i32) -> u64;
    /// Whether kernels run. Only then are code and arguments needed.
    fn runs_kernels(&self) -> bool;
    /// The one lane of a machine whose operations complete before `submit` returns. It needs no fences.
    fn at_once(&self) -> Option<&dyn Lane>;
    /// The address space of a device, which is opened at the first request.
    fn space(&self, device: i32) -> Answer<&dyn Space>;
    /// Machine code of PTX, if this machine needs it.
    fn compile(&self, text: &[u8]) -> Answer<Option<Vec<u8>>>;
    /// How the machine ended, if a fault ended it. Every later call has this result.
    fn check(&self) -> Answer;
}

/// Where multiprocessors are, which a device has in pairs. A cluster of blocks runs within one group.
#[derive(Clone, Copy, Debug)]
pub struct FloorPlan<'a> {
    /// The group of each pair.
    pub groups: &'a [u8],
    /// Its number in the group.
    pub places: &'a [u8],
}

impl FloorPlan<'_> {
    /// How many multiprocessors each group has. Numbers without a group have none.
    pub fn multiprocessors(&self) -> Vec<i32> {
        let mut counts = vec![0; 1 + usize::from(u8::MAX)];
        for group in self.groups {
            counts[usize::from(*group)] += 2;
        }
        counts
    }
}

/// Memory, code and lanes of one device.
pub trait Space: Send + Sync {
    /// New memory, whose content is zero where a program can rely on it.
    fn allocate(&self, place: Place, size: u64) -> Answer<u64>;
    /// Gives memory of `allocate` back, after the work that was submitted until now.
    fn release(&self, address: u64, size: u64);
    /// Makes pages of the program usable at their address.
    fn register(&self, address: u64, size: u64) -> Answer;
    /// Undoes `register`.
    fn unregister(&self, address: u64);
    /// New memory without an address. `for_processes`: another process may get it.
    fn piece(&self, size: u64, for_processes: bool) -> Answer<Arc<dyn Piece>>;
    /// The memory of a descriptor that another process gave, and its size.
    fn import(&self, descriptor: i32) -> Answer<(Arc<dyn Piece>, u64)>;
    /// Waits until nothing that was submitted uses a view any more. No lock may be held.
    fn settle(&self) -> Answer;
    /// Free memory of the device in bytes, if the engine knows it better than the driver's own count.
    fn free_memory(&self) -> Option<u64>;
    /// Code that is ready to run.
    fn load(&self, code: &[u8]) -> Answer<Arc<dyn Code>>;
    fn lane(&self) -> Answer<Arc<dyn Lane>>;
    fn stamp(&self) -> Answer<Arc<dyn Stamp>>;
    fn reached(&self, fence: Fence) -> Answer<bool>;
    fn wait(&self, fence: Fence) -> Answer;
}

/// Operations in order.
pub trait Lane: Send + Sync {
    /// Starts an operation after fences. No fence: it has completed. It may wait for room, but never for the program.
    fn submit(&self, after: &[Fence], op: Op) -> Answer<Option<Fence>>;
}

/// Code in the memory of a device.
pub trait Code: Any + Send + Sync {
    /// Address and size of a variable.
    fn variable(&self, name: &str) -> Answer<(u64, u64)>;
}

/// The time at which a lane has reached a place.
pub trait Stamp: Any + Send + Sync {
    /// Nanoseconds of a clock that all stamps of the device share. Its fence must be reached.
    fn nanoseconds(&self) -> Answer<u64>;
}

/// Whether a fence is reached, of any device.
pub fn reached(fence: Fence) -> Answer<bool> {
    machine().space(fence.device)?.reached(fence)
}

/// Waits for fences, of any device. No lock may be held.
pub fn wait(fences: &[Fence]) -> Answer {
    fences.iter().try_for_each(|fence| machine().space(fence.device)?.wait(*fence))
}
