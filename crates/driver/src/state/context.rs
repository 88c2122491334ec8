//! Contexts, the primary context of each device, and green contexts.

use super::handle::Handle;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
pub struct ContextState {
    pub contexts: BTreeMap<Handle, Context>,
    /// By device.
    pub primary: BTreeMap<i32, Primary>,
    pub greens: BTreeMap<Handle, GreenContext>,
    /// Number of multiprocessors in each description of resources.
    pub shares: BTreeMap<Handle, u32>,
}

pub struct Context {
    pub device: i32,
    pub flags: u32,
    pub id: u64,
    pub primary: bool,
    /// The stream that NULL and 1 mean.
    pub legacy: Handle,
    /// The stream that 2 means, by thread.
    pub per_thread: BTreeMap<u64, Handle>,
    pub limits: BTreeMap<u32, usize>,
    pub cache_config: u32,
    pub shared_config: u32,
    pub peers: BTreeSet<i32>,
    pub storage: BTreeMap<u64, Stored>,
}

/// A value that a runtime stores with a context under a key, and the function to call when the context ends.
#[derive(Clone, Copy)]
pub struct Stored {
    pub value: u64,
    pub destructor: Option<Destructor>,
}

/// Arguments: context, key, value.
pub type Destructor = extern "C" fn(Handle, u64, u64);

/// The primary context of a device. It always has the same handle, and exists only while it is retained. So a thread
/// whose current context it was before a reset uses the new one after the next retain.
#[derive(Default)]
pub struct Primary {
    pub handle: Option<Handle>,
    pub retained: u32,
    pub flags: u32,
}

impl Primary {
    /// Its handle while it exists.
    pub fn active(&self) -> Option<Handle> {
        self.handle.filter(|_| self.retained > 0)
    }
}

/// A context with a share of the multiprocessors.
pub struct GreenContext {
    pub context: Handle,
    pub share: u32,
}
