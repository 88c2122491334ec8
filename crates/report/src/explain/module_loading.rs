//! Loading of modules, if it takes a good part of the run. Images may be loaded at the start although few of their
//! kernels are used, or PTX may be compiled again in each run.

use super::activity::Activity;
use super::seen::ObservedCall;
use super::site::{Key, Site, key};
use super::{Finding, Rank, Rule};
use crate::format::units::time;
use std::collections::HashMap;

/// Part of the run's time, and nanoseconds, below which it is no problem.
const LEAST: (f64, u64) = (0.1, 50_000_000);

pub(super) fn rule() -> Box<dyn Rule> {
    Box::new(ModuleLoading::default())
}

#[derive(Default)]
struct ModuleLoading {
    places: HashMap<Key, (Site, Loads)>,
}

#[derive(Default)]
struct Loads {
    calls: u64,
    ns: u64,
}

impl Rule for ModuleLoading {
    fn name(&self) -> &'static str {
        "module_loading"
    }

    fn call(&mut self, seen: &ObservedCall<'_>) {
        let Some(ns) = seen.exit.duration_ns.filter(|_| seen.counted.activity == Activity::Modules) else { return };
        let (_, loads) = self.places.entry(key(seen)).or_insert_with(|| (Site::of(seen), Loads::default()));
        loads.calls += 1;
        // A call inside another one that loads is counted with it.
        loads.ns += ns.saturating_sub(seen.counted.once_ns);
    }

    fn findings(&self, whole_ns: u64) -> Vec<Finding> {
        let ns = self.places.values().map(|(_, loads)| loads.ns).sum::<u64>();
        let most = self.places.values().max_by_key(|(_, loads)| loads.ns);
        let is_much = ns >= LEAST.1 && ns as f64 >= LEAST.0 * whole_ns as f64;
        most.filter(|_| is_much).map(|(site, loads)| finding(ns, site, loads)).into_iter().collect()
    }
}

fn finding(ns: u64, site: &Site, most: &Loads) -> Finding {
    let name = site.path().last().cloned().unwrap_or_default();
    let calls = if most.calls == 1 { "1 call".to_owned() } else { format!("{} calls", most.calls) };
    Finding {
        title: "Loading of modules".to_owned(),
        cost_ns: ns,
        rank: Rank::Slow,
        evidence: vec![format!("most of it in {name}: {calls}, {}", time(most.ns))],
        site: site.clone(),
        advice: "Build kernels for this device, so that no PTX is compiled, and leave CUDA_MODULE_LOADING at LAZY.",
        other_places: (0, 0),
        times: 1,
    }
}
