//! Events: a point of a stream with its time, in nanoseconds of the GPU's clock.

use crate::base::error::{Error, Result};
use crate::context::context_memory::Memory;
use crate::context::shared::Shared;
use crate::submission::fence::Fence;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    /// Slots that events gave back and that the GPU has yet to write.
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
    recorded: Mutex<Recorded>,
}

/// Where an event has its time.
#[derive(Debug)]
struct Recorded {
    memory: Arc<Memory>,
    slot: u64,
    /// The fence of the last record.
    fence: Option<Fence>,
}

impl Event {
    pub(crate) fn new(shared: &Arc<Shared>, stamps: &Arc<Stamps>) -> Result<Self> {
        let (memory, slot) = stamps.take(shared)?;
        let recorded = Mutex::new(Recorded { memory, slot, fence: None });
        Ok(Self { shared: Arc::clone(shared), stamps: Arc::clone(stamps), recorded })
    }

    fn recorded(&self) -> MutexGuard<'_, Recorded> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `submit` with the address where the GPU shall write the time. An earlier record that is not reached keeps
    /// its place: its stream may be behind this one.
    pub(crate) fn record(&self, submit: impl FnOnce(u64) -> Result<Fence>) -> Result<Fence> {
        let mut recorded = self.recorded();
        if let Some(earlier) = recorded.fence
            && !self.shared.reached(earlier)?
        {
            let (memory, slot) = self.stamps.take(&self.shared)?;
            self.stamps.give(&recorded.memory, recorded.slot, Some(earlier));
            *recorded = Recorded { memory, slot, fence: None };
        }
        let fence = submit(recorded.memory.address() + recorded.slot * SLOT_BYTES)?;
        recorded.fence = Some(fence);
        Ok(fence)
    }

    /// The fence of its last record.
    #[must_use]
    pub fn fence(&self) -> Option<Fence> {
        self.recorded().fence
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
        let Some(fence) = self.fence() else {
            return Err(Error::Range("the event was never recorded".to_owned()));
        };
        self.shared.wait(fence, None)?;
        let recorded = self.recorded();
        // Another thread may have recorded it again.
        if recorded.fence != Some(fence) {
            drop(recorded);
            return self.time();
        }
        let mut bytes = [0; 8];
        // SAFETY: the GPU wrote the stamp before the fence was reached.
        unsafe { recorded.memory.read(recorded.slot * SLOT_BYTES + 8, &mut bytes)? };
        Ok(u64::from_le_bytes(bytes))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let recorded = self.recorded();
        self.stamps.give(&recorded.memory, recorded.slot, recorded.fence);
    }
}
