//! Video memory without an address, and its mappings: objects of the driver that go in order.

use crate::client::Handle;
use crate::link::Link;
use crate::reserve::Reservation;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Memory without an address.
#[derive(Debug)]
pub(crate) struct Physical {
    pub link: Arc<Link>,
    pub memory: Handle,
    pub size: u64,
}

/// What holds a mapping: its range of GPU addresses, its memory, and the reservation around it.
#[derive(Debug)]
pub(crate) struct Joined {
    range: Handle,
    memory: Arc<Physical>,
    _addresses: Arc<Reservation>,
}

impl Joined {
    pub fn new(range: Handle, memory: Arc<Physical>, addresses: Arc<Reservation>) -> Self {
        Self { range, memory, _addresses: addresses }
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        let link = &self.memory.link;
        if !link.closing.load(Ordering::Acquire) {
            let _ = link.client.free(link.device, self.range);
        }
    }
}

impl Drop for Physical {
    fn drop(&mut self) {
        if !self.link.closing.load(Ordering::Acquire) {
            let _ = self.link.client.free(self.link.device, self.memory);
        }
    }
}
