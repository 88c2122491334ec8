//! Which range of a program is its step: the one that repeats most regularly, at the outermost level where repeating
//! ranges have calls inside. Names that differ in numbers alone belong together.

use crate::nesting::range_spans::{LEVELS, RangeName, RangeSpan};
use std::collections::BTreeMap;

/// Ranges of one name that are steps at least.
const FEWEST: usize = 3;

/// The name of a step, with `*` in the place of numbers: `step *`.
pub(crate) fn family(text: &str) -> String {
    let mut family = String::new();
    let mut is_number = false;
    for c in text.chars() {
        if !c.is_ascii_digit() {
            family.push(c);
        } else if !is_number {
            family.push('*');
        }
        is_number = c.is_ascii_digit();
    }
    family
}

/// Ranges that repeat.
#[derive(Debug, Clone)]
pub(crate) struct Repeating {
    pub domain: String,
    /// Their name. Where they differ in numbers, those are `*`.
    pub name: String,
    /// In the order of their beginnings.
    pub steps: Vec<RangeSpan>,
}

/// The ranges of a level, by domain and name.
type Level<'a> = BTreeMap<(&'a str, String), Vec<&'a RangeSpan>>;

/// The steps among these ranges.
pub(crate) fn choose<'a>(spans: impl Iterator<Item = &'a RangeSpan>) -> Option<Repeating> {
    // Ranges of start and end have no level: they come last.
    let mut families: BTreeMap<(bool, u32), Level<'_>> = BTreeMap::new();
    for span in spans.filter(|span| span.depth < LEVELS && span.is_ended) {
        let RangeName { domain, text } = &span.name;
        let level = families.entry((span.is_started, span.depth)).or_default();
        level.entry((domain, family(text))).or_default().push(span);
    }
    let ((domain, family), spans) = families.into_values().find_map(most_regular)?;
    let mut steps: Vec<RangeSpan> = spans.into_iter().cloned().collect();
    steps.sort_by_key(|step| (step.start_ns, step.tid));
    let first = &*steps.first()?.name.text;
    let is_one_name = steps.iter().all(|step| *step.name.text == *first);
    let name = if is_one_name { first.to_owned() } else { family };
    Some(Repeating { domain: domain.to_owned(), name, steps })
}

/// Those of a level that repeat, have calls inside, and take most time at equal distances.
fn most_regular(level: Level<'_>) -> Option<((&str, String), Vec<&RangeSpan>)> {
    let repeats = |spans: &[&RangeSpan]| spans.len() >= FEWEST && spans.iter().any(|span| span.calls > 0);
    let candidates = level.into_iter().filter(|(_, spans)| repeats(spans));
    candidates.max_by(|a, b| weight(&a.1).total_cmp(&weight(&b.1)))
}

/// The time that the ranges take, less the more their beginnings are apart by different times.
fn weight(spans: &[&RangeSpan]) -> f64 {
    let mut threads: BTreeMap<(u32, u32), Vec<u64>> = BTreeMap::new();
    for span in spans {
        threads.entry((span.process.key, span.tid)).or_default().push(span.start_ns);
    }
    let mut periods: Vec<u64> = Vec::new();
    for starts in threads.values_mut() {
        starts.sort_unstable();
        periods.extend(starts.windows(2).map(|pair| pair[1] - pair[0]));
    }
    let whole: u64 = spans.iter().map(|span| span.took_ns()).sum();
    let typical = median(&mut periods).max(1);
    let mut deviations: Vec<u64> = periods.iter().map(|period| period.abs_diff(typical)).collect();
    whole as f64 / (1.0 + median(&mut deviations) as f64 / typical as f64)
}

/// The middle one; of an even number the lower one.
pub(crate) fn median(numbers: &mut [u64]) -> u64 {
    percentile(numbers, 50)
}

/// The smallest number that so many percent of them do not exceed.
pub(crate) fn percentile(numbers: &mut [u64], percent: usize) -> u64 {
    numbers.sort_unstable();
    let rank = (numbers.len() * percent).div_ceil(100).max(1);
    numbers.get(rank - 1).copied().unwrap_or(0)
}

/// When the devices of processes worked.
#[derive(Debug, Default)]
pub(crate) struct DeviceSpans {
    /// By process and device.
    devices: BTreeMap<(u32, u32), Vec<(u64, u64)>>,
}

impl DeviceSpans {
    pub fn add(&mut self, process: u32, device: u32, (start, end): (u64, u64)) {
        self.devices.entry((process, device)).or_default().push((start, end));
    }

    /// Joins what overlaps. To be called before the others.
    pub fn merged(&self) -> DeviceSpans {
        let merge = |spans: &Vec<(u64, u64)>| {
            let mut sorted = spans.clone();
            sorted.sort_unstable();
            let mut merged: Vec<(u64, u64)> = Vec::new();
            for (start, end) in sorted {
                match merged.last_mut() {
                    Some((_, last)) if *last >= start => *last = end.max(*last),
                    _ => merged.push((start, end)),
                }
            }
            merged
        };
        DeviceSpans { devices: self.devices.iter().map(|(key, spans)| (*key, merge(spans))).collect() }
    }

    /// The part of a time in which the devices of a process had no work, from 0 to 1; none without work in the run.
    pub fn idle(&self, process: u32, start: u64, end: u64) -> Option<f64> {
        let devices = self.devices.range((process, 0)..=(process, u32::MAX));
        let of = |spans: &Vec<(u64, u64)>| {
            let first = spans.partition_point(|(_, until)| *until <= start);
            let inside = spans[first..].iter().take_while(|(from, _)| *from < end);
            inside.map(|(from, until)| until.min(&end) - from.max(&start)).sum::<u64>()
        };
        let busy: Vec<u64> = devices.map(|(_, spans)| of(spans)).collect();
        let whole = end.saturating_sub(start).max(1) * busy.len() as u64;
        (!busy.is_empty()).then(|| 1.0 - busy.iter().sum::<u64>() as f64 / whole as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_no_part_of_a_name() {
        assert_eq!(["step 1", "step 12", "iter17", "a", "1.5"].map(family), ["step *", "step *", "iter*", "a", "*.*"]);
    }

    #[test]
    fn percentiles() {
        let mut numbers = [5, 1, 4, 2, 3];
        assert_eq!([50, 99, 1].map(|percent| percentile(&mut numbers, percent)), [3, 5, 1]);
        assert_eq!(median(&mut [2, 1]), 1);
        assert_eq!(median(&mut []), 0);
    }

    #[test]
    fn idle_parts() {
        let mut busy = DeviceSpans::default();
        [(10, 20), (15, 30), (40, 50)].into_iter().for_each(|span| busy.add(1, 0, span));
        let merged = busy.merged();
        assert_eq!(merged.idle(1, 0, 100), Some(0.7));
        assert_eq!(merged.idle(1, 20, 45), Some(0.4));
        assert_eq!(merged.idle(2, 0, 100), None);
        busy.add(1, 1, (0, 100));
        assert_eq!(busy.merged().idle(1, 0, 100), Some(0.35), "the mean of both devices");
    }
}
