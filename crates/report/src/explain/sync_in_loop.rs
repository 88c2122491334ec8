//! The host waits for the device after every few launches or copies, again and again from one place.

use super::durations::Durations;
use super::activity::waits;
use super::seen::ObservedCall;
use super::site::{Key, Site, key};
use super::{Finding, Rank, Rule};
use crate::format::units::time;
use cutap_calls::Role;
use std::collections::HashMap;

/// Waits of one place from which on they are a loop.
const FEWEST: u64 = 20;
/// Launches, copies and so on for each wait; with more of them the device has enough to do.
const WORK: u64 = 4;
/// A longer wait is for work that takes long, and costs little beside it.
const SHORT_NS: u64 = 100_000;

/// What gives the device, or a stream, something to do.
const GIVES_WORK: [Role; 6] =
    [Role::Launch, Role::AsyncCopy, Role::Copy, Role::Fill, Role::AsyncFill, Role::HostFunction];

pub(super) fn rule() -> Box<dyn Rule> {
    Box::new(SyncInLoop::default())
}

/// Whether waits of a place are so short and so many that each one counts.
pub(super) fn is_short(durations: &Durations) -> bool {
    durations.calls() >= FEWEST && durations.median_ns() <= SHORT_NS
}

#[derive(Default)]
struct SyncInLoop {
    /// Work that each process has given so far: another thread may wait for it.
    work: HashMap<u32, u64>,
    /// Of that, what there was at the last wait of each thread.
    waited: HashMap<u32, u64>,
    places: HashMap<Key, (Site, Waits)>,
}

#[derive(Default)]
struct Waits {
    /// Waits with some work before them.
    durations: Durations,
    work: u64,
}

impl Rule for SyncInLoop {
    fn name(&self) -> &'static str {
        "sync_in_loop"
    }

    fn call(&mut self, seen: &ObservedCall<'_>) {
        let (thread, process) = (seen.call().thread.key, seen.call().thread.process.key);
        if seen.is_outermost(&GIVES_WORK) {
            *self.work.entry(process).or_default() += 1;
        }
        if !waits(seen.function()) || seen.outer_calls.iter().any(|call| waits(&call.function)) {
            return;
        }
        let submitted = self.work.get(&process).copied().unwrap_or(0);
        let work = submitted - self.waited.insert(thread, submitted).unwrap_or(0).min(submitted);
        // A wait for nothing costs next to nothing.
        if work > 0 {
            let (_, sums) = self.places.entry(key(seen)).or_insert_with(|| (Site::of(seen), Waits::default()));
            sums.durations.add(seen.took_ns());
            sums.work += work;
        }
    }

    fn findings(&self, _: u64) -> Vec<Finding> {
        let is_loop = |w: &Waits| is_short(&w.durations) && w.work <= WORK * w.durations.calls();
        let loop_places = self.places.values().filter(|(_, waits)| is_loop(waits));
        loop_places.map(|(site, waits)| finding(site, waits)).collect()
    }
}

fn finding(site: &Site, waits: &Waits) -> Finding {
    let name = site.path().last().cloned().unwrap_or_default();
    let (calls, each) = (waits.durations.calls(), time(waits.durations.mean_ns()));
    let work = waits.work as f64 / calls.max(1) as f64;
    let evidence = [
        format!("{calls} calls from one place, {each} each"),
        format!("one call for every {work:.1} launches, copies and fills"),
    ];
    Finding {
        title: format!("Synchronisation in a loop: {name}"),
        cost_ns: waits.durations.ns(),
        rank: Rank::Slow,
        evidence: evidence.into_iter().chain(waits.durations.left_out()).collect(),
        site: site.clone(),
        advice: "Wait once after the loop, or let streams and events order the work; check results in batches.",
        other_places: (0, 0),
        times: 1,
    }
}
