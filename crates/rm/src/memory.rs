//! The caller's memory, which embedded pointers lead to: the decoder asks for it, somebody else reads it.

use alloc::vec::Vec;

/// Before or after the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Moment {
    /// As the driver was asked.
    Before,
    /// As it answered.
    After,
}

/// Reads the memory of the process that made a request.
pub trait Memory {
    /// Copies from `address`, as far as it can be read, and gives the number of bytes.
    fn read(&mut self, moment: Moment, address: u64, into: &mut [u8]) -> usize;
}

/// No memory: pointers are shown and not followed.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMemory;

impl Memory for NoMemory {
    fn read(&mut self, _: Moment, _: u64, _: &mut [u8]) -> usize {
        0
    }
}

/// Memory that was kept: pieces with their addresses, before and after.
///
/// A tracer decodes a request twice. Before the call its [`Memory`] reads the process, and keeps each piece here. After
/// the call the tracer reads these pieces again, and decodes with both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fragments {
    /// Address, bytes before, bytes after where they were read.
    pub all: Vec<(u64, Vec<u8>, Option<Vec<u8>>)>,
}

impl Memory for Fragments {
    fn read(&mut self, moment: Moment, address: u64, into: &mut [u8]) -> usize {
        for (from, before, after) in &self.all {
            let bytes = match (moment, after) {
                (Moment::Before, _) => before,
                (Moment::After, Some(after)) => after,
                (Moment::After, None) => continue,
            };
            let skip = address.checked_sub(*from).and_then(|n| usize::try_from(n).ok());
            let Some(found) = skip.and_then(|n| bytes.get(n..)).filter(|b| !b.is_empty()) else { continue };
            let length = found.len().min(into.len());
            if let (Some(to), Some(found)) = (into.get_mut(..length), found.get(..length)) {
                to.copy_from_slice(found);
                return length;
            }
        }
        0
    }
}
