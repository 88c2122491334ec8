//! How busy each device is, by the rows of its work. Rows come late and many together, so a share is of the time that
//! the rows of an interval cover.

use crate::snapshot::DeviceShare;
use cutap_trace::{CuptiClock, GpuRow};
use cutap_wire::rows::RowContent;
use std::collections::BTreeMap;

/// The work of a device, in nanoseconds of CUPTI's clock.
#[derive(Debug, Default)]
struct DeviceWork {
    pid: u32,
    /// Beginning and end of the rows of this interval.
    rows: Vec<(u64, u64)>,
    /// Up to here all was counted.
    counted_to: u64,
}

/// All devices, by the keys of their processes.
#[derive(Debug, Default)]
pub struct Devices {
    work: BTreeMap<(u32, u32), DeviceWork>,
    clocks: BTreeMap<u32, CuptiClock>,
}

impl Devices {
    /// Takes a row.
    pub fn row(&mut self, row: &GpuRow) {
        let (process, place) = (row.process.key, &row.row.place);
        if let RowContent::Clock { time } = row.row.content {
            self.clocks.entry(process).or_default().add(time, place.start, place.end);
        }
        if !row.row.is_work() || place.start == 0 || place.end < place.start {
            return;
        }
        let work = self.work.entry((process, place.device)).or_default();
        work.pid = row.process.pid;
        work.rows.push((place.start, place.end));
    }

    /// The shares of the interval, which ends at this time.
    pub fn shares(&mut self, end_ns: u64) -> Vec<DeviceShare> {
        self.clocks.values_mut().for_each(CuptiClock::sort);
        let clocks = &self.clocks;
        let share = |((process, device), work): (&(u32, u32), &mut DeviceWork)| {
            let busy = work.share();
            let last = clocks.get(process).and_then(|clock| clock.monotonic(work.counted_to));
            let age_ns = last.map(|last| end_ns.saturating_sub(last));
            DeviceShare { pid: work.pid, device: *device, busy, age_ns }
        };
        self.work.iter_mut().map(share).collect()
    }
}

impl DeviceWork {
    /// The busy part of the time between what was counted before and the last row; none without a row.
    fn share(&mut self) -> Option<f64> {
        let mut rows = std::mem::take(&mut self.rows);
        rows.sort_unstable();
        let begin = if self.counted_to == 0 { rows.first()?.0 } else { self.counted_to };
        let (mut busy, mut end) = (0, begin);
        for (row_start, row_end) in rows {
            busy += row_end.saturating_sub(row_start.max(end));
            end = end.max(row_end);
        }
        self.counted_to = end;
        (end > begin).then(|| busy as f64 / (end - begin) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_at_the_same_time_counts_once() {
        let mut work = DeviceWork::default();
        assert_eq!(work.share(), None);
        work.rows = vec![(1_050, 1_100), (1_000, 1_080), (1_150, 1_200)];
        assert_eq!(work.share(), Some(0.75));
        // Late rows, before what was counted, add nothing; the pause before the next row counts.
        work.rows = vec![(1_100, 1_150), (1_300, 1_400)];
        assert_eq!(work.share(), Some(0.5));
        assert_eq!(work.share(), None);
    }
}
