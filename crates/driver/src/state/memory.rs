//! Memory that has an address: allocations of every kind, memory of graphs, pools and the bytes in use of each device.

use super::handle::Handle;
use super::pool::Pool;
use crate::abi::{Answer, Fault};
use crate::host::pages::PAGE;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
pub struct MemoryState {
    /// By address.
    pub allocations: BTreeMap<u64, Allocation>,
    /// Advice about managed memory, by address.
    pub advice: BTreeMap<u64, Advice>,
    /// Memory of graphs, by address.
    pub of_graphs: BTreeMap<u64, GraphMemory>,
    /// Addresses of other memory for which a free was requested.
    pub ending: BTreeSet<u64>,
    pub pools: BTreeMap<Handle, Pool>,
    /// By device, where the program set one.
    pub chosen_pools: BTreeMap<i32, Handle>,
    /// Bytes in use, by device.
    pub used: BTreeMap<i32, u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Device,
    Managed,
    /// Memory of a graph: see [`GraphMemory`].
    Graph,
    /// Memory with access at a reserved address: see [`super::Mapping`].
    Mapped,
    /// Page-locked memory that the driver allocated, with the flags of the request.
    Host(u32),
    /// Memory of the program that was registered with these flags.
    Registered(u32),
}

#[derive(Clone, Copy, Debug)]
pub struct Allocation {
    pub size: u64,
    pub kind: Kind,
    pub device: i32,
    pub context: Handle,
    pub id: u64,
    pub pool: Handle,
}

impl Allocation {
    /// Its size in whole pages, in bytes.
    pub fn pages(&self) -> u64 {
        self.size.next_multiple_of(PAGE)
    }

    pub fn on_device(&self) -> bool {
        matches!(self.kind, Kind::Device | Kind::Managed | Kind::Graph | Kind::Mapped)
    }
}

/// Advice of the program about managed memory. Device -1 is the host.
#[derive(Clone, Default)]
pub struct Advice {
    pub read_mostly: bool,
    pub preferred: Option<i32>,
    pub fetched: Option<i32>,
    pub accessed: BTreeSet<i32>,
}

/// Memory of a graph. Its address exists from the node on. The memory *is allocated* from the launch that allocates it
/// until something frees it. Its pages stay while it is allocated or has a holder.
pub struct GraphMemory {
    /// Graphs, executables, and launches and frees that have not completed.
    pub holders: u32,
    pub allocated: bool,
}

impl MemoryState {
    /// The allocation that holds an address, and its start.
    pub fn find(&self, address: u64) -> Option<(u64, &Allocation)> {
        let (start, allocation) = self.allocations.range(..=address).next_back()?;
        (address - start < allocation.size).then_some((*start, allocation))
    }

    /// INVALID_VALUE unless `len` bytes from `address` are in one allocation, or in mappings without a gap.
    pub fn require(&self, address: u64, len: u64) -> Answer {
        if len > 0 && len > self.run_from(address) { Err(Fault::INVALID_VALUE) } else { Ok(()) }
    }

    /// Bytes from an address to the end of its allocation, and of the mappings that follow it without a gap.
    fn run_from(&self, address: u64) -> u64 {
        let Some((mut start, mut allocation)) = self.find(address) else { return 0 };
        let mut len = allocation.size - (address - start);
        while allocation.kind == Kind::Mapped {
            let next = start + allocation.size;
            match self.allocations.get(&next) {
                Some(more) if more.kind == Kind::Mapped => (start, allocation) = (next, more),
                _ => break,
            }
            len += allocation.size;
        }
        len
    }

    /// A pool that the program has not destroyed, and the bytes in use of its device.
    pub fn pool(&mut self, handle: Handle) -> Option<(&mut Pool, &mut u64)> {
        let pool = self.pools.get_mut(&handle).filter(|pool| !pool.destroyed)?;
        let in_use = self.used.entry(pool.device).or_default();
        Some((pool, in_use))
    }

    /// Called after the program has waited for a stream, an event or a context.
    pub fn settle_pools(&mut self) {
        for pool in self.pools.values_mut() {
            pool.settle(self.used.entry(pool.device).or_default());
        }
        self.pools.retain(|_, pool| !pool.destroyed || pool.reserved > 0);
    }
}
