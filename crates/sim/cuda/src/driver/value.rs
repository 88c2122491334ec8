//! Words of memory that a stream writes or waits for.

use super::allocation;
use super::driver_state::DriverState;
use super::fault::{Answer, Fault};
use super::stream::Work;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A word of memory known to the driver.
#[derive(Clone, Copy)]
pub enum Word {
    Half(&'static AtomicU32),
    Whole(&'static AtomicU64),
}

fn check(world: &DriverState, address: u64, size: u64) -> Answer {
    if address.is_multiple_of(size) { allocation::require(world, address, size) } else { Err(Fault::INVALID_VALUE) }
}

impl Word {
    pub fn half(world: &DriverState, address: u64) -> Answer<Self> {
        check(world, address, 4)?;
        // SAFETY: aligned and in an allocation; a program that frees what a stream still uses breaks the rules.
        Ok(Word::Half(unsafe { AtomicU32::from_ptr(address as *mut u32) }))
    }

    pub fn whole(world: &DriverState, address: u64) -> Answer<Self> {
        check(world, address, 8)?;
        // SAFETY: as in `half`.
        Ok(Word::Whole(unsafe { AtomicU64::from_ptr(address as *mut u64) }))
    }

    fn store(self, value: u64) {
        match self {
            Word::Half(word) => word.store(value as u32, Ordering::SeqCst),
            Word::Whole(word) => word.store(value, Ordering::SeqCst),
        }
    }

    /// How to compare: 0 not less (with wrap), 1 equal, 2 and, 3 nor. Half words are compared in the upper half.
    fn holds(self, value: u64, how: u32) -> bool {
        let (now, value, ones) = match self {
            Word::Half(word) => (u64::from(word.load(Ordering::SeqCst)) << 32, value << 32, u64::MAX << 32),
            Word::Whole(word) => (word.load(Ordering::SeqCst), value, u64::MAX),
        };
        match how {
            0 => now.wrapping_sub(value) as i64 >= 0,
            1 => now == value,
            2 => now & value != 0,
            _ => !(now | value) & ones != 0,
        }
    }
}

/// One operation on a word.
#[derive(Clone, Copy)]
pub enum Operation {
    Write(Word, u64),
    Wait(Word, u64, u32),
}

impl Operation {
    pub fn work(&self) -> Work {
        match *self {
            Operation::Write(word, value) => Work::Ours(Box::new(move || word.store(value))),
            Operation::Wait(word, value, how) => Work::Until(Box::new(move || word.holds(value, how))),
        }
    }
}
