//! Captures: the tasks of a stream become nodes of a graph. A stream that waits for an event of a captured stream joins
//! the capture. All streams must have been joined to the first one when the capture ends there.

use super::capture_status::{RELAXED, forget, implicit, require_whole, spoil};
use super::{current, graph, lower};
use crate::abi::{Answer, Fault};
use crate::state::{Capture, CapturePosition, DriverState, Edge, Handle, Task, lookup, lookup_mut};

/// Begins a capture of a stream, into a new graph, or into a graph of the program after some of its nodes.
pub fn begin(state: &mut DriverState, stream: Handle, mode: u32, into: Option<(Handle, Vec<Edge>)>) -> Answer {
    if mode > RELAXED {
        return Err(Fault::INVALID_VALUE);
    }
    let entry = lookup(&state.stream.streams, stream)?;
    if entry.legacy {
        return Err(Fault::STREAM_CAPTURE_UNSUPPORTED);
    }
    if entry.capture.is_some() {
        return Err(Fault::ILLEGAL_STATE);
    }
    let into_existing = into.is_some();
    let (graph, after) = match into {
        Some((graph, after)) => {
            state.graph.lookup_graph(graph)?;
            (graph, after)
        }
        None => {
            let new_graph = graph::create(state);
            lookup_mut(&mut state.graph.graphs, new_graph)?.owned = true;
            (new_graph, Vec::new())
        }
    };
    let id = state.next_order();
    let thread = current::thread();
    state.graph.captures.insert(id, Capture { graph, stream, mode, thread, broken: false, into_existing });
    lookup_mut(&mut state.stream.streams, stream)?.capture = Some(CapturePosition { capture: id, after });
    Ok(())
}

/// Ends a capture in the stream where it began, and returns the graph.
pub fn end(state: &mut DriverState, stream: Handle) -> Answer<Handle> {
    let place = lookup(&state.stream.streams, stream)?.capture.clone().ok_or(Fault::ILLEGAL_STATE)?;
    let capture = state.graph.captures.get(&place.capture).ok_or(Fault::ILLEGAL_STATE)?;
    if capture.stream != stream {
        return spoil(state, place.capture, Fault::STREAM_CAPTURE_UNMATCHED);
    }
    if capture.mode != RELAXED && capture.thread != current::thread() {
        return Err(Fault::STREAM_CAPTURE_WRONG_THREAD);
    }
    let (graph, broken, into_existing) = (capture.graph, capture.broken, capture.into_existing);
    let joined = ancestors(state, &place.after);
    let forgotten =
        |p: &CapturePosition| p.capture == place.capture && p.after.iter().any(|e| !joined.contains(&e.from));
    let unjoined = state.stream.streams.values().filter_map(|s| s.capture.as_ref()).any(forgotten);
    forget(state, place.capture);
    match (broken, unjoined) {
        (false, false) => {
            lookup_mut(&mut state.graph.graphs, graph)?.owned = false;
            return Ok(graph);
        }
        _ if into_existing => {}
        _ => graph::destroy(state, graph)?,
    }
    Err(if broken { Fault::STREAM_CAPTURE_INVALIDATED } else { Fault::STREAM_CAPTURE_UNJOINED })
}

/// The nodes of these edges, and all nodes before them.
fn ancestors(state: &DriverState, from: &[Edge]) -> Vec<Handle> {
    let mut ancestors: Vec<Handle> = Vec::new();
    let mut next: Vec<Handle> = from.iter().map(|e| e.from).collect();
    while let Some(node) = next.pop() {
        if !ancestors.contains(&node) {
            ancestors.push(node);
            next.extend(state.graph.nodes.get(&node).into_iter().flat_map(|n| n.after.iter().map(|e| e.from)));
        }
    }
    ancestors
}

/// Stores a task of a captured stream. Returns false if the task must run instead.
pub fn take(state: &mut DriverState, stream: Handle, task: &Task, wait: bool) -> Answer<bool> {
    let place = lookup(&state.stream.streams, stream)?.capture.clone();
    if let (None, Task::Wait(event)) = (&place, task) {
        return join(state, stream, *event);
    }
    let Some(place) = place else {
        return implicit(state, stream).map(|()| false);
    };
    require_whole(state, &place)?;
    if wait {
        return spoil(state, place.capture, Fault::STREAM_CAPTURE_UNSUPPORTED);
    }
    let after = match task {
        Task::Record(event) => {
            lookup_mut(&mut state.stream.events, *event)?.captured = Some(place);
            return Ok(true);
        }
        Task::Wait(event) => match lookup(&state.stream.events, *event)?.captured.clone() {
            Some(there) if there.capture == place.capture => {
                let mut after = place.after;
                after.extend(there.after.iter().filter(|e| !after.contains(e)).copied().collect::<Vec<_>>());
                after
            }
            Some(_) => return spoil(state, place.capture, Fault::STREAM_CAPTURE_MERGE),
            None => return spoil(state, place.capture, Fault::STREAM_CAPTURE_ISOLATION),
        },
        task => return keep(state, stream, place, task).map(|()| true),
    };
    lookup_mut(&mut state.stream.streams, stream)?.capture = Some(CapturePosition { capture: place.capture, after });
    Ok(true)
}

/// Adds a node for a task. The next node of the stream comes after it.
fn keep(state: &mut DriverState, stream: Handle, place: CapturePosition, task: &Task) -> Answer {
    lower::check(state, task)?;
    let graph = state.graph.captures.get(&place.capture).ok_or(Fault::STREAM_CAPTURE_INVALIDATED)?.graph;
    let after = vec![graph::add(state, graph, place.after, task.clone())?.into()];
    lookup_mut(&mut state.stream.streams, stream)?.capture = Some(CapturePosition { capture: place.capture, after });
    Ok(())
}

/// Adds a node that records an event or waits for one. ILLEGAL_STATE for a stream that is not captured.
pub fn keep_external(state: &mut DriverState, stream: Handle, task: &Task) -> Answer {
    let place = lookup(&state.stream.streams, stream)?.capture.clone().ok_or(Fault::ILLEGAL_STATE)?;
    require_whole(state, &place)?;
    keep(state, stream, place, task)
}

/// A stream that is not captured waits for an event. It joins the capture in which the event was recorded.
fn join(state: &mut DriverState, stream: Handle, event: Handle) -> Answer<bool> {
    let Some(there) = lookup(&state.stream.events, event)?.captured.clone() else {
        return implicit(state, stream).map(|()| false);
    };
    if state.graph.captures.get(&there.capture).is_none_or(|c| c.broken) {
        return Err(Fault::INVALID_VALUE);
    }
    let entry = lookup_mut(&mut state.stream.streams, stream)?;
    if entry.legacy {
        return spoil(state, there.capture, Fault::STREAM_CAPTURE_IMPLICIT);
    }
    entry.capture = Some(there);
    Ok(true)
}

/// A stream is destroyed. A capture that began there ends too.
pub fn abandon(state: &mut DriverState, stream: Handle) {
    let Some(id) = state.stream.streams.get(&stream).and_then(|s| s.capture.as_ref()).map(|p| p.capture) else {
        return;
    };
    match state.graph.captures.get(&id) {
        Some(capture) if capture.stream == stream => {
            let graph = capture.graph;
            let into_existing = capture.into_existing;
            forget(state, id);
            if !into_existing {
                let _ = graph::destroy(state, graph);
            }
        }
        _ => {}
    }
}
