//! Perfetto's flows: from a launch to the launch inside it, and on to the ends of the calls around it, the nearest first. They go
//! to ends, for when a call begins nobody knows yet what it will launch. Memory does not grow with the launches.

use super::proto::Message;
use cutap_trace::Call;
use std::sync::Arc;

/// Fields of TrackEvent: flows that begin or pass here, and those that end here.
const FLOWS: u32 = 47;
const LAST_FLOWS: u32 = 48;
/// Launches inside one call that have a flow to it: more arrows say no more.
const MOST: usize = 256;

/// A call that has not ended.
#[derive(Debug)]
pub(super) struct Open {
    call: Arc<Call>,
    /// That of a launch.
    flow: Option<u64>,
    /// Those of launches inside, which go on to this call's end.
    inside: Vec<u64>,
}

impl Open {
    /// One that begins; a launch with its flow.
    pub fn new(call: &Arc<Call>, flow: Option<u64>) -> Open {
        Open { call: call.clone(), flow, inside: Vec::new() }
    }

    /// Whether it is this one.
    pub fn is(&self, call: &Arc<Call>) -> bool {
        Arc::ptr_eq(&self.call, call)
    }

    fn takes(&mut self, flow: u64) {
        if self.inside.len() < MOST {
            self.inside.push(flow);
        }
    }
}

/// The field and the number of the flow of a launch that begins inside these; `next` is the number of a new one.
pub(super) fn launched(open: &mut [Open], next: u64) -> (u32, u64) {
    let outer = open.iter().enumerate().rev().find_map(|(place, o)| Some((place, o.flow?)));
    match outer {
        // The same launch, one layer further down: what is around the outermost comes behind it.
        Some((0, flow)) => (LAST_FLOWS, flow),
        Some((_, flow)) => (FLOWS, flow),
        None => {
            open.last_mut().into_iter().for_each(|around| around.takes(next));
            (FLOWS, next)
        }
    }
}

/// Writes to the end of a call, and of what was left inside it, which flows come there; they go on to the call around it.
pub(super) fn ended(ended: &[Open], mut around: Option<&mut Open>, event: &mut Message) {
    for flow in ended.iter().flat_map(|o| &o.inside).take(MOST) {
        event.fixed(if around.is_some() { FLOWS } else { LAST_FLOWS }, *flow);
        around.iter_mut().for_each(|around| around.takes(*flow));
    }
}
