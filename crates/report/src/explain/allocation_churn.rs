//! Memory that is allocated and freed again and again in the steady state. Stream-ordered allocations come from a
//! pool, and are no problem.

use super::seen::ObservedCall;
use super::site::{Key, Site, key};
use super::{Finding, Rank, Rule};
use crate::call::allocation_size::allocation_size;
use crate::call::resource_names::{address, handles, written};
use crate::format::units::bytes;
use cutap_calls::known::{Effect, Memory};
use std::collections::HashMap;

/// Allocations of one place and size from which on they are a habit.
const FEWEST: u64 = 20;

pub(super) fn rule() -> Box<dyn Rule> {
    Box::new(AllocationChurn::default())
}

#[derive(Default)]
struct AllocationChurn {
    places: HashMap<(Key, u64), (Site, Pieces)>,
    /// Process and address of what is allocated now, and where it was.
    alive: HashMap<(u32, u64), (Key, u64)>,
}

#[derive(Default)]
struct Pieces {
    allocated: u64,
    freed: u64,
    /// How many there were at a time.
    most: u64,
    ns: u64,
}

impl AllocationChurn {
    fn allocated(&mut self, seen: &ObservedCall<'_>, at: u64) {
        let process = seen.call().thread.process.key;
        // The driver's call inside a runtime's has named the address first: the outermost one counts.
        let size = allocation_size(seen.exit).unwrap_or(0);
        let place = (key(seen), size);
        if let Some(before) = self.alive.insert((process, at), place)
            && let Some((_, pieces)) = self.places.get_mut(&before)
        {
            pieces.allocated -= 1;
            pieces.ns = pieces.ns.saturating_sub(seen.took_ns());
        }
        let (_, pieces) = self.places.entry(place).or_insert_with(|| (Site::of(seen), Pieces::default()));
        pieces.allocated += 1;
        pieces.ns += seen.took_ns();
        pieces.most = pieces.most.max(pieces.allocated - pieces.freed.min(pieces.allocated));
    }

    fn freed(&mut self, seen: &ObservedCall<'_>, at: u64) {
        let process = seen.call().thread.process.key;
        let place = self.alive.remove(&(process, at));
        if let Some((_, pieces)) = place.and_then(|place| self.places.get_mut(&place)) {
            pieces.freed += 1;
            pieces.ns += seen.took_ns();
        }
    }
}

impl Rule for AllocationChurn {
    fn name(&self) -> &'static str {
        "allocation_churn"
    }

    fn call(&mut self, seen: &ObservedCall<'_>) {
        let (exit, call) = (seen.exit, seen.call());
        let Some(described) = call.function.described.filter(|_| exit.duration_ns.is_some() && !exit.is_error()) else {
            return;
        };
        let is_ordered = || call.effective_args().iter().flat_map(handles).any(|(kind, _)| kind == "stream");
        for effect in described.function.effects {
            match *effect {
                Effect::Allocates { at, memory: Memory::Device | Memory::Host | Memory::Managed, by_value, .. }
                    if !by_value && !is_ordered() && !call.function.hands_out =>
                {
                    let address = exit.output(at.into()).and_then(written);
                    address.into_iter().for_each(|address| self.allocated(seen, address));
                }
                Effect::Frees(n) => {
                    let address = call.effective_args().get(usize::from(n)).and_then(address);
                    address.into_iter().for_each(|address| self.freed(seen, address));
                }
                _ => {}
            }
        }
    }

    fn findings(&self, _: u64) -> Vec<Finding> {
        let is_habit =
            |p: &Pieces| p.allocated >= FEWEST && p.freed * 5 >= p.allocated * 4 && p.most * 4 <= p.allocated;
        let habitual_places = self.places.iter().filter(|(_, (_, pieces))| is_habit(pieces));
        habitual_places.map(|(place, (site, pieces))| finding(place.1, site, pieces)).collect()
    }
}

fn finding(size: u64, site: &Site, pieces: &Pieces) -> Finding {
    let name = site.path().last().cloned().unwrap_or_default();
    let of = if size > 0 { format!(" of {}", bytes(size)) } else { String::new() };
    Finding {
        title: format!("Allocation and free in the steady state: {name}"),
        cost_ns: pieces.ns,
        rank: Rank::Slow,
        evidence: vec![format!(
            "{} allocations{of}, {} freed, at most {} at a time",
            pieces.allocated, pieces.freed, pieces.most
        )],
        site: site.clone(),
        advice: "Allocate once and reuse the memory, or use a pool: cudaMallocAsync and cudaFreeAsync.",
        other_places: (0, 0),
        times: 1,
    }
}
