//! Streams, events and modules that are made and destroyed again and again. Of executable graphs more is known:
//! `instantiated_again`.

use super::seen::ObservedCall;
use super::site::{Key, Site, key};
use super::{Finding, Rank, Rule};
use crate::call::resource_names::{handles, plural};
use cutap_calls::known::{Dir, Effect};
use std::collections::HashMap;

/// Objects of one place from which on they are many.
const FEWEST: u64 = 20;
/// Kinds that cost much to make.
const KINDS: [&str; 4] = ["stream", "event", "module", "library"];

pub(super) fn rule() -> Box<dyn Rule> {
    Box::new(RecreatedObjects::default())
}

#[derive(Default)]
struct RecreatedObjects {
    places: HashMap<(Key, &'static str), (Site, Objects)>,
    /// Process, kind and handle of what is there now, and where it was made.
    alive: HashMap<(u32, &'static str, u64), (Key, &'static str)>,
}

#[derive(Default)]
struct Objects {
    created: u64,
    destroyed: u64,
    /// How many there were at a time.
    most: u64,
    ns: u64,
}

impl RecreatedObjects {
    fn created(&mut self, seen: &ObservedCall<'_>, kind: &'static str, handle: u64) {
        let place = (key(seen), kind);
        let process = seen.call().thread.process.key;
        // The outermost call that hands it out counts.
        if let Some(before) = self.alive.insert((process, kind, handle), place)
            && let Some((_, objects)) = self.places.get_mut(&before)
        {
            objects.created -= 1;
            objects.ns = objects.ns.saturating_sub(seen.took_ns());
        }
        let (_, objects) = self.places.entry(place).or_insert_with(|| (Site::of(seen), Objects::default()));
        objects.created += 1;
        objects.ns += seen.took_ns();
        objects.most = objects.most.max(objects.created - objects.destroyed.min(objects.created));
    }

    fn destroyed(&mut self, seen: &ObservedCall<'_>, kind: &'static str, handle: u64) {
        let process = seen.call().thread.process.key;
        let place = self.alive.remove(&(process, kind, handle));
        if let Some((_, objects)) = place.and_then(|place| self.places.get_mut(&place)) {
            objects.destroyed += 1;
            objects.ns += seen.took_ns();
        }
    }
}

impl Rule for RecreatedObjects {
    fn name(&self) -> &'static str {
        "recreated_objects"
    }

    fn call(&mut self, seen: &ObservedCall<'_>) {
        let (exit, call) = (seen.exit, seen.call());
        let Some(described) = call.function.described.filter(|_| exit.duration_ns.is_some() && !exit.is_error()) else {
            return;
        };
        if !call.function.hands_out {
            for (n, value) in exit.outputs.iter() {
                if call.function.params().get(usize::from(*n)).is_some_and(|p| p.dir == Dir::Out) {
                    let of_kind = handles(value).into_iter().filter(|(kind, _)| KINDS.contains(kind));
                    of_kind.for_each(|(kind, handle)| self.created(seen, kind, handle));
                }
            }
        }
        for effect in described.function.effects {
            if let Effect::Destroys(n) = *effect {
                let destroyed_handles = call.effective_args().get(usize::from(n)).map(handles).unwrap_or_default();
                destroyed_handles.into_iter().for_each(|(kind, handle)| self.destroyed(seen, kind, handle));
            }
        }
    }

    fn findings(&self, _: u64) -> Vec<Finding> {
        let is_habit = |o: &Objects| o.created >= FEWEST && o.destroyed * 5 >= o.created * 4 && o.most * 4 <= o.created;
        let habitual_places = self.places.iter().filter(|(_, (_, objects))| is_habit(objects));
        habitual_places.map(|(place, (site, objects))| finding(place.1, site, objects)).collect()
    }
}

fn finding(kind: &str, site: &Site, objects: &Objects) -> Finding {
    let name = site.path().last().cloned().unwrap_or_default();
    Finding {
        title: format!("{} made and destroyed repeatedly: {name}", plural(kind, 2)),
        cost_ns: objects.ns,
        rank: Rank::Slow,
        evidence: vec![format!(
            "{} made, {} destroyed, at most {} at a time",
            objects.created, objects.destroyed, objects.most
        )],
        site: site.clone(),
        advice: "Make such objects once and reuse them.",
        other_places: (0, 0),
        times: 1,
    }
}
