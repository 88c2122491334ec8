//! Asynchronous copies whose host memory is not page-locked: the driver copies through a staging buffer, and the call
//! may wait for it.

use super::durations::Durations;
use super::seen::ObservedCall;
use super::site::{Key, Site, key};
use super::{Finding, Rank, Rule};
use crate::format::units::bytes;
use cutap_calls::Role;
use std::collections::HashMap;

/// Copies of one place from which on they are worth a word.
const FEWEST: u64 = 4;

pub(super) fn rule() -> Box<dyn Rule> {
    Box::new(PageableCopies::default())
}

#[derive(Default)]
struct PageableCopies {
    places: HashMap<Key, (Site, Copies)>,
}

#[derive(Default)]
struct Copies {
    durations: Durations,
    bytes: u64,
}

impl Rule for PageableCopies {
    fn name(&self) -> &'static str {
        "pageable_copies"
    }

    fn call(&mut self, seen: &ObservedCall<'_>) {
        if !seen.is_outermost(&[Role::AsyncCopy]) || !seen.is_pageable() {
            return;
        }
        let (_, sums) = self.places.entry(key(seen)).or_insert_with(|| (Site::of(seen), Copies::default()));
        sums.bytes += seen.bytes().unwrap_or(0);
        sums.durations.add(seen.took_ns());
    }

    fn findings(&self, _: u64) -> Vec<Finding> {
        let frequent_places = self.places.values().filter(|(_, copies)| copies.durations.calls() >= FEWEST);
        frequent_places.map(|(site, copies)| finding(site, copies)).collect()
    }
}

fn finding(site: &Site, copies: &Copies) -> Finding {
    let name = site.path().last().cloned().unwrap_or_default();
    let evidence = format!("{} copies of {} in all", copies.durations.calls(), bytes(copies.bytes));
    Finding {
        title: format!("Asynchronous copies of pageable memory: {name}"),
        cost_ns: copies.durations.ns(),
        rank: Rank::Slow,
        evidence: [evidence].into_iter().chain(copies.durations.left_out()).collect(),
        site: site.clone(),
        advice: "Allocate the host memory with cudaMallocHost, or register it with cudaHostRegister.",
        other_places: (0, 0),
        times: 1,
    }
}
