//! How much memory of a device a pool holds. A pool takes memory in large steps and keeps freed memory until the
//! program waits. Other allocations cannot use the memory that a pool holds. The rules were measured on an H100 with
//! driver 580.

use crate::abi::{Answer, Fault};

/// The steps in which a pool takes memory, in bytes. It uses a smaller step only when the device has too little left.
const STEPS: [u64; 3] = [32 << 20, 2 << 20, 4096];
const STEP: u64 = STEPS[0];

/// The counts and settings of a memory pool. Counts are in bytes.
#[derive(Clone, Default)]
pub struct Pool {
    pub device: i32,
    pub default: bool,
    /// The program has destroyed it. It exists while allocations from it are in use.
    pub destroyed: bool,
    /// Three kinds of reuse, and the number of free bytes that it may keep when the program waits.
    pub settings: [u64; 4],
    pub used: u64,
    pub used_high: u64,
    pub reserved: u64,
    pub reserved_high: u64,
    /// Bytes that were freed since the program last waited.
    freed: u64,
}

impl Pool {
    pub fn new(device: i32, default: bool) -> Self {
        Pool { device, default, settings: [1, 1, 1, 0], ..Pool::default() }
    }
}

fn whole_steps(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(STEP).unwrap_or(u64::MAX)
}

impl Pool {
    /// Uses `size` more bytes. If the pool holds too little, it takes memory from the device, which has `in_use` of its
    /// `memory` bytes in use.
    pub fn take(&mut self, size: u64, in_use: &mut u64, memory: u64) -> Answer {
        let used = self.used.checked_add(size).ok_or(Fault::OUT_OF_MEMORY)?;
        if used > self.reserved {
            let most = memory.saturating_sub(*in_use).saturating_add(self.reserved);
            let mut sizes = STEPS.iter().filter_map(|step| used.checked_next_multiple_of(*step));
            let reserved = sizes.find(|reserved| *reserved <= most).ok_or(Fault::OUT_OF_MEMORY)?;
            *in_use += reserved - self.reserved;
            self.reserved = reserved;
            self.reserved_high = self.reserved_high.max(reserved);
        }
        self.used = used;
        self.used_high = self.used_high.max(used);
        self.freed = self.freed.min(self.reserved - used);
        Ok(())
    }

    /// Uses `size` bytes less. The pool still holds them.
    pub fn give(&mut self, size: u64) {
        self.used = self.used.saturating_sub(size);
        self.freed = self.freed.saturating_add(size).min(self.reserved.saturating_sub(self.used));
    }

    /// Returns memory to the device, down to `at_least` bytes.
    fn shrink(&mut self, at_least: u64, in_use: &mut u64) {
        let less = self.reserved.saturating_sub(at_least);
        self.reserved -= less;
        *in_use = in_use.saturating_sub(less);
    }

    /// Called after the program has waited: returns the free memory above the number of bytes that it may keep.
    pub fn settle(&mut self, in_use: &mut u64) {
        self.freed = 0;
        let threshold = self.settings[3] / STEP * STEP;
        self.shrink(whole_steps(self.used).max(threshold), in_use);
    }

    /// Returns free memory above `keep` bytes. Memory that was freed since the last wait may still be in use and stays.
    pub fn trim(&mut self, keep: u64, in_use: &mut u64) {
        self.shrink(whole_steps(self.used + self.freed).max(whole_steps(keep)), in_use);
    }

    /// Called when the program destroys it: returns all free memory.
    pub fn destroy(&mut self, in_use: &mut u64) {
        self.destroyed = true;
        self.settings[3] = 0;
        self.settle(in_use);
    }
}
