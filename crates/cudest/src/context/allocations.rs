//! Allocations of a context. What is freed goes after the work that uses it.

use crate::base::error::{Error, Result};
use crate::context::shared::{Shared, lock};
use crate::memory::allocation::{Allocation, Request};
use crate::memory::pool::Owner;
use crate::submission::fence::Fence;
use std::ptr::NonNull;

impl Shared {
    /// Frees memory after the work that was submitted until now.
    pub fn free_after_work(&self, owner: Owner) {
        let fences = self.pending();
        if !fences.is_empty() && self.loss().is_none() {
            lock(&self.deferred_frees).push((fences, owner));
        }
        self.free_finished();
    }

    /// Frees what no work uses any more.
    pub fn free_finished(&self) {
        let lost = self.loss().is_some();
        let is_done = |fences: &Vec<Fence>| lost || fences.iter().all(|fence| self.reached(*fence).unwrap_or(true));
        let freed: Vec<_> = lock(&self.deferred_frees).extract_if(.., |(fences, _)| is_done(fences)).collect();
        drop(freed);
    }

    pub fn allocate(&self, request: Request) -> Result<Allocation> {
        self.check()?;
        match Allocation::new(&self.space, request) {
            Err(Error::NoMemory { .. }) if !lock(&self.deferred_frees).is_empty() => {
                self.idle()?;
                self.free_finished();
                Allocation::new(&self.space, request)
            }
            result => result,
        }
    }

    pub fn register(&self, start: NonNull<u8>, length: u64) -> Result<Allocation> {
        self.check()?;
        Allocation::register(&self.space, start, length)
    }
}
