//! What a process has at a moment of its trace: handles by number, allocations, each thread's device.
//! Follows calls in the order of their time and believes what they returned.

use super::device::Devices;
use super::places::Places;
use cutap_calls::known;
use std::collections::HashMap;

/// Handles beyond this many are not followed.
const MOST: usize = 1 << 20;

/// A process at a moment of its trace.
#[derive(Debug, Default)]
pub struct State {
    pub handles: Handles,
    pub places: Places,
    pub devices: Devices,
}

/// Handles, numbered by kind in the order in which they appear.
#[derive(Debug, Default)]
pub struct Handles {
    numbers: HashMap<(&'static str, u64), u32>,
    last: HashMap<&'static str, u32>,
    /// What a handle's description says of a type.
    carried: HashMap<(&'static str, u64), i64>,
}

impl Handles {
    /// The number of a handle; 0 for one too many.
    pub fn number(&mut self, kind: &known::Handle, value: u64) -> u32 {
        let key = (kind.short, value);
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        if self.numbers.len() >= MOST {
            return 0;
        }
        let last = self.last.entry(kind.short).or_default();
        *last += 1;
        self.numbers.insert(key, *last);
        *last
    }

    /// The handle carries a number from now on.
    pub fn carry(&mut self, kind: &known::Handle, value: u64, number: i64) {
        if self.carried.len() < MOST {
            self.carried.insert((kind.short, value), number);
        }
    }

    /// The number that a handle carries.
    pub fn carried(&self, kind: &known::Handle, value: u64) -> Option<i64> {
        self.carried.get(&(kind.short, value)).copied()
    }

    /// The handle ends: its address may come again, as another one.
    pub fn forget(&mut self, kind: &known::Handle, value: u64) {
        self.numbers.remove(&(kind.short, value));
        self.carried.remove(&(kind.short, value));
    }
}
