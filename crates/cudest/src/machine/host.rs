//! Points that the host reaches, for which streams wait.

use crate::base::error::{Error, Result};
use crate::base::fork;
use crate::context::shared::{Shared, lock};
use crate::submission::fence::{Fence, Timeline};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

/// Points that the host reaches one after the other. While one is not reached, streams that wait for it do not
/// continue, and neither does the end of the context: dropping it reaches all.
///
/// ```no_run
/// # fn main() -> cutap_cudest::Result<()> {
/// let context = cutap_cudest::Gpu::new(0).context()?;
/// let (stream, host) = (context.stream()?, context.host_timeline()?);
/// let point = host.add();
/// stream.wait_for(point);
/// host.signal(point)?;
/// stream.synchronize()?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct HostTimeline {
    timeline: Arc<Timeline>,
    /// The last value that the host has reached.
    signalled: Mutex<u64>,
    shared: Arc<Shared>,
}

impl HostTimeline {
    pub(crate) fn new(shared: &Arc<Shared>) -> Result<Self> {
        shared.check()?;
        let timeline = shared.host_timeline()?;
        let signalled = Mutex::new(timeline.submitted());
        Ok(Self { timeline, signalled, shared: Arc::clone(shared) })
    }

    /// A further point, after all others.
    #[must_use]
    pub fn add(&self) -> Fence {
        let signalled = lock(&self.signalled);
        let value = self.timeline.submitted() + 1;
        if *signalled + 1 == value {
            self.shared.gates.fetch_add(1, Ordering::AcqRel);
        }
        self.timeline.advance(value);
        self.timeline.fence(value)
    }

    /// Reaches a point, and all before it.
    ///
    /// # Errors
    /// The point is of another timeline.
    pub fn signal(&self, point: Fence) -> Result<()> {
        if point.timeline() != self.timeline.number || point.value() > self.timeline.submitted() {
            return Err(Error::Range("the fence is not a point of this timeline of the host".to_owned()));
        }
        self.reach(point.value());
        Ok(())
    }

    fn reach(&self, value: u64) {
        // The child of a fork shares the word with its parent.
        if self.shared.born != fork::generation() {
            return;
        }
        let mut signalled = lock(&self.signalled);
        if value > *signalled {
            *signalled = value;
            self.timeline.signal(value);
            if value == self.timeline.submitted() {
                self.shared.gates.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }
}

impl Drop for HostTimeline {
    fn drop(&mut self) {
        if self.shared.born == fork::generation() {
            self.reach(self.timeline.submitted());
            self.shared.free_timeline(Arc::clone(&self.timeline));
        }
    }
}

/// A fence that the host reaches. Until it is signalled, streams that wait for it do not continue, and neither does the
/// end of the context: dropping it signals it.
#[derive(Debug)]
pub struct HostFence {
    timeline: HostTimeline,
    fence: Fence,
}

impl HostFence {
    pub(crate) fn new(shared: &Arc<Shared>) -> Result<Self> {
        let timeline = HostTimeline::new(shared)?;
        let fence = timeline.add();
        Ok(Self { timeline, fence })
    }

    /// The fence.
    #[must_use]
    pub fn fence(&self) -> Fence {
        self.fence
    }

    /// Reaches it.
    pub fn signal(&self) {
        self.timeline.reach(self.fence.value());
    }
}
