//! Memory of a context that comes, and that goes after the work that uses it.

use crate::allocation::{Allocation, Request};
use crate::context::{Shared, lock};
use crate::error::{Error, Result};
use crate::fence::Fence;
use crate::pool::Owner;
use std::ptr::NonNull;

impl Shared {
    /// Frees memory after the work that was submitted until now.
    pub fn bury(&self, owner: Owner) {
        let fences = self.pending();
        if !fences.is_empty() && self.loss().is_none() {
            lock(&self.buried).push((fences, owner));
        }
        self.dig();
    }

    /// Frees what no work uses any more.
    pub fn dig(&self) {
        let lost = self.loss().is_some();
        let is_done = |fences: &Vec<Fence>| lost || fences.iter().all(|fence| self.reached(*fence).unwrap_or(true));
        let freed: Vec<_> = lock(&self.buried).extract_if(.., |(fences, _)| is_done(fences)).collect();
        drop(freed);
    }

    pub fn allocate(&self, request: Request) -> Result<Allocation> {
        self.check()?;
        match Allocation::new(&self.space, request) {
            Err(Error::NoMemory { .. }) if !lock(&self.buried).is_empty() => {
                self.idle()?;
                self.dig();
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
