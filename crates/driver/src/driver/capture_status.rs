//! Captures in progress: what they forbid, what breaks them, and who takes part. It must not make or change graphs.

use super::current;
use crate::abi::{Answer, Fault};
use crate::state::{Capture, CapturePosition, DriverState, Handle, lookup};

/// CUstreamCaptureMode
const GLOBAL: u32 = 0;
pub const RELAXED: u32 = 2;

/// STREAM_CAPTURE_INVALIDATED for a broken capture.
pub fn require_whole(state: &DriverState, place: &CapturePosition) -> Answer {
    let whole = state.graph.captures.get(&place.capture).is_some_and(|c| !c.broken);
    if whole { Ok(()) } else { Err(Fault::STREAM_CAPTURE_INVALIDATED) }
}

/// For calls that cannot be captured. They break the capture of their stream.
pub fn refuse(state: &mut DriverState, stream: Handle) -> Answer {
    let Some(place) = lookup(&state.stream.streams, stream)?.capture.clone() else { return Ok(()) };
    require_whole(state, &place)?;
    spoil(state, place.capture, Fault::STREAM_CAPTURE_UNSUPPORTED)
}

/// The legacy stream would wait for the captured streams of its context. That breaks the capture.
pub fn implicit(state: &mut DriverState, stream: Handle) -> Answer {
    let entry = lookup(&state.stream.streams, stream)?;
    if state.graph.captures.is_empty() || !entry.legacy {
        return Ok(());
    }
    match blocking_capture(state, entry.context) {
        Some(id) => spoil(state, id, Fault::STREAM_CAPTURE_IMPLICIT),
        None => Ok(()),
    }
}

/// The capture that the legacy stream of a context would wait for.
pub fn blocking_capture(state: &DriverState, context: Handle) -> Option<u64> {
    let mut streams = state.stream.streams.values().filter(|s| s.context == context && s.blocking());
    streams.find_map(|s| s.capture.as_ref()).map(|p| p.capture)
}

/// Breaks a capture and returns the fault.
pub fn spoil<T>(state: &mut DriverState, id: u64, fault: Fault) -> Answer<T> {
    if let Some(capture) = state.graph.captures.get_mut(&id) {
        capture.broken = true;
    }
    Err(fault)
}

/// For calls that are forbidden while this thread captures. A capture in global mode forbids them in
/// every thread in global mode. Relaxed mode allows them.
pub fn forbid(state: &mut DriverState) -> Answer {
    if state.graph.captures.is_empty() || current::capture_mode() == RELAXED {
        return Ok(());
    }
    let thread = current::thread();
    let own = current::capture_mode();
    let hinders = |c: &Capture| c.mode != RELAXED && (c.thread == thread || (c.mode == GLOBAL && own == GLOBAL));
    match state.graph.captures.iter().find(|(_, c)| hinders(c)).map(|(id, _)| *id) {
        Some(id) => spoil(state, id, Fault::STREAM_CAPTURE_UNSUPPORTED),
        None => Ok(()),
    }
}

/// For calls that query a stream or wait for it: they break its capture.
pub fn forbid_stream(state: &mut DriverState, stream: Handle) -> Answer {
    let entry = lookup(&state.stream.streams, stream)?;
    if let Some(place) = &entry.capture {
        let id = place.capture;
        return spoil(state, id, Fault::STREAM_CAPTURE_UNSUPPORTED);
    }
    forbid(state)?;
    implicit(state, stream)
}

/// Removes a capture, also from its streams and events.
pub fn forget(state: &mut DriverState, id: u64) {
    state.graph.captures.remove(&id);
    let of_it = |p: &Option<CapturePosition>| p.as_ref().is_some_and(|p| p.capture == id);
    state.stream.streams.values_mut().filter(|s| of_it(&s.capture)).for_each(|s| s.capture = None);
    state.stream.events.values_mut().filter(|e| of_it(&e.captured)).for_each(|e| e.captured = None);
}

/// Removes the captures into a graph that is destroyed.
pub fn forget_graph(state: &mut DriverState, graph: Handle) {
    let ids: Vec<u64> = state.graph.captures.iter().filter(|(_, c)| c.graph == graph).map(|(id, _)| *id).collect();
    ids.into_iter().for_each(|id| forget(state, id));
}
