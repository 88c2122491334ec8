//! Perfetto's flows: from a launch to the nested launch, and on to the ends of the calls around it, the nearest
//! first. They lead to ends, because a call may launch something long after it began.
//!
//! Perfetto orders the events of a flow by time, so an event that is written late has its place. Memory does not grow
//! with the number of launches.

use super::perfetto_fields::event::FLOW_IDS;
use super::proto::Message;
use cutap_trace::Call;
use std::collections::VecDeque;

/// The largest number of flows to one call.
const MOST: usize = 256;

/// The open calls of a thread, and the flows of its launches.
#[derive(Debug, Default)]
pub(super) struct Flows {
    open: Vec<Open>,
    /// Start and flow of the last launches. A call that is written at its end may be around them.
    last: VecDeque<(u64, u64)>,
}

/// A call that has not ended.
#[derive(Debug)]
struct Open {
    call: Call,
    /// The flow of a launch.
    flow: Option<u64>,
    /// The flows of nested launches, which lead to the end of this call.
    inside: Vec<u64>,
}

impl Open {
    fn add_nested(&mut self, flow: u64) {
        if self.inside.len() < MOST {
            self.inside.push(flow);
        }
    }
}

impl Flows {
    /// Writes the flows of a call that begins to its event. `next` is the number of a new flow. Returns the number that
    /// this call got.
    pub fn begin_call(&mut self, call: &Call, next: u64, event: &mut Message) -> Option<u64> {
        let later = self.last.iter().rev().take_while(|(began, _)| *began > call.start_ns);
        let mut inside: Vec<u64> = later.map(|(_, flow)| *flow).collect();
        inside.reverse();
        let mut flow = None;
        if call.kernel().is_some() {
            if inside.is_empty() {
                flow = Some(self.launches(call.start_ns, next));
            }
            // Otherwise they are the same launches in a lower layer.
            flow.into_iter().chain(inside.drain(..)).for_each(|flow| {
                event.fixed(FLOW_IDS, flow);
            });
        }
        self.open.push(Open { call: call.clone(), flow, inside });
        flow
    }

    /// The flow of a launch: the flow of the launch around it, or a new one.
    fn launches(&mut self, ns: u64, next: u64) -> u64 {
        if let Some(outer) = self.open.iter().rev().find_map(|open| open.flow) {
            return outer;
        }
        self.open.last_mut().into_iter().for_each(|around| around.add_nested(next));
        if self.last.len() == MOST {
            self.last.pop_front();
        }
        self.last.push_back((ns, next));
        next
    }

    /// Writes the flows that lead to the end of a call to its event, and hands them to the call around it. Returns the
    /// number of calls inside that did not end; `None` if the call is not open.
    pub fn end_call(&mut self, call: &Call, event: &mut Message) -> Option<usize> {
        let place = self.open.iter().rposition(|open| open.call.is_same_call(call))?;
        let ended_calls = self.open.split_off(place);
        for flow in ended_calls.iter().flat_map(|open| &open.inside).take(MOST) {
            event.fixed(FLOW_IDS, *flow);
            self.open
                .last_mut()
                .into_iter()
                .filter(|o| !o.inside.contains(flow))
                .for_each(|around| around.add_nested(*flow));
        }
        Some(ended_calls.len() - 1)
    }

    /// Whether the call is open.
    pub fn is_open(&self, call: &Call) -> bool {
        self.open.iter().any(|open| open.call.is_same_call(call))
    }
}
