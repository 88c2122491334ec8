//! Many small copies from one place: each costs the same some microseconds, whatever it moves.

use super::seen::Seen;
use super::site::{Key, Site, key};
use super::{Finding, Rule};
use crate::units::bytes;
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
    calls: u64,
    bytes: u64,
    ns: u64,
}

impl Rule for SmallCopies {
    fn name(&self) -> &'static str {
        "small_copies"
    }

    fn call(&mut self, seen: &Seen<'_>) {
        let Some(bytes) = seen.bytes().filter(|bytes| *bytes < SMALL) else { return };
        if !seen.is_outermost(&[Role::Copy, Role::AsyncCopy]) {
            return;
        }
        let (_, sums) = self.places.entry(key(seen)).or_insert_with(|| (Site::of(seen), Copies::default()));
        sums.calls += 1;
        sums.bytes += bytes;
        sums.ns += seen.took_ns();
    }

    fn findings(&self, _: u64) -> Vec<Finding> {
        let found = self.places.values().filter(|(_, copies)| copies.calls >= FEWEST);
        found.map(|(site, copies)| finding(site, copies)).collect()
    }
}

fn finding(site: &Site, copies: &Copies) -> Finding {
    let name = site.path().last().cloned().unwrap_or_default();
    let mean = bytes(copies.bytes / copies.calls.max(1));
    Finding {
        title: format!("Many small copies: {name}"),
        cost_ns: copies.ns,
        is_wrong: false,
        evidence: vec![format!("{} copies of {mean} on average, {} in all", copies.calls, bytes(copies.bytes))],
        site: site.clone(),
        advice: "Gather the data in one buffer and copy it at once, or use cudaMemcpy2D for rows.",
        others: (0, 0),
    }
}
