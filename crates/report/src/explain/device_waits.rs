//! Waits for the device that take a good part of the run. The device is busy meanwhile, or the host gives it too
//! little. Short waits again and again are another problem (`sync_in_loop`).

use super::durations::Durations;
use super::activity::waits;
use super::seen::ObservedCall;
use super::site::{Key, Site, key};
use super::{Finding, Rank, Rule};
use crate::format::units::time;
use std::collections::HashMap;

/// Part of the run's time, and nanoseconds, below which they are no problem.
const LEAST: (f64, u64) = (0.1, 20_000_000);

pub(super) fn rule() -> Box<dyn Rule> {
    Box::new(DeviceWaits::default())
}

#[derive(Default)]
struct DeviceWaits {
    places: HashMap<Key, (Site, Waits)>,
}

#[derive(Default)]
struct Waits {
    durations: Durations,
    ns: u64,
}

impl Rule for DeviceWaits {
    fn name(&self) -> &'static str {
        "device_waits"
    }

    fn call(&mut self, seen: &ObservedCall<'_>) {
        if !waits(seen.function()) || seen.outer_calls.iter().any(|call| waits(&call.function)) {
            return;
        }
        let (_, sums) = self.places.entry(key(seen)).or_insert_with(|| (Site::of(seen), Waits::default()));
        sums.durations.add(seen.took_ns());
        sums.ns += seen.took_ns();
    }

    fn findings(&self, whole_ns: u64) -> Vec<Finding> {
        let is_much = |w: &Waits| w.ns >= LEAST.1 && w.ns as f64 >= LEAST.0 * whole_ns as f64;
        let is_costly = |w: &Waits| is_much(w) && !super::sync_in_loop::is_short(&w.durations);
        let costly_places = self.places.values().filter(|(_, waits)| is_costly(waits));
        costly_places.map(|(site, waits)| finding(site, waits)).collect()
    }
}

fn finding(site: &Site, waits: &Waits) -> Finding {
    let name = site.path().last().cloned().unwrap_or_default();
    let evidence = match waits.durations.calls() {
        1 => "1 call".to_owned(),
        n => format!("{n} calls, half of them longer than {}", time(waits.durations.median_ns())),
    };
    Finding {
        title: format!("Waits for the device: {name}"),
        cost_ns: waits.ns,
        rank: Rank::Slow,
        evidence: vec![evidence],
        site: site.clone(),
        advice: "See with record --gpu-time and report --gaps whether the device is busy then, and its kernels slow.",
        other_places: (0, 0),
        times: 1,
    }
}
