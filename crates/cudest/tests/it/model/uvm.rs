//! The unified memory driver of the model: what it refuses is what an H200 with driver 580.159.04 refused.

use super::{State, long, put, word};
use std::collections::{BTreeMap, HashSet};

const INVALID_FLAGS: u32 = 0x29;
const INVALID_ADDRESS: u32 = 0x1e;
const INVALID_ARGUMENT: u32 = 0x1f;
const NOT_READY: u32 = 0x5d;

#[derive(Default)]
pub struct Uvm {
    nodes: HashSet<i32>,
    initialized: HashSet<i32>,
    /// Whether the process's memory is known.
    process: bool,
    gpu: bool,
    space: bool,
    /// Ranges without RM: address and length.
    ranges: BTreeMap<u64, u64>,
    channels: HashSet<u32>,
}

impl Uvm {
    pub fn opened(&mut self, fd: i32) {
        self.nodes.insert(fd);
    }

    pub fn closed(&mut self, fd: i32) {
        if self.nodes.remove(&fd) && self.nodes.is_empty() {
            *self = Self::default();
        }
    }

    pub fn has(&self, fd: i32) -> bool {
        self.nodes.contains(&fd)
    }

    pub fn is_registered(&self, channel: u32) -> bool {
        self.channels.contains(&channel)
    }
}

impl State {
    /// One request; the status is written into its struct.
    pub fn uvm(&mut self, fd: i32, number: u32, call: &mut [u8]) {
        let (at, status) = match number {
            0x3000_0001 => {
                self.uvm.initialized.insert(fd);
                (8, 0)
            }
            75 => {
                self.uvm.process = self.uvm.initialized.contains(&(word(call, 0) as i32)) && word(call, 0) as i32 != fd;
                (4, if self.uvm.process { 0 } else { INVALID_ARGUMENT })
            }
            37 => {
                self.uvm.gpu = self.uvm.initialized.contains(&fd) && word(call, 24) == u32::MAX;
                (36, if self.uvm.gpu { 0 } else { INVALID_ARGUMENT })
            }
            25 => {
                self.uvm.space = self.uvm.gpu && self.external.contains(&word(call, 24));
                (28, if self.uvm.space { 0 } else { INVALID_FLAGS })
            }
            27 => (48, self.register_channel(word(call, 24), long(call, 32), long(call, 40))),
            73 => (16, self.range(long(call, 0), long(call, 8))),
            33 => (9260, self.map_external(call)),
            34 => {
                let found = self.uvm.ranges.remove(&long(call, 0)).is_some_and(|length| length == long(call, 8));
                self.mapped.remove(&long(call, 0));
                (16, if found { 0 } else { INVALID_ADDRESS })
            }
            _ => panic!("request {number} to the unified memory driver"),
        };
        put(call, at, &status.to_le_bytes());
    }

    fn register_channel(&mut self, channel: u32, base: u64, length: u64) -> u32 {
        assert!(self.parents.contains_key(&channel), "an unknown channel");
        let is_compute =
            self.parents.iter().any(|(object, parent)| *parent == channel && self.compute.contains(object));
        if !self.uvm.space || (is_compute && (base == 0 || length == 0)) {
            return INVALID_ADDRESS;
        }
        self.uvm.channels.insert(channel);
        0
    }

    fn range(&mut self, base: u64, length: u64) -> u32 {
        let overlaps = self.uvm.ranges.iter().any(|(at, size)| base < at + size && *at < base + length);
        if overlaps || !(base | length).is_multiple_of(4096) || length == 0 {
            return INVALID_ADDRESS;
        }
        self.uvm.ranges.insert(base, length);
        0
    }

    fn map_external(&mut self, call: &[u8]) -> u32 {
        let (base, length, offset, memory) = (long(call, 0), long(call, 8), long(call, 16), word(call, 9256));
        if !self.uvm.process || !self.uvm.space {
            return NOT_READY;
        }
        let inside = self.uvm.ranges.get(&base).is_some_and(|size| length <= *size);
        if !inside || long(call, 9240) != 1 || !self.memory.contains_key(&memory) {
            return INVALID_ARGUMENT;
        }
        if let Some(at) = self.cpu.get(&memory) {
            assert_eq!(*at, base, "CPU and GPU have one address in mode B");
        }
        self.mapped.insert(base, (length, memory, offset));
        0
    }
}
