//! The boxes that are kept whole: the most important ones, up to a number.

use crate::boxes::{TimeBox, importance};
use std::cmp::Reverse;

/// Keeps so many at least, and twice as many at most while it reads.
#[derive(Debug)]
pub struct KeptBoxes {
    boxes: Vec<TimeBox>,
    most: usize,
    /// What has less importance is not kept.
    least: u64,
}

impl KeptBoxes {
    /// Keeps `most` of all.
    pub fn new(most: usize) -> KeptBoxes {
        KeptBoxes { boxes: Vec::new(), most: most.max(1), least: 0 }
    }

    /// Whether a box would be kept now. One that would not needs no texts.
    pub fn has_room_for(&self, flags: u8, took_ns: u64) -> bool {
        importance(flags, took_ns) >= self.least
    }

    /// Keeps a box. Boxes that have no place any more go to `dropped`.
    pub fn add(&mut self, one: TimeBox, dropped: &mut dyn FnMut(TimeBox)) {
        self.boxes.push(one);
        if self.boxes.len() >= 2 * self.most {
            self.shrink(dropped);
        }
    }

    /// Drops all but the most important.
    fn shrink(&mut self, dropped: &mut dyn FnMut(TimeBox)) {
        if self.boxes.len() <= self.most {
            return;
        }
        self.boxes.select_nth_unstable_by_key(self.most - 1, |of| Reverse(of.importance()));
        self.boxes.drain(self.most..).for_each(dropped);
        self.least = self.boxes.iter().map(TimeBox::importance).min().unwrap_or(0);
    }

    /// The boxes, by lane, depth and time.
    pub fn finish(mut self, dropped: &mut dyn FnMut(TimeBox)) -> Vec<TimeBox> {
        self.shrink(dropped);
        self.boxes.sort_by_key(|of| (of.lane, of.depth, of.start_ns));
        self.boxes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boxes::flag;

    fn of(took_ns: u64, flags: u8) -> TimeBox {
        let (detail, kernel, caller) = Default::default();
        TimeBox { lane: 0, depth: 0, start_ns: took_ns, took_ns, name: 0, flags, detail, kernel, caller }
    }

    #[test]
    fn the_longest_and_the_failures_stay() {
        let (mut boxes, mut dropped) = (KeptBoxes::new(10), Vec::new());
        for n in 0..1000u64 {
            let took = n.wrapping_mul(7919) % 1000;
            let flags = if took == 3 { flag::ERROR } else { 0 };
            let one = of(took, flags);
            match boxes.has_room_for(flags, took) {
                true => boxes.add(one, &mut |of| dropped.push(of.took_ns)),
                false => dropped.push(took),
            }
        }
        let took: Vec<u64> = boxes.finish(&mut |of| dropped.push(of.took_ns)).iter().map(|of| of.took_ns).collect();
        assert_eq!(took, [3, 991, 992, 993, 994, 995, 996, 997, 998, 999]);
        assert_eq!(dropped.len(), 990, "each box is kept or dropped");
    }
}
