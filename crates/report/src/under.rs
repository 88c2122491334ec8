//! `report --under FUNCTION`: only the calls of a function and those made inside it, for whatever a report adds up.

use crate::reports::EventSink;
use cutap_calls::hidden::is_slot_name;
use cutap_trace::{CallSink, Event, FinishedCall, Function, Instance, KernelLaunch};
use std::collections::HashMap;
use std::sync::Arc;

/// Marks places inside the function; the other bits are the place of the sink behind.
const INSIDE: u32 = 1 << 31;

/// Hands calls of a function on to a sink.
pub struct UnderCalls<'a> {
    pub sink: &'a mut dyn CallSink,
    pub function: &'a str,
}

/// Hands events of a function on to a sink.
pub struct UnderEvents<'a> {
    sink: &'a mut dyn EventSink,
    function: &'a str,
    /// By thread: how many calls are open inside the function, with itself.
    open: HashMap<u32, u64>,
}

/// Whether a name is meant: with * in it, or any versioned form of a plain name. A function of a hidden table is meant
/// by its slot, by its known name, and by both: `c693336e[2]:storage_get`.
pub fn is_meant(function: &str, name: &str) -> bool {
    let (slot, known) = name.split_once(':').unwrap_or((name, name));
    if is_slot_name(slot.as_bytes()) {
        let function = function.strip_prefix("hidden:").unwrap_or(function);
        return [name, slot, known].iter().any(|name| cutap_calls::glob(function.as_bytes(), name.as_bytes()));
    }
    let versioned = |rest: &str| rest.is_empty() || rest.starts_with('_');
    cutap_calls::glob(function.as_bytes(), name.as_bytes()) || name.strip_prefix(function).is_some_and(versioned)
}

impl CallSink for UnderCalls<'_> {
    fn enter(&mut self, place: u32, function: &Arc<Function>) -> u32 {
        if place & INSIDE == 0 && !is_meant(self.function, function.display_name()) {
            return place;
        }
        self.sink.enter(place & !INSIDE, function) | INSIDE
    }

    fn exit(&mut self, done: &FinishedCall<'_>) {
        if done.place & INSIDE != 0 {
            self.sink.exit(&FinishedCall { place: done.place & !INSIDE, ..*done });
        }
    }

    fn ring_ends(&mut self) {
        self.sink.ring_ends();
    }

    fn wants_callers(&self) -> bool {
        self.sink.wants_callers()
    }

    fn called_from(&mut self, object: &Arc<str>) -> u32 {
        self.sink.called_from(object)
    }

    fn wants_launches(&self) -> bool {
        false
    }

    fn launched(&mut self, _launch: &KernelLaunch) {}

    fn belongs(&mut self, function: &Arc<Function>, instance: &Arc<Instance>) {
        self.sink.belongs(function, instance);
    }
}

impl<'a> UnderEvents<'a> {
    /// In front of a sink.
    pub fn new(sink: &'a mut dyn EventSink, function: &'a str) -> UnderEvents<'a> {
        UnderEvents { sink, function, open: HashMap::new() }
    }
}

impl EventSink for UnderEvents<'_> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Enter(call) => {
                let open = self.open.entry(call.thread.key).or_default();
                if *open > 0 || is_meant(self.function, call.function.display_name()) {
                    *open += u64::from(!call.function.entry_only);
                    self.sink.event(event);
                }
            }
            Event::Exit(exit) => {
                let open = self.open.entry(exit.call.thread.key).or_default();
                if *open > 0 {
                    *open -= 1;
                    self.sink.event(event);
                }
            }
            other => self.sink.event(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_meant;

    #[test]
    fn hidden_functions_by_slot_and_by_name() {
        let name = "c693336e[2]:storage_get";
        for meant in [name, "c693336e[2]", "hidden:c693336e[2]", "storage_get", "c693336e[*]", "c693336e*", "storage_*"]
        {
            assert!(is_meant(meant, name), "{meant}");
        }
        for other in ["c693336e[1]", "c693336e", "c693336e[2", "storage", "get"] {
            assert!(!is_meant(other, name), "{other}");
        }
        assert!(is_meant("c693336e[7]", "c693336e[7]") && !is_meant("c693336e[7]", "c693336e[71]"));
    }

    #[test]
    fn versions_of_a_plain_name() {
        assert!(is_meant("cuMemAlloc", "cuMemAlloc_v2") && !is_meant("cuMemAlloc", "cuMemAllocHost_v2"));
        assert!(!is_meant("ns", "ns::run(int)") && is_meant("ns*", "ns::run(int)"));
    }
}
