//! The host waits for the device after every few launches or copies, again and again from one place.

use super::seen::{Seen, waits};
use super::site::{Key, Site, key};
use super::{Finding, Rule};
use crate::units::time;
use cutap_calls::Role;
use std::collections::HashMap;

/// Waits of one place from which on they are a loop.
const FEWEST: u64 = 20;
/// Launches and copies for each wait; with more of them the device has enough to do.
const WORK: u64 = 4;

pub(super) fn rule() -> Box<dyn Rule> {
    Box::new(SyncInLoop::default())
}

#[derive(Default)]
struct SyncInLoop {
    /// Launches and copies of each thread since its last wait.
    work: HashMap<u32, u64>,
    places: HashMap<Key, (Site, Waits)>,
}

#[derive(Default)]
struct Waits {
    calls: u64,
    ns: u64,
    work: u64,
    /// Waits with some work before them.
    useful: u64,
}

impl Rule for SyncInLoop {
    fn name(&self) -> &'static str {
        "sync_in_loop"
    }

    fn call(&mut self, seen: &Seen<'_>) {
        let thread = seen.call().thread.key;
        if seen.is_outermost(&[Role::Launch, Role::AsyncCopy]) {
            *self.work.entry(thread).or_default() += 1;
        }
        if !waits(seen.function()) || seen.around.iter().any(|call| waits(&call.function)) {
            return;
        }
        let work = self.work.insert(thread, 0).unwrap_or(0);
        let (_, sums) = self.places.entry(key(seen)).or_insert_with(|| (Site::of(seen), Waits::default()));
        sums.calls += 1;
        sums.ns += seen.took_ns();
        sums.work += work;
        sums.useful += u64::from(work > 0);
    }

    fn findings(&self, _: u64) -> Vec<Finding> {
        let is_loop = |w: &Waits| w.calls >= FEWEST && w.useful * 5 >= w.calls * 4 && w.work <= WORK * w.calls;
        let found = self.places.values().filter(|(_, waits)| is_loop(waits));
        found.map(|(site, waits)| finding(site, waits)).collect()
    }
}

fn finding(site: &Site, waits: &Waits) -> Finding {
    let name = site.path().last().cloned().unwrap_or_default();
    let (calls, each) = (waits.calls, time(waits.ns / waits.calls.max(1)));
    let work = waits.work as f64 / calls.max(1) as f64;
    Finding {
        title: format!("Synchronisation in a loop: {name}"),
        cost_ns: waits.ns,
        is_wrong: false,
        evidence: vec![
            format!("{calls} calls from one place, {each} each"),
            format!("one call for every {work:.1} launches and copies"),
        ],
        site: site.clone(),
        advice: "Wait once after the loop, or let streams and events order the work; check results in batches.",
        others: (0, 0),
    }
}
