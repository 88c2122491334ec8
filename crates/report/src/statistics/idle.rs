//! When a device or a stream had work, and the pauses in between.

use cutap_trace::{WorkRow, WorkRows};
use std::collections::BTreeMap;

/// Shorter pauses are none: the GPU needs as long between two kernels that wait in its queue.
pub const SHORTEST_NS: u64 = 2_000;

/// Between two submissions a framework needs less. In more time the host does something else than to submit.
pub const LONGEST_BREAK_NS: u64 = 100_000;

/// A pause between two pieces of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// The end of all earlier work.
    pub from_ns: u64,
    /// How long it lasted.
    pub ns: u64,
    /// The place of the work that ended it.
    pub next: usize,
}

/// How a device or a stream spent its time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Busy {
    /// Nanoseconds with work.
    pub busy_ns: u64,
    /// From the beginning of the first work to the end of the last.
    pub whole_ns: u64,
    /// In the order of time.
    pub pauses: Vec<Pause>,
}

impl Busy {
    /// By beginnings and ends of work, in the order of beginnings. Work may overlap.
    pub fn of(work: impl Iterator<Item = (u64, u64)>) -> Busy {
        let (mut busy, mut begin_ns, mut end_ns) = (Busy::default(), None, None);
        for (next, (start, end)) in work.enumerate() {
            begin_ns.get_or_insert(start);
            let from_ns = end_ns.unwrap_or(start);
            busy.busy_ns += end.saturating_sub(start.max(from_ns));
            let ns = start.saturating_sub(from_ns);
            if ns >= SHORTEST_NS {
                busy.pauses.push(Pause { from_ns, ns, next });
            }
            end_ns = Some(from_ns.max(end));
        }
        busy.whole_ns = end_ns.unwrap_or(0).saturating_sub(begin_ns.unwrap_or(0));
        busy
    }
}

/// The place of a run, and the number of a device in it.
pub type DeviceKey = (u32, u32);

/// The work of each device with times that can be, in the order of beginnings.
pub fn work_by_device<'a>(work: &WorkRows<'a>) -> BTreeMap<DeviceKey, Vec<&'a WorkRow>> {
    let mut devices: BTreeMap<DeviceKey, Vec<&'a WorkRow>> = BTreeMap::new();
    for row in work.rows().filter(|row| row.took_ns().is_some()) {
        let run = row.process.run.as_ref().map_or(0, |run| run.place);
        devices.entry((run, row.row.place.device)).or_default().push(row);
    }
    devices.values_mut().for_each(|work| work.sort_by_key(|row| row.start_ns));
    devices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_and_overlaps() {
        let work = [(1_000, 5_000), (2_000, 4_000), (4_500, 9_000), (9_900, 10_000), (15_000, 16_000)];
        let busy = Busy::of(work.into_iter());
        assert_eq!((busy.busy_ns, busy.whole_ns), (9_100, 15_000));
        assert_eq!(busy.pauses, [Pause { from_ns: 10_000, ns: 5_000, next: 4 }]);
        assert_eq!(Busy::of(std::iter::empty()), Busy::default());
    }
}
