//! Video memory without an address, and its mappings: objects of the driver that go in order.

use crate::kernel_driver::client::Handle;
use crate::memory::reserve::Reservation;
use crate::memory::space::{Mapped, Space};
use std::sync::Arc;

/// Memory without an address.
#[derive(Debug)]
pub(crate) struct Physical {
    pub space: Arc<Space>,
    pub memory: Handle,
    pub size: u64,
}

/// What holds a mapping: its range of GPU addresses, its memory, and the reservation around it.
#[derive(Debug)]
pub(crate) struct Joined {
    mapped: Mapped,
    memory: Arc<Physical>,
    /// None: the program has reserved them.
    _addresses: Option<Arc<Reservation>>,
}

impl Joined {
    pub fn new(mapped: Mapped, memory: Arc<Physical>, addresses: Option<Arc<Reservation>>) -> Self {
        Self { mapped, memory, _addresses: addresses }
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        self.memory.space.unmap(self.mapped);
    }
}

impl Drop for Physical {
    fn drop(&mut self) {
        self.space.free(self.memory);
    }
}
