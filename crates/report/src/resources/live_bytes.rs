//! How many bytes are allocated at a time, the most that there were, and who had them then. Memory grows with the
//! number of places that allocate, and each event takes the same time however many there are.

use std::collections::HashMap;

/// Allocated bytes of one kind of memory in one process.
#[derive(Debug, Default)]
pub(crate) struct LiveBytes {
    live: u64,
    peak: u64,
    peak_ns: u64,
    /// Nothing was freed since the peak was reached.
    is_at_peak: bool,
    /// By the place that allocated.
    by_place: HashMap<u32, PlaceBytes>,
    /// Places that changed since `at_peak` was set.
    changed: Vec<u32>,
}

#[derive(Debug, Default, Clone, Copy)]
struct PlaceBytes {
    live: u64,
    at_peak: u64,
    is_changed: bool,
}

/// What places hold.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Holding {
    pub at_peak: u64,
    pub at_end: u64,
}

impl LiveBytes {
    /// A place allocates.
    pub fn allocated(&mut self, place: u32, bytes: u64, ns: u64) {
        self.change(place).live += bytes;
        self.live = self.live.saturating_add(bytes);
        if self.live > self.peak {
            (self.peak, self.peak_ns, self.is_at_peak) = (self.live, ns, true);
        }
    }

    /// What a place allocated is freed.
    pub fn freed(&mut self, place: u32, bytes: u64) {
        if std::mem::take(&mut self.is_at_peak) {
            for place in std::mem::take(&mut self.changed) {
                self.by_place.entry(place).and_modify(|held| {
                    *held = PlaceBytes { live: held.live, at_peak: held.live, is_changed: false };
                });
            }
        }
        let entry = self.change(place);
        entry.live = entry.live.saturating_sub(bytes);
        self.live = self.live.saturating_sub(bytes);
    }

    fn change(&mut self, place: u32) -> &mut PlaceBytes {
        let entry = self.by_place.entry(place).or_default();
        if !std::mem::replace(&mut entry.is_changed, true) {
            self.changed.push(place);
        }
        entry
    }

    /// Bytes at the end.
    pub fn live(&self) -> u64 {
        self.live
    }

    /// The most bytes at a time, and when they were reached first.
    pub fn peak(&self) -> (u64, u64) {
        (self.peak, self.peak_ns)
    }

    /// What a place holds.
    pub fn holding(&self, place: u32) -> Holding {
        let PlaceBytes { live, at_peak, is_changed } = self.by_place.get(&place).copied().unwrap_or_default();
        Holding { at_peak: if self.is_at_peak && is_changed { live } else { at_peak }, at_end: live }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &LiveBytes, place: u32) -> (u64, u64) {
        let Holding { at_peak, at_end } = bytes.holding(place);
        (at_peak, at_end)
    }

    #[test]
    fn who_holds_it_at_the_peak() {
        let mut bytes = LiveBytes::default();
        for n in 0..1000 {
            bytes.allocated(1, 1, n);
            bytes.freed(1, 1);
        }
        assert_eq!((bytes.peak(), of(&bytes, 1)), ((1, 0), (1, 0)));
        bytes.allocated(2, 512, 2000);
        assert_eq!((of(&bytes, 1), of(&bytes, 2)), ((0, 0), (512, 512)), "the peak is now");
        bytes.allocated(1, 3, 2001);
        bytes.freed(1, 3);
        bytes.allocated(3, 2, 2002);
        assert_eq!((bytes.peak(), bytes.live()), ((515, 2001), 514));
        assert_eq!([1, 2, 3].map(|n| of(&bytes, n)), [(3, 0), (512, 512), (0, 2)]);
        bytes.freed(2, 512);
        bytes.allocated(3, 513, 2003);
        assert_eq!([1, 2, 3].map(|n| of(&bytes, n)), [(3, 0), (512, 0), (0, 515)], "as much as before is no new peak");
        bytes.allocated(3, 1, 2004);
        assert_eq!((bytes.peak(), [1, 2, 3].map(|n| of(&bytes, n))), ((516, 2004), [(0, 0), (0, 0), (516, 516)]));
    }

    /// The same numbers as from a table of all places that is copied at each peak.
    #[test]
    fn as_a_copy_at_each_peak() {
        let (mut bytes, mut all, mut copy, mut peak) = (LiveBytes::default(), [0u64; 5], [0u64; 5], 0);
        let mut number = 7u64;
        for n in 0..10_000 {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (place, size) = ((number >> 33) as usize % 5, number >> 40 & 0xff);
            if number >> 60 < 9 {
                bytes.allocated(place as u32, size, n);
                all[place] += size;
            } else {
                let size = size.min(all[place]);
                bytes.freed(place as u32, size);
                all[place] -= size;
            }
            if all.iter().sum::<u64>() > peak {
                (peak, copy) = (all.iter().sum(), all);
            }
            for place in 0..5 {
                assert_eq!(of(&bytes, place as u32), (copy[place], all[place]), "step {n}, place {place}");
            }
        }
    }
}
