//! Many kernels from one place that each take less time on the GPU than their launch: the host decides the speed. It
//! needs GPU time.

use super::durations::Durations;
use super::seen::ObservedCall;
use super::site::{Key, Site, key};
use super::{Finding, Rank, Rule};
use crate::format::units::time;
use cutap_calls::Role;
use std::collections::HashMap;

/// Launches of one place from which on they are many.
const FEWEST: u64 = 500;
/// Nanoseconds on the GPU below which a kernel is small.
const SMALL_NS: u64 = 5_000;

pub(super) fn rule() -> Box<dyn Rule> {
    Box::new(SmallKernels::default())
}

#[derive(Default)]
struct SmallKernels {
    places: HashMap<Key, (Site, Launches)>,
}

#[derive(Default)]
struct Launches {
    durations: Durations,
    gpu_ns: u64,
}

impl Rule for SmallKernels {
    fn name(&self) -> &'static str {
        "small_kernels"
    }

    fn call(&mut self, seen: &ObservedCall<'_>) {
        let Some(gpu) = seen.exit.gpu.filter(|gpu| gpu.rows == 1 && gpu.ns < SMALL_NS) else { return };
        // A launch that took longer than its kernel.
        let is_short = gpu.ns < seen.took_ns();
        if !is_short || !seen.is_outermost(&[Role::LaunchesKernel, Role::LaunchesReported]) {
            return;
        }
        let (_, sums) = self.places.entry(key(seen)).or_insert_with(|| (Site::of(seen), Launches::default()));
        sums.gpu_ns += gpu.ns;
        sums.durations.add(seen.took_ns());
    }

    fn findings(&self, _: u64) -> Vec<Finding> {
        let frequent_places = self.places.values().filter(|(_, launches)| launches.durations.calls() >= FEWEST);
        frequent_places.map(|(site, launches)| finding(site, launches)).collect()
    }
}

fn finding(site: &Site, launches: &Launches) -> Finding {
    let name = site.path().last().cloned().unwrap_or_default();
    let calls = launches.durations.calls();
    let mean = time(launches.gpu_ns / calls.max(1));
    let evidence = format!("{calls} kernels of {mean} on the GPU on average; each launch took longer");
    Finding {
        title: format!("Many small kernels: {name}"),
        cost_ns: launches.durations.ns(),
        rank: Rank::Slow,
        evidence: [evidence].into_iter().chain(launches.durations.left_out()).collect(),
        site: site.clone(),
        advice: "Capture the launches in a CUDA graph, or fuse the kernels (torch.compile).",
        other_places: (0, 0),
        times: 1,
    }
}
