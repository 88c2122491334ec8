//! Many small copies from one place: each costs the same some microseconds, whatever it moves.

use super::durations::Durations;
use super::seen::ObservedCall;
use super::site::{Key, Site, key};
use super::{Finding, Rank, Rule};
use crate::format::units::bytes;
use cutap_calls::Role;
use std::collections::HashMap;

/// Copies of one place from which on they are many.
const FEWEST: u64 = 100;
/// Bytes below which a copy is small.
const SMALL: u64 = 64 << 10;

pub(super) fn rule() -> Box<dyn Rule> {
    Box::new(SmallCopies::default())
}

#[derive(Default)]
struct SmallCopies {
    places: HashMap<Key, (Site, Copies)>,
}

#[derive(Default)]
struct Copies {
    durations: Durations,
    bytes: u64,
}

impl Rule for SmallCopies {
    fn name(&self) -> &'static str {
        "small_copies"
    }

    fn call(&mut self, seen: &ObservedCall<'_>) {
        let Some(bytes) = seen.bytes().filter(|bytes| *bytes < SMALL) else { return };
        if !seen.is_outermost(&[Role::Copy, Role::AsyncCopy]) {
            return;
        }
        let (_, sums) = self.places.entry(key(seen)).or_insert_with(|| (Site::of(seen), Copies::default()));
        sums.bytes += bytes;
        sums.durations.add(seen.took_ns());
    }

    fn findings(&self, _: u64) -> Vec<Finding> {
        let frequent_places = self.places.values().filter(|(_, copies)| copies.durations.calls() >= FEWEST);
        frequent_places.map(|(site, copies)| finding(site, copies)).collect()
    }
}

fn finding(site: &Site, copies: &Copies) -> Finding {
    let name = site.path().last().cloned().unwrap_or_default();
    let calls = copies.durations.calls();
    let mean = bytes(copies.bytes / calls.max(1));
    let evidence = format!("{calls} copies of {mean} on average, {} in all", bytes(copies.bytes));
    Finding {
        title: format!("Many small copies: {name}"),
        cost_ns: copies.durations.ns(),
        rank: Rank::Slow,
        evidence: [evidence].into_iter().chain(copies.durations.left_out()).collect(),
        site: site.clone(),
        advice: "Gather the data in one buffer and copy it at once, or use cudaMemcpy2D for rows.",
        other_places: (0, 0),
        times: 1,
    }
}
