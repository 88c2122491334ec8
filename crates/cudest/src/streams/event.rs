//! Events: a point of a stream with its time, in nanoseconds of the GPU's clock.

use crate::base::error::{Error, Result};
use crate::context::context_memory::Memory;
use crate::context::shared::Shared;
use crate::submission::fence::Fence;
use std::sync::{Arc, Mutex, PoisonError};

/// Slots of one piece of pinned memory.
const SLOTS: u64 = 4096;
const SLOT_BYTES: u64 = 16;

/// Pinned memory with slots for time stamps.
#[derive(Debug, Default)]
pub(crate) struct Stamps {
    pools: Mutex<Vec<Pool>>,
}

#[derive(Debug)]
struct Pool {
    memory: Arc<Memory>,
    free: Vec<u64>,
    /// Slots of dropped events that the GPU has yet to write.
    busy: Vec<(Fence, u64)>,
}

impl Stamps {
    fn take(&self, shared: &Arc<Shared>) -> Result<(Arc<Memory>, u64)> {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        for pool in pools.iter_mut() {
            if pool.free.is_empty() {
                let written = |(fence, _): &mut (Fence, u64)| shared.reached(*fence).unwrap_or(false);
                pool.free.extend(pool.busy.extract_if(.., written).map(|(_, slot)| slot));
            }
            if let Some(slot) = pool.free.pop() {
                return Ok((Arc::clone(&pool.memory), slot));
            }
        }
        let memory = Arc::new(Memory::pinned(shared, SLOTS * SLOT_BYTES)?);
        let mut free: Vec<u64> = (0..SLOTS).rev().collect();
        let slot = free.pop().unwrap_or_default();
        pools.push(Pool { memory: Arc::clone(&memory), free, busy: Vec::new() });
        Ok((memory, slot))
    }

    fn give(&self, memory: &Arc<Memory>, slot: u64, after: Option<Fence>) {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = pools.iter_mut().find(|pool| Arc::ptr_eq(&pool.memory, memory)) {
            match after {
                Some(fence) => pool.busy.push((fence, slot)),
                None => pool.free.push(slot),
            }
        }
    }
}

/// A point of a stream.
///
/// ```no_run
/// # fn main() -> cutap_cudest::Result<()> {
/// let context = cutap_cudest::Gpu::new(0).context()?;
/// let stream = context.stream()?;
/// let memory = context.video(1 << 30)?;
/// let (start, end) = (context.event()?, context.event()?);
/// stream.record(&start)?;
/// // SAFETY: nothing else uses the memory.
/// unsafe { stream.fill(memory.address(), 0, 4, 1 << 28)? };
/// stream.record(&end)?;
/// end.wait()?;
/// println!("{} ns", end.time()? - start.time()?);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Event {
    shared: Arc<Shared>,
    stamps: Arc<Stamps>,
    memory: Arc<Memory>,
    slot: u64,
    fence: Mutex<Option<Fence>>,
}

impl Event {
    pub(crate) fn new(shared: &Arc<Shared>, stamps: &Arc<Stamps>) -> Result<Self> {
        let (memory, slot) = stamps.take(shared)?;
        Ok(Self { shared: Arc::clone(shared), stamps: Arc::clone(stamps), memory, slot, fence: Mutex::default() })
    }

    pub(crate) fn address(&self) -> u64 {
        self.memory.address() + self.slot * SLOT_BYTES
    }

    pub(crate) fn recorded(&self, fence: Fence) {
        *self.fence.lock().unwrap_or_else(PoisonError::into_inner) = Some(fence);
    }

    /// The fence of its last record.
    #[must_use]
    pub fn fence(&self) -> Option<Fence> {
        *self.fence.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether its point is reached. An event that was never recorded is.
    ///
    /// # Errors
    /// The context has ended.
    pub fn is_reached(&self) -> Result<bool> {
        self.fence().map_or(Ok(true), |fence| self.shared.reached(fence))
    }

    /// Waits for its point.
    ///
    /// # Errors
    /// The context has ended.
    pub fn wait(&self) -> Result<()> {
        self.fence().map_or(Ok(()), |fence| self.shared.wait(fence, None))
    }

    /// Its time in nanoseconds, after waiting for it.
    ///
    /// # Errors
    /// It was never recorded, or the context has ended.
    pub fn time(&self) -> Result<u64> {
        if self.fence().is_none() {
            return Err(Error::Range("the event was never recorded".to_owned()));
        }
        self.wait()?;
        let mut bytes = [0; 8];
        // SAFETY: the GPU wrote the stamp before the fence was reached.
        unsafe { self.memory.read(self.slot * SLOT_BYTES + 8, &mut bytes)? };
        Ok(u64::from_le_bytes(bytes))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        self.stamps.give(&self.memory, self.slot, self.fence());
    }
}
