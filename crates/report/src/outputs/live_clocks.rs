//! CUPTI's clocks in a live trace, by the readings before a row. A run that is read later has the times of its rows
//! already.

use cutap_trace::{CuptiClock, GpuRow};
use cutap_wire::rows::RowContent;
use std::collections::HashMap;

/// The clock of each process, by its key.
#[derive(Debug, Default)]
pub struct LiveClocks(HashMap<u32, CuptiClock>);

impl LiveClocks {
    /// Beginning and end of a row, CLOCK_MONOTONIC. A row that is a reading of the clock sets it.
    pub fn times(&mut self, row: &GpuRow) -> Option<(u64, u64)> {
        if row.times.is_some() {
            return row.times;
        }
        let place = &row.row.place;
        if let RowContent::Clock { time } = row.row.content {
            let clock = self.0.entry(row.process.key).or_default();
            clock.add(time, place.start, place.end);
            clock.sort();
            return None;
        }
        let clock = self.0.get(&row.process.key)?;
        clock.monotonic(place.start).zip(clock.monotonic(place.end))
    }
}
