//! Memory over time: the steps of what each place holds, one list for each process and kind of memory. Steps of one
//! place that are close in time become one when there are too many.

use cutap_report::{Allocations, HeldStep};
use foldhash::HashMap;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Steps that are kept at most.
const MOST: usize = 100_000;

/// The steps so far.
#[derive(Debug)]
pub struct HeldMemory {
    steps: Vec<HeldStep>,
    most: usize,
    /// Nanoseconds of a bin in which the steps of a place are one are two to the power of this.
    width: u32,
}

impl Default for HeldMemory {
    fn default() -> HeldMemory {
        HeldMemory::bounded(MOST)
    }
}

impl HeldMemory {
    /// Keeps so many steps.
    pub fn bounded(most: usize) -> HeldMemory {
        HeldMemory { steps: Vec::new(), most: most.max(1), width: 0 }
    }

    /// Takes the steps of the last event.
    pub fn add(&mut self, steps: Vec<HeldStep>) {
        self.steps.extend(steps);
        while self.steps.len() > 2 * self.most && self.width < 63 {
            self.width = (self.width + 1).max(10);
            self.merge();
        }
    }

    /// One step of each place in a bin, at its last moment there.
    fn merge(&mut self) {
        let mut merged: Vec<HeldStep> = Vec::new();
        let mut last: HashMap<(u32, &'static str, u32), usize> = HashMap::default();
        for step in std::mem::take(&mut self.steps) {
            let key = (step.process, step.kind, step.place);
            let before = last.get(&key).and_then(|n| merged.get_mut(*n));
            match before.filter(|before| before.ns >> self.width == step.ns >> self.width) {
                Some(before) => before.bytes = before.bytes.saturating_add(step.bytes),
                None => {
                    last.insert(key, merged.len());
                    merged.push(step);
                }
            }
        }
        merged.retain(|step| step.bytes != 0);
        self.steps = merged;
    }

    /// For the page: the places, and the steps of each process and kind of memory: time, place, bytes.
    pub fn json(&self, allocations: &Allocations, origin_ns: u64) -> Value {
        let places: BTreeMap<u32, Value> =
            (allocations.places()).map(|(number, path, kind)| (number, json!({"path": path, "kind": kind}))).collect();
        let mut pools: BTreeMap<(u32, &str), Vec<Value>> = BTreeMap::new();
        for HeldStep { ns, process, kind, place, bytes } in &self.steps {
            let step = json!([ns.saturating_sub(origin_ns), place, bytes]);
            pools.entry((*process, kind)).or_default().push(step);
        }
        let pools: Vec<Value> = (pools.into_iter())
            .map(|((process, kind), steps)| json!({"process": process, "kind": kind, "steps": steps}))
            .collect();
        let is_merged = self.width > 0;
        json!({"places": places.into_values().collect::<Vec<_>>(), "pools": pools, "merged": is_merged})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_places_stay() {
        let mut held = HeldMemory::bounded(100);
        for n in 0..10_000u64 {
            let bytes = if n % 2 == 0 { n as i64 + 2 } else { -(n as i64) };
            held.add(vec![HeldStep {
                ns: n * 100,
                process: 0,
                kind: "device memory",
                place: (n / 2 % 3) as u32,
                bytes,
            }]);
        }
        assert!(held.steps.len() <= 200, "{}", held.steps.len());
        assert_eq!(held.steps.iter().map(|step| step.bytes).sum::<i64>(), 5000);
        assert!(held.steps.is_sorted_by_key(|step| step.ns >> held.width));
    }
}
