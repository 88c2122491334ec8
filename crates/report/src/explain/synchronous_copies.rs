//! Copies and fills that the host waits for, if they take a good part of the run. A copy of pageable memory also goes
//! through a buffer of the driver.

use super::durations::Durations;
use super::seen::ObservedCall;
use super::site::{Key, Site, key};
use super::{Finding, Rank, Rule};
use crate::format::units::{bytes, time};
use cutap_calls::Role;
use std::collections::HashMap;

/// Calls of one place from which on they are a habit.
const FEWEST: u64 = 4;
/// Part of the run's time, and nanoseconds, below which they are no problem.
const LEAST: (f64, u64) = (0.1, 20_000_000);

pub(super) fn rule() -> Box<dyn Rule> {
    Box::new(SynchronousCopies::default())
}

#[derive(Default)]
struct SynchronousCopies {
    places: HashMap<Key, (Site, Copies)>,
}

#[derive(Default)]
struct Copies {
    durations: Durations,
    /// Fills, which have no host memory.
    fills: u64,
    /// With host memory that is not page-locked.
    pageable: u64,
    bytes: u64,
}

impl Rule for SynchronousCopies {
    fn name(&self) -> &'static str {
        "synchronous_copies"
    }

    fn call(&mut self, seen: &ObservedCall<'_>) {
        if !seen.is_outermost(&[Role::Copy, Role::Fill]) {
            return;
        }
        let (_, sums) = self.places.entry(key(seen)).or_insert_with(|| (Site::of(seen), Copies::default()));
        sums.fills += u64::from(seen.is_outermost(&[Role::Fill]));
        sums.pageable += u64::from(seen.is_pageable());
        sums.bytes += seen.bytes().unwrap_or(0);
        sums.durations.add(seen.took_ns());
    }

    fn findings(&self, wall_ns: u64) -> Vec<Finding> {
        let is_much = |ns: u64| ns >= LEAST.1 && ns as f64 >= LEAST.0 * wall_ns as f64;
        let is_habit = |c: &Copies| c.durations.calls() >= FEWEST && is_much(c.durations.ns());
        let habitual_places = self.places.values().filter(|(_, copies)| is_habit(copies));
        habitual_places.map(|(site, copies)| finding(site, copies)).collect()
    }
}

fn finding(site: &Site, copies: &Copies) -> Finding {
    let name = site.path().last().cloned().unwrap_or_default();
    let (calls, each) = (copies.durations.calls(), time(copies.durations.mean_ns()));
    let mut evidence = vec![format!("{calls} calls of {} in all, {each} each", bytes(copies.bytes))];
    if copies.pageable > 0 {
        evidence.push(format!("{} of them with host memory that is not page-locked", copies.pageable));
    }
    evidence.extend(copies.durations.left_out());
    let (what, advice) = match (copies.fills > 0, copies.pageable * 2 > calls) {
        (true, _) => ("fills", "Use the Async form on a stream, and wait once, when the data is needed."),
        (false, true) => (
            "copies",
            "Use page-locked memory and the Async form on a stream, and wait once, when the data is needed.",
        ),
        (false, false) => (
            "copies",
            "Use the Async form on a stream, and wait once; such a copy also waits for the kernels before it.",
        ),
    };
    Finding {
        title: format!("Synchronous {what}: {name}"),
        cost_ns: copies.durations.ns(),
        rank: Rank::Slow,
        evidence,
        site: site.clone(),
        advice,
        other_places: (0, 0),
        times: 1,
    }
}
