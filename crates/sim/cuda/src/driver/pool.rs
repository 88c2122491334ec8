//! How much memory of a device a pool holds. A pool takes it in large steps and keeps what the program frees until the
//! program waits. Other allocations cannot have what it holds. The rules were measured on an H100 with driver 580.

use super::config;
use super::fault::{Answer, Fault};

/// What a pool takes at a time; less only if the device has no more.
const STEPS: [u64; 3] = [32 << 20, 2 << 20, 4096];
const STEP: u64 = STEPS[0];

/// A memory pool: its counts and its settings; the memory itself is not shared with other allocations.
#[derive(Clone, Default)]
pub struct Pool {
    pub device: i32,
    pub default: bool,
    /// The program has destroyed it. It stays as long as allocations of it are in use, for them alone.
    pub destroyed: bool,
    /// Three kinds of reuse, and how many free bytes it may keep when the program waits.
    pub settings: [u64; 4],
    pub used: u64,
    pub used_high: u64,
    pub held: u64,
    pub held_high: u64,
    /// Freed since the program waited last.
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
    /// Room for so many bytes more; takes it of the device, of which so many are in use, if there is not enough.
    pub fn take(&mut self, size: u64, in_use: &mut u64) -> Answer {
        let used = self.used.checked_add(size).ok_or(Fault::OUT_OF_MEMORY)?;
        if used > self.held {
            let most = config::config().memory.saturating_sub(*in_use).saturating_add(self.held);
            let mut wanted = STEPS.iter().filter_map(|step| used.checked_next_multiple_of(*step));
            let held = wanted.find(|held| *held <= most).ok_or(Fault::OUT_OF_MEMORY)?;
            *in_use += held - self.held;
            self.held = held;
            self.held_high = self.held_high.max(held);
        }
        self.used = used;
        self.used_high = self.used_high.max(used);
        self.freed = self.freed.min(self.held - used);
        Ok(())
    }

    /// So many bytes are free again; it still holds them.
    pub fn give(&mut self, size: u64) {
        self.used = self.used.saturating_sub(size);
        self.freed = self.freed.saturating_add(size).min(self.held.saturating_sub(self.used));
    }

    /// Holds no more than that.
    fn shrink(&mut self, at_least: u64, in_use: &mut u64) {
        let less = self.held.saturating_sub(at_least);
        self.held -= less;
        *in_use = in_use.saturating_sub(less);
    }

    /// The program has waited: what is free and more than it may keep goes.
    pub fn settle(&mut self, in_use: &mut u64) {
        self.freed = 0;
        let kept = self.settings[3] / STEP * STEP;
        self.shrink(whole_steps(self.used).max(kept), in_use);
    }

    /// The program wants it to keep no more than that; what was freed and not waited for may be in use yet.
    pub fn trim(&mut self, keep: u64, in_use: &mut u64) {
        self.shrink(whole_steps(self.used + self.freed).max(whole_steps(keep)), in_use);
    }

    /// The program destroys it: it keeps nothing that is free.
    pub fn destroy(&mut self, in_use: &mut u64) {
        self.destroyed = true;
        self.settings[3] = 0;
        self.settle(in_use);
    }
}
