//! A set of address ranges. Looking one up takes the same time however many there are.

use std::collections::BTreeMap;

/// Disjoint ranges: the end of each by its start.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds a range of so many bytes.
    pub(crate) fn add(&mut self, address: u64, length: u64) {
        let (mut from, mut to) = (address, address.saturating_add(length));
        while let Some((start, end)) = self.last_before(to).filter(|(_, end)| *end >= from) {
            self.0.remove(&start);
            (from, to) = (from.min(start), to.max(end));
        }
        if from < to {
            self.0.insert(from, to);
        }
    }

    /// Takes a range out; what is left of others stays.
    pub(crate) fn remove(&mut self, address: u64, length: u64) {
        let (from, to) = (address, address.saturating_add(length));
        while let Some((start, end)) = self.last_before(to).filter(|(_, end)| *end > from) {
            self.0.remove(&start);
            if end > to {
                self.0.insert(to, end);
            }
            if start < from {
                self.0.insert(start, from);
            }
        }
    }

    /// Whether a range shares a byte with one of them.
    pub(crate) fn overlap(&self, address: u64, length: u64) -> bool {
        self.last_before(address.saturating_add(length)).is_some_and(|(_, end)| end > address)
    }

    fn last_before(&self, to: u64) -> Option<(u64, u64)> {
        self.0.range(..to).next_back().map(|(start, end)| (*start, *end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_a_list_would() {
        let mut ranges = Ranges::default();
        let mut bytes = [false; 64];
        for n in 0..2000_u64 {
            let (address, length) = (n * 7919 % 60, n * 104_729 % 9);
            let range = bytes.iter_mut().skip(address as usize).take(length as usize);
            match n % 3 {
                0 => (ranges.add(address, length), range.for_each(|b| *b = true)).0,
                1 => (ranges.remove(address, length), range.for_each(|b| *b = false)).0,
                _ => assert_eq!(ranges.overlap(address, length), range.into_iter().any(|b| *b), "{n}"),
            }
        }
        ranges.add(u64::MAX - 1, 9);
        assert!(ranges.overlap(u64::MAX - 5, 100) && !ranges.overlap(100, 100));
    }
}
