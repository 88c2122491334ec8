//! Sums of the boxes that are not kept: for each lane, depth and name, in bins of time. Bins are about a microsecond
//! wide at first, and twice as wide whenever there are too many sums.

use crate::boxes::TimeBox;
use foldhash::HashMap;

/// Lane, depth, bin, name.
type Bin = (u32, u16, u64, u32);

/// Sums in bins.
#[derive(Debug)]
pub struct DroppedBoxes {
    sums: HashMap<Bin, Sum>,
    /// Nanoseconds of a bin are two to the power of this.
    width: u32,
    most: usize,
    all: Sum,
}

/// How many boxes begin in a bin, and how long they take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum {
    pub count: u64,
    pub ns: u64,
}

impl DroppedBoxes {
    /// Has `most` sums at most.
    pub fn new(most: usize) -> DroppedBoxes {
        DroppedBoxes { sums: HashMap::default(), width: 10, most: most.max(1), all: Sum::default() }
    }

    /// Adds a box.
    pub fn add(&mut self, lane: u32, depth: u16, start_ns: u64, name: u32, took_ns: u64) {
        let sum = self.sums.entry((lane, depth, start_ns >> self.width, name)).or_default();
        for sum in [sum, &mut self.all] {
            sum.count += 1;
            sum.ns = sum.ns.saturating_add(took_ns);
        }
        while self.sums.len() > self.most && self.width < 63 {
            self.widen();
        }
    }

    /// Adds a box that was kept before.
    pub fn add_box(&mut self, of: &TimeBox) {
        self.add(of.lane, of.depth, of.start_ns, of.name, of.took_ns);
    }

    fn widen(&mut self) {
        self.width += 1;
        for ((lane, depth, bin, name), sum) in std::mem::take(&mut self.sums) {
            let wider = self.sums.entry((lane, depth, bin >> 1, name)).or_default();
            wider.count += sum.count;
            wider.ns = wider.ns.saturating_add(sum.ns);
        }
    }

    /// Of all boxes.
    pub fn all(&self) -> Sum {
        self.all
    }

    /// Nanoseconds of a bin.
    pub fn width_ns(&self) -> u64 {
        1 << self.width
    }

    /// The sums by lane, depth and time; in a bin the one with the most time first.
    pub fn finish(self) -> Vec<(Bin, Sum)> {
        let mut sums: Vec<(Bin, Sum)> = self.sums.into_iter().collect();
        sums.sort_by_key(|((lane, depth, bin, name), sum)| (*lane, *depth, *bin, std::cmp::Reverse(sum.ns), *name));
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_stay_when_bins_widen() {
        let mut dropped = DroppedBoxes::new(16);
        (0..10_000u64).for_each(|n| dropped.add(0, (n % 2) as u16, n * 1000, (n % 3) as u32, n % 7));
        let (all, width) = (dropped.all(), dropped.width_ns());
        let sums = dropped.finish();
        assert!(sums.len() <= 16 && width >= 1 << 20, "{} of {width}", sums.len());
        assert_eq!(sums.iter().map(|(_, sum)| sum.count).sum::<u64>(), 10_000);
        assert_eq!(sums.iter().map(|(_, sum)| sum.ns).sum::<u64>(), all.ns);
        assert!(sums.is_sorted_by_key(|((lane, depth, bin, _), _)| (*lane, *depth, *bin)));
    }
}
