//! Hands calls to several sinks in one reading. Each sink has its numbers of places, and this one numbers the
//! combinations.

use cutap_trace::{CallSink, FinishedCall, Function, Instance, KernelLaunch};
use foldhash::HashMap;
use std::sync::Arc;

/// Several sinks as one.
pub struct CallFan<'a> {
    sinks: Vec<&'a mut dyn CallSink>,
    /// What each sink calls a place, by the place's number here. Place 0 is outside all calls.
    places: Vec<Box<[u32]>>,
    numbers: HashMap<Box<[u32]>, u32>,
    /// The place of a function inside a place.
    inside: HashMap<(u32, u32), u32>,
}

impl<'a> CallFan<'a> {
    /// Hands on to these.
    pub fn new(sinks: Vec<&'a mut dyn CallSink>) -> CallFan<'a> {
        let outside: Box<[u32]> = vec![0; sinks.len()].into();
        let numbers = HashMap::from_iter([(outside.clone(), 0)]);
        CallFan { sinks, places: vec![outside], numbers, inside: HashMap::default() }
    }
}

impl CallSink for CallFan<'_> {
    fn enter(&mut self, place: u32, function: &Arc<Function>) -> u32 {
        if let Some(number) = self.inside.get(&(place, function.key)) {
            return *number;
        }
        let of_place = self.places.get(place as usize).cloned().unwrap_or_default();
        let inside: Box<[u32]> =
            self.sinks.iter_mut().zip(of_place.iter()).map(|(sink, place)| sink.enter(*place, function)).collect();
        let next = self.places.len() as u32;
        let number = *self.numbers.entry(inside.clone()).or_insert(next);
        if number == next {
            self.places.push(inside);
        }
        self.inside.insert((place, function.key), number);
        number
    }

    fn exit(&mut self, call: &FinishedCall<'_>) {
        let Some(places) = self.places.get(call.place as usize) else { return };
        for (sink, place) in self.sinks.iter_mut().zip(places.iter()) {
            sink.exit(&FinishedCall { place: *place, ..*call });
        }
    }

    fn ring_ends(&mut self) {
        self.sinks.iter_mut().for_each(|sink| sink.ring_ends());
    }

    fn wants_launches(&self) -> bool {
        self.sinks.iter().any(|sink| sink.wants_launches())
    }

    fn launched(&mut self, launch: &KernelLaunch) {
        self.sinks.iter_mut().filter(|sink| sink.wants_launches()).for_each(|sink| sink.launched(launch));
    }

    fn gpu_row(&mut self) {
        self.sinks.iter_mut().for_each(|sink| sink.gpu_row());
    }

    fn function_instance(&mut self, function: &Arc<Function>, instance: &Arc<Instance>) {
        self.sinks.iter_mut().for_each(|sink| sink.function_instance(function, instance));
    }
}
