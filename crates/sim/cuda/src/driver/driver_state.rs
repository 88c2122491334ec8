//! All that the driver knows, behind one lock. The lock is never held while a program's code runs (host
//! functions, destructors) or while data is copied.

use super::address_space::{Mapping, Memory};
use super::allocation::Allocation;
use super::capture::Capture;
use super::code::{Function, Library, Module};
use super::context::Context;
use super::fault::{Answer, Fault};
use super::graph::{Executable, Graph, Node};
use super::object::Object;
use super::pool::Pool;
use super::stream::{Data, Event, HostFunction, Stream};
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// What programs hold for a context, stream, event, module ...: never used again for another one, and no address
/// that anything is mapped at, so that a stale or foreign one is recognised.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Handle(pub u64);

impl Handle {
    pub const NULL: Handle = Handle(0);
}

/// A texture reference: only its settings.
#[derive(Default)]
pub struct Reference {
    pub bias: f32,
    pub least: f32,
    pub most: f32,
    pub flags: u32,
}

pub struct DriverState {
    pub contexts: BTreeMap<Handle, Context>,
    pub streams: BTreeMap<Handle, Stream>,
    pub events: BTreeMap<Handle, Event>,
    pub modules: BTreeMap<Handle, Module>,
    pub libraries: BTreeMap<Handle, Library>,
    pub functions: BTreeMap<Handle, Function>,
    pub pools: BTreeMap<Handle, Pool>,
    /// Of each device for which the program set one.
    pub chosen_pools: BTreeMap<i32, Handle>,
    pub arrays: BTreeMap<Handle, super::allocation::Array>,
    pub textures: BTreeMap<Handle, crate::api::textures::Object>,
    pub links: BTreeMap<Handle, crate::api::linker::Link>,
    pub greens: BTreeMap<Handle, crate::api::green_contexts::Green>,
    /// Multiprocessors that a description of resources speaks of.
    pub shares: BTreeMap<Handle, u32>,
    /// The arrays of their levels.
    pub mipmaps: BTreeMap<Handle, Vec<Handle>>,
    pub references: BTreeMap<Handle, Reference>,
    pub graphs: BTreeMap<Handle, Graph>,
    pub nodes: BTreeMap<Handle, Node>,
    pub executables: BTreeMap<Handle, Executable>,
    pub captures: BTreeMap<u64, Capture>,
    pub objects: BTreeMap<Handle, Object>,
    /// User objects that are gone, whose functions are still to be called.
    pub ended: Vec<(HostFunction, Data)>,
    /// Memory of graphs, by address.
    pub graph_memory: BTreeMap<u64, super::destroy::OfGraph>,
    /// Memory of other kinds whose end was asked for, by address.
    pub ending: BTreeSet<u64>,
    /// Memory without an address.
    pub memories: BTreeMap<Handle, Memory>,
    /// The file that most of it lies in.
    pub memory_file: Option<Arc<OwnedFd>>,
    /// Reserved addresses, and how many.
    pub reserved: BTreeMap<u64, u64>,
    /// Memory at reserved addresses.
    pub mappings: BTreeMap<u64, Mapping>,
    /// For managed memory, by address.
    pub wishes: BTreeMap<u64, super::allocation::Wishes>,
    /// By address.
    pub allocations: BTreeMap<u64, Allocation>,
    /// Of each device.
    pub primary: BTreeMap<i32, super::context::Primary>,
    /// Bytes in use of each device.
    pub used: BTreeMap<i32, u64>,
    last_handle: u64,
    last_order: u64,
}

static WORLD: Mutex<DriverState> = Mutex::new(DriverState::new());

/// Told whenever an operation of a stream is over, or there is one more.
pub static CHANGED: Condvar = Condvar::new();

pub type Guard = MutexGuard<'static, DriverState>;

pub fn driver_state() -> Guard {
    WORLD.lock().unwrap_or_else(PoisonError::into_inner)
}

impl DriverState {
    const fn new() -> Self {
        DriverState {
            contexts: BTreeMap::new(),
            streams: BTreeMap::new(),
            events: BTreeMap::new(),
            modules: BTreeMap::new(),
            libraries: BTreeMap::new(),
            functions: BTreeMap::new(),
            pools: BTreeMap::new(),
            chosen_pools: BTreeMap::new(),
            arrays: BTreeMap::new(),
            textures: BTreeMap::new(),
            links: BTreeMap::new(),
            greens: BTreeMap::new(),
            shares: BTreeMap::new(),
            mipmaps: BTreeMap::new(),
            references: BTreeMap::new(),
            graphs: BTreeMap::new(),
            nodes: BTreeMap::new(),
            executables: BTreeMap::new(),
            captures: BTreeMap::new(),
            objects: BTreeMap::new(),
            ended: Vec::new(),
            graph_memory: BTreeMap::new(),
            ending: BTreeSet::new(),
            memories: BTreeMap::new(),
            memory_file: None,
            reserved: BTreeMap::new(),
            mappings: BTreeMap::new(),
            wishes: BTreeMap::new(),
            allocations: BTreeMap::new(),
            primary: BTreeMap::new(),
            used: BTreeMap::new(),
            last_handle: 0,
            last_order: 0,
        }
    }

    pub fn new_handle(&mut self) -> Handle {
        self.last_handle += 1;
        Handle(0x4000_0000_0000 + self.last_handle * 0x100)
    }

    /// A pool that the program has, and the bytes in use of its device.
    pub fn pool(&mut self, handle: Handle) -> Option<(&mut Pool, &mut u64)> {
        let pool = self.pools.get_mut(&handle).filter(|pool| !pool.destroyed)?;
        let in_use = self.used.entry(pool.device).or_default();
        Some((pool, in_use))
    }

    /// The program has waited for a stream, an event or a context.
    pub fn settle_pools(&mut self) {
        for pool in self.pools.values_mut() {
            pool.settle(self.used.entry(pool.device).or_default());
        }
        self.pools.retain(|_, pool| !pool.destroyed || pool.held > 0);
    }

    /// The place of one more operation, context or allocation in the order of all.
    pub fn next_order(&mut self) -> u64 {
        self.last_order += 1;
        self.last_order
    }
}

/// INVALID_HANDLE for a handle that is not there.
pub fn known<T>(map: &BTreeMap<Handle, T>, handle: Handle) -> Answer<&T> {
    map.get(&handle).ok_or(Fault::INVALID_HANDLE)
}

/// The same, to change it.
pub fn known_mut<T>(map: &mut BTreeMap<Handle, T>, handle: Handle) -> Answer<&mut T> {
    map.get_mut(&handle).ok_or(Fault::INVALID_HANDLE)
}
