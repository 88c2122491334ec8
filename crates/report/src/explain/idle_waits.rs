//! Waits for a stream that was given nothing since the wait before. A wait is idle only if since then no call has named
//! the stream, and none of a toolkit library has ended: those may give it work too.

use super::activity::waits;
use super::seen::ObservedCall;
use super::site::{Key, Site, key};
use super::{Finding, Rank, Rule};
use crate::call::stream_argument::handle;
use crate::format::units::time;
use cutap_calls::Role;
use cutap_trace::Layer;
use std::collections::HashMap;

/// Idle waits of one place from which on they are worth a word.
const FEWEST: u64 = 20;

pub(super) fn rule() -> Box<dyn Rule> {
    Box::new(IdleWaits::default())
}

#[derive(Default)]
struct IdleWaits {
    /// By process and handle.
    streams: HashMap<(u32, u64), Stream>,
    /// When the last call of each process ended that may give work to any stream.
    any: HashMap<u32, u64>,
    places: HashMap<Key, (Site, Waits)>,
}

#[derive(Default)]
struct Stream {
    /// When the last call that names it ended, but for waits; none for a stream that was never seen to get work.
    named: Option<u64>,
    /// When the last wait for it began: work of another thread during that wait may be left.
    waited: Option<u64>,
}

#[derive(Default)]
struct Waits {
    calls: u64,
    idle: u64,
    /// Of those that were idle.
    ns: u64,
}

impl Rule for IdleWaits {
    fn name(&self) -> &'static str {
        "idle_waits"
    }

    fn call(&mut self, seen: &ObservedCall<'_>) {
        let (call, function) = (seen.call(), seen.function());
        let process = call.thread.process.key;
        if seen.outer_calls.iter().any(|call| waits(&call.function)) {
            return;
        }
        // A toolkit library knows streams by its own handles, and of a function without a description no argument is
        // known.
        if function.layer == Layer::LIBRARY || function.described.is_none() {
            self.any.insert(process, seen.exit.end_ns);
        }
        let Some(stream) = handle(call) else { return };
        if !waits(function) {
            if !function.roles.has(Role::Query) {
                self.streams.entry((process, stream)).or_default().named = Some(seen.exit.end_ns);
            }
            return;
        }
        if seen.exit.duration_ns.is_none() || seen.exit.is_error() {
            return;
        }
        let stream = self.streams.entry((process, stream)).or_default();
        let work = stream.named.max(self.any.get(&process).copied());
        let is_idle = stream.named.is_some() && stream.waited > work;
        stream.waited = Some(call.start_ns);
        let (_, sums) = self.places.entry(key(seen)).or_insert_with(|| (Site::of(seen), Waits::default()));
        sums.calls += 1;
        if is_idle {
            sums.idle += 1;
            sums.ns += seen.took_ns();
        }
    }

    fn findings(&self, _: u64) -> Vec<Finding> {
        let frequent_places = self.places.values().filter(|(_, waits)| waits.idle >= FEWEST);
        frequent_places.map(|(site, waits)| finding(site, waits)).collect()
    }
}

fn finding(site: &Site, waits: &Waits) -> Finding {
    let name = site.path().last().cloned().unwrap_or_default();
    let each = time(waits.ns / waits.idle.max(1));
    Finding {
        title: format!("Waits for an idle stream: {name}"),
        cost_ns: waits.ns,
        rank: Rank::Slow,
        evidence: vec![format!(
            "{} of {} calls, {each} each: nothing was given to the stream since the wait before",
            waits.idle, waits.calls
        )],
        site: site.clone(),
        advice: "Leave such waits out: wait once, after the last work that is needed.",
        other_places: (0, 0),
        times: 1,
    }
}
