//! The lanes of a context: compute channels in one group, and a channel for each copy engine that was used. Streams
//! share compute lanes. A shared lane never carries a wait that only the host can end. All are in one group and one
//! context share: separate groups would be time-sliced. While a host fence waits, copies avoid the copy lanes.

use crate::base::error::{Error, Result};
use crate::context::shared::{Direction, Shared};
use crate::encode::methods::Versions;
use crate::kernel_driver::facts;
use crate::submission::channel::Group;
use crate::submission::fence::Fence;
use crate::submission::lane::{Lane, Lanes, Parts};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

/// Compute channels of one context. Further streams share them.
const MOST_LANES: usize = 32;
/// Engine type of compute, and of the first copy engine.
const GRAPHICS: u32 = 1;
const FIRST_COPY: u32 = 9;

impl Shared {
    /// A compute lane for a stream: a new one while there are few, then those in turn. While a host fence is not
    /// signalled it is a separate one, because work in the others may wait for that fence.
    pub fn lane(&self) -> Result<Arc<Lane>> {
        let mut lanes = self.lanes.write().unwrap_or_else(PoisonError::into_inner);
        if self.gates.load(Ordering::Acquire) != 0 {
            return self.take_own(&mut lanes);
        }
        let turn = self.next_lane.fetch_add(1, Ordering::Relaxed) as usize;
        if let Some(lane) = lanes.compute.get(turn % MOST_LANES) {
            return Ok(Arc::clone(lane));
        }
        let lane = self.new_compute_lane(&mut lanes)?;
        lanes.compute.push(Arc::clone(&lane));
        Ok(lane)
    }

    /// Another lane for a stream that is about to wait for `fences`, if the wait could hold up other streams of `lane`.
    pub fn lane_apart(&self, lane: &Arc<Lane>, fences: &[Fence]) -> Result<Option<Arc<Lane>>> {
        if self.gates.load(Ordering::Acquire) == 0 {
            return Ok(None);
        }
        let mut is_open = false;
        for fence in fences {
            is_open |= !self.reached(*fence)?;
        }
        let mut lanes = self.lanes.write().unwrap_or_else(PoisonError::into_inner);
        // The list has one reference, and the stream another one. A new stream takes a lane with the list locked.
        let is_shared = Arc::strong_count(lane) > 2;
        if is_open && is_shared { self.take_own(&mut lanes).map(Some) } else { Ok(None) }
    }

    /// A lane of one stream: of a stream that is gone, and whose work has ended, or a new one.
    fn take_own(&self, lanes: &mut Lanes) -> Result<Arc<Lane>> {
        let is_free =
            |lane: &&Arc<Lane>| Arc::strong_count(lane) == 1 && lane.timeline.reached(lane.timeline.submitted());
        if let Some(lane) = lanes.own.iter().find(is_free) {
            return Ok(Arc::clone(lane));
        }
        let lane = self.new_compute_lane(lanes)?;
        lanes.own.push(Arc::clone(&lane));
        Ok(lane)
    }

    fn new_compute_lane(&self, lanes: &mut Lanes) -> Result<Arc<Lane>> {
        let group = match lanes.group {
            Some(group) => group,
            None => *lanes.group.insert(Group::new(&self.link, self.space.handle, GRAPHICS, true)?),
        };
        self.new_lane(group, false)
    }

    fn new_lane(&self, group: Group, copies_only: bool) -> Result<Arc<Lane>> {
        let parts = Parts {
            space: &self.space,
            group,
            classes: self.chip.classes,
            versions: Versions { sm: self.chip.sm, descriptor: self.chip.format.major },
            notifier: self.control.memory(),
            timeline: self.timeline()?,
            windows: (self.windows.shared, self.windows.local),
            copies_only,
            order: self.options.order,
            placement: self.options.placement,
            yields: self.options.yield_on_wait,
        };
        Lane::new(parts).map(Arc::new)
    }

    /// The lane of a copy engine; made at its first use.
    pub fn copy_lane(&self, direction: Direction) -> Result<Arc<Lane>> {
        let slot = direction as usize;
        if let Some(Some(lane)) = self.lanes.read().unwrap_or_else(PoisonError::into_inner).copy.get(slot) {
            return Ok(Arc::clone(lane));
        }
        let engines = self.copy_engines()?;
        let engine = engines.get(slot % engines.len().max(1)).copied();
        let engine = engine.ok_or(Error::Unsupported("a GPU without copy engines"))?;
        let mut lanes = self.lanes.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(Some(lane)) = lanes.copy.get(slot) {
            return Ok(Arc::clone(lane));
        }
        let group = Group::new(&self.link, self.space.handle, FIRST_COPY + engine, false)?;
        let lane = self.new_lane(group, true)?;
        if let Some(place) = lanes.copy.get_mut(slot) {
            *place = Some(Arc::clone(&lane));
        }
        Ok(lane)
    }

    /// The copy engines that are not a part of the graphics engine.
    fn copy_engines(&self) -> Result<Vec<u32>> {
        let engines = facts::copy_engines(&self.link)?;
        Ok(engines.into_iter().filter(|(_, of_graphics)| !of_graphics).map(|(number, _)| number).collect())
    }
}
