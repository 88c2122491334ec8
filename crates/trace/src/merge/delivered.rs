//! An event on its way to whoever looks at it, who may be another thread and some events behind. What becomes known of
//! a call while it is open must not be seen before the event with which it does: it travels with the event.

use crate::event::{Call, Event};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// An event, and what becomes known with it of calls that are open.
#[derive(Debug)]
pub struct Delivered {
    event: Event,
    told: Vec<Arc<Call>>,
}

impl Delivered {
    /// `told` are calls of which something has become known.
    pub(crate) fn new(event: Event, told: &mut Vec<Arc<Call>>) -> Delivered {
        Delivered { event, told: std::mem::take(told) }
    }

    /// The event, to be looked at now: all before it have been, by the same thread.
    pub fn open(mut self) -> Event {
        tell(&mut self.told);
        self.event
    }
}

/// From now on it may be seen.
pub(crate) fn tell(told: &mut Vec<Arc<Call>>) {
    told.drain(..).for_each(|call| call.told.store(true, Relaxed));
}
