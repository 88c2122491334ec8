//! The host waits for the GPU, and then the GPU has nothing to do until the host has submitted more. With the next work
//! in its queue it would not have been idle. It needs GPU time.

use super::gpu_pauses::GpuPauses;
use super::seen::ObservedCall;
use super::site::{Key, Site, key};
use super::{Finding, Rank, Rule};
use crate::format::units::time;
use cutap_calls::resets;
use cutap_trace::{Function, submits_work};
use std::collections::HashMap;
use std::sync::Arc;

/// Pauses behind one place from which on they are a habit; each program waits a few times.
const FEWEST: u64 = 20;

pub(super) fn rule() -> Box<dyn Rule> {
    Box::new(IdleAfterWait::default())
}

#[derive(Default)]
struct IdleAfterWait {
    pauses: Arc<GpuPauses>,
    /// The waits of each thread, by its key, in the order of their ends.
    waits: HashMap<u32, Vec<Wait>>,
    places: HashMap<Key, (Site, Idle)>,
}

struct Wait {
    start_ns: u64,
    end_ns: u64,
    place: Key,
}

/// Pauses behind the waits of a place.
#[derive(Default)]
struct Idle {
    waits: u64,
    pauses: u64,
    ns: u64,
    /// Of these, those until the wait returned, and then until the next work was submitted.
    returning_ns: u64,
    host_ns: u64,
}

/// The function waits for work of the GPU, and that of its context is not at an end.
fn waits_for_work(function: &Function) -> bool {
    function.blocks.is_some() && !resets(&function.name)
}

impl Rule for IdleAfterWait {
    fn name(&self) -> &'static str {
        "idle_after_wait"
    }

    fn gpu_pauses(&mut self, pauses: &Arc<GpuPauses>) {
        self.pauses = pauses.clone();
    }

    fn call(&mut self, seen: &ObservedCall<'_>) {
        if self.pauses.is_empty() {
            return;
        }
        let (call, thread) = (seen.call(), seen.call().thread.key);
        if seen.exit.gpu.is_some() && submits_work(call) {
            self.submitted(seen);
        }
        let is_inside_wait = || seen.outer_calls.iter().any(|outer| waits_for_work(&outer.function));
        if waits_for_work(seen.function()) && seen.exit.duration_ns.is_some() && !is_inside_wait() {
            let wait = Wait { start_ns: call.start_ns, end_ns: seen.exit.end_ns, place: key(seen) };
            let (_, idle) = self.places.entry(wait.place).or_insert_with(|| (Site::of(seen), Idle::default()));
            idle.waits += 1;
            self.waits.entry(thread).or_default().push(wait);
        }
    }

    fn findings(&self, _: u64) -> Vec<Finding> {
        let frequent_places = self.places.values().filter(|(_, idle)| idle.pauses >= FEWEST);
        frequent_places.map(|(site, idle)| finding(site, idle)).collect()
    }
}

impl IdleAfterWait {
    /// A call submitted work: the wait that the GPU became idle in has the pause before it.
    fn submitted(&mut self, seen: &ObservedCall<'_>) {
        let Some(pause) = self.pauses.ended_by(seen.call()) else { return };
        let waits = self.waits.get(&seen.call().thread.key).map_or(&[][..], Vec::as_slice);
        let wait = waits.get(waits.partition_point(|wait| wait.end_ns < pause.from_ns));
        let Some(wait) = wait.filter(|wait| wait.start_ns <= pause.from_ns) else { return };
        if let Some((_, idle)) = self.places.get_mut(&wait.place) {
            idle.pauses += 1;
            idle.ns += pause.ns;
            idle.returning_ns += wait.end_ns.saturating_sub(pause.from_ns).min(pause.ns);
            idle.host_ns += seen.call().start_ns.saturating_sub(wait.end_ns).min(pause.ns);
        }
    }
}

fn finding(site: &Site, idle: &Idle) -> Finding {
    let name = site.path().last().cloned().unwrap_or_default();
    let mean = |ns: u64| time(ns / idle.pauses.max(1));
    Finding {
        title: format!("GPU idle after a wait: {name}"),
        cost_ns: idle.ns,
        rank: Rank::Slow,
        evidence: vec![
            format!(
                "after {} of {} calls the GPU had nothing to do, for {} each",
                idle.pauses,
                idle.waits,
                mean(idle.ns)
            ),
            format!(
                "of that the call took {} to return, and the host {} until it submitted more",
                mean(idle.returning_ns),
                mean(idle.host_ns)
            ),
        ],
        site: site.clone(),
        advice: "Submit the next work before waiting for the last: wait for an event, or check results a step later.",
        other_places: (0, 0),
        times: 1,
    }
}
