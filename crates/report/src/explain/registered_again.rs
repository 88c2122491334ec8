//! Host memory that is page-locked and released again and again at the same address. The functions are known by what
//! their description says: they make page-locked memory of an address that they are given.

use super::seen::ObservedCall;
use super::site::{Key, Site, key};
use super::{Finding, Rank, Rule};
use crate::call::allocation_size::allocation_size;
use crate::call::resource_names::address;
use crate::format::units::bytes;
use cutap_calls::known::{Effect, Memory};
use cutap_trace::Function;
use std::collections::HashMap;

/// Registrations of addresses that their place has registered before, from which on they are a habit.
const FEWEST: u64 = 20;
/// Addresses of one place that are kept. A program that never comes back to one must not fill the memory.
const MOST: usize = 4096;

pub(super) fn rule() -> Box<dyn Rule> {
    Box::new(RegisteredAgain::default())
}

#[derive(Default)]
struct RegisteredAgain {
    places: HashMap<Key, (Site, HashMap<u64, Pointer>)>,
    /// Process and address of what is registered now, and where it was.
    alive: HashMap<(u32, u64), Key>,
}

/// What one place did with an address.
#[derive(Default)]
struct Pointer {
    registered: u64,
    unregistered: u64,
    /// The most bytes at a time.
    bytes: u64,
    ns: u64,
}

impl RegisteredAgain {
    fn registered(&mut self, seen: &ObservedCall<'_>, at: u64) {
        let place = key(seen);
        let (_, pointers) = self.places.entry(place).or_insert_with(|| (Site::of(seen), HashMap::new()));
        if pointers.len() >= MOST && !pointers.contains_key(&at) {
            return;
        }
        let pointer = pointers.entry(at).or_default();
        pointer.registered += 1;
        pointer.bytes = pointer.bytes.max(allocation_size(seen.exit).unwrap_or(0));
        pointer.ns += seen.took_ns();
        self.alive.insert((seen.call().thread.process.key, at), place);
    }

    fn unregistered(&mut self, seen: &ObservedCall<'_>, at: u64) {
        let place = self.alive.remove(&(seen.call().thread.process.key, at));
        let pointers = place.and_then(|place| self.places.get_mut(&place));
        if let Some(pointer) = pointers.and_then(|(_, pointers)| pointers.get_mut(&at)) {
            pointer.unregistered += 1;
            pointer.ns += seen.took_ns();
        }
    }
}

/// The parameter with an address that the function page-locks, or `None`.
fn registers(function: &Function) -> Option<u8> {
    function.described?.function.effects.iter().find_map(|effect| match *effect {
        Effect::Allocates { at, by_value: true, memory: Memory::Host, .. } => Some(at),
        _ => None,
    })
}

/// The parameter with an address that the function frees or releases, or `None`.
fn frees(function: &Function) -> Option<u8> {
    function.described?.function.effects.iter().find_map(|effect| match *effect {
        Effect::Frees(n) => Some(n),
        _ => None,
    })
}

impl Rule for RegisteredAgain {
    fn name(&self) -> &'static str {
        "registered_again"
    }

    fn call(&mut self, seen: &ObservedCall<'_>) {
        let (exit, function) = (seen.exit, seen.function());
        if exit.duration_ns.is_none() || exit.is_error() {
            return;
        }
        let argument = |n: u8| seen.call().effective_args().get(usize::from(n)).and_then(address);
        // A runtime's call counts, and not the driver's inside it.
        let is_inside =
            |of: fn(&Function) -> Option<u8>| seen.outer_calls.iter().any(|call| of(&call.function).is_some());
        if let Some(at) = registers(function).and_then(argument).filter(|_| !is_inside(registers)) {
            self.registered(seen, at);
        }
        if let Some(at) = frees(function).and_then(argument).filter(|_| !is_inside(frees)) {
            self.unregistered(seen, at);
        }
    }

    fn findings(&self, _: u64) -> Vec<Finding> {
        self.places.values().filter_map(|(site, pointers)| finding(site, pointers)).collect()
    }
}

fn finding(site: &Site, pointers: &HashMap<u64, Pointer>) -> Option<Finding> {
    let repeated: Vec<&Pointer> = pointers.values().filter(|p| p.registered > 1 && p.unregistered > 0).collect();
    let largest = repeated.iter().map(|p| p.bytes).max()?;
    let sum = |of: fn(&Pointer) -> u64| repeated.iter().map(|p| of(p)).sum::<u64>();
    if sum(|p| p.registered - 1) < FEWEST {
        return None;
    }
    let of = match repeated.len() {
        1 => format!("one address ({})", bytes(largest)),
        n => format!("{n} addresses (at most {} each)", bytes(largest)),
    };
    let name = site.path().last().cloned().unwrap_or_default();
    Some(Finding {
        title: format!("The same host memory registered repeatedly: {name}"),
        cost_ns: sum(|p| p.ns),
        rank: Rank::Slow,
        evidence: vec![format!(
            "{} registrations and {} releases of {of}",
            sum(|p| p.registered),
            sum(|p| p.unregistered)
        )],
        site: site.clone(),
        advice: "Register the memory once and keep it registered, or allocate it page-locked: cudaMallocHost.",
        other_places: (0, 0),
        times: 1,
    })
}
