//! Capture: what a stream is asked for is kept in a graph. A capture spreads from its first stream to others by events
//! that are waited for, and must have come back to the first one when it ends.

use super::current;
use super::driver_state::{DriverState, Handle, known, known_mut};
use super::fault::{Answer, Fault};
use super::graph::{self, Edge};
use super::task::Task;

/// Modes, as CUstreamCaptureMode numbers them.
const GLOBAL: u32 = 0;
const RELAXED: u32 = 2;

/// One capture that is going on.
pub struct Capture {
    pub graph: Handle,
    /// The stream where it began and has to end.
    pub stream: Handle,
    pub mode: u32,
    pub thread: u64,
    pub broken: bool,
    /// The graph was the program's before.
    pub given: bool,
}

/// A stream's or an event's part in a capture: what the next node comes after.
#[derive(Clone, Default)]
pub struct Place {
    pub capture: u64,
    pub after: Vec<Edge>,
}

/// Begins a capture of a stream, into a graph of its own or into the program's, behind nodes of that.
pub fn begin(world: &mut DriverState, stream: Handle, mode: u32, into: Option<(Handle, Vec<Edge>)>) -> Answer {
    if mode > RELAXED {
        return Err(Fault::INVALID_VALUE);
    }
    let found = known(&world.streams, stream)?;
    if found.legacy {
        return Err(Fault::STREAM_CAPTURE_UNSUPPORTED);
    }
    if found.capture.is_some() {
        return Err(Fault::ILLEGAL_STATE);
    }
    let given = into.is_some();
    let (graph, after) = match into {
        Some((graph, after)) => {
            graph::known_graph(world, graph)?;
            (graph, after)
        }
        None => {
            let made = graph::create(world);
            known_mut(&mut world.graphs, made)?.owned = true;
            (made, Vec::new())
        }
    };
    let id = world.next_order();
    let thread = current::thread();
    world.captures.insert(id, Capture { graph, stream, mode, thread, broken: false, given });
    known_mut(&mut world.streams, stream)?.capture = Some(Place { capture: id, after });
    Ok(())
}

/// Ends a capture where it began: the graph, or why there is none.
pub fn end(world: &mut DriverState, stream: Handle) -> Answer<Handle> {
    let place = known(&world.streams, stream)?.capture.clone().ok_or(Fault::ILLEGAL_STATE)?;
    let capture = world.captures.get(&place.capture).ok_or(Fault::ILLEGAL_STATE)?;
    if capture.stream != stream {
        return spoil(world, place.capture, Fault::STREAM_CAPTURE_UNMATCHED);
    }
    if capture.mode != RELAXED && capture.thread != current::thread() {
        return Err(Fault::STREAM_CAPTURE_WRONG_THREAD);
    }
    let (graph, broken, given) = (capture.graph, capture.broken, capture.given);
    let joined = ancestors(world, &place.after);
    let forgotten = |p: &Place| p.capture == place.capture && p.after.iter().any(|e| !joined.contains(&e.from));
    let unjoined = world.streams.values().filter_map(|s| s.capture.as_ref()).any(forgotten);
    forget(world, place.capture);
    match (broken, unjoined) {
        (false, false) => {
            known_mut(&mut world.graphs, graph)?.owned = false;
            return Ok(graph);
        }
        _ if given => {}
        _ => graph::destroy(world, graph)?,
    }
    Err(if broken { Fault::STREAM_CAPTURE_INVALIDATED } else { Fault::STREAM_CAPTURE_UNJOINED })
}

/// Nodes, and all that come before them.
fn ancestors(world: &DriverState, from: &[Edge]) -> Vec<Handle> {
    let mut found: Vec<Handle> = Vec::new();
    let mut next: Vec<Handle> = from.iter().map(|e| e.from).collect();
    while let Some(node) = next.pop() {
        if !found.contains(&node) {
            found.push(node);
            next.extend(world.nodes.get(&node).into_iter().flat_map(|n| n.after.iter().map(|e| e.from)));
        }
    }
    found
}

/// Streams and events are out of a capture.
fn forget(world: &mut DriverState, id: u64) {
    world.captures.remove(&id);
    let of_it = |p: &Option<Place>| p.as_ref().is_some_and(|p| p.capture == id);
    world.streams.values_mut().filter(|s| of_it(&s.capture)).for_each(|s| s.capture = None);
    world.events.values_mut().filter(|e| of_it(&e.captured)).for_each(|e| e.captured = None);
}

/// A graph that is gone takes its captures along.
pub fn forget_graph(world: &mut DriverState, graph: Handle) {
    let ids: Vec<u64> = world.captures.iter().filter(|(_, c)| c.graph == graph).map(|(id, _)| *id).collect();
    ids.into_iter().for_each(|id| forget(world, id));
}

/// Keeps a task of a captured stream; false: it is to be done.
pub fn take(world: &mut DriverState, stream: Handle, task: &Task, wait: bool) -> Answer<bool> {
    let place = known(&world.streams, stream)?.capture.clone();
    if let (None, Task::Wait(event)) = (&place, task) {
        return join(world, stream, *event);
    }
    let Some(place) = place else {
        return implicit(world, stream, wait).map(|()| false);
    };
    require_whole(world, &place)?;
    if wait {
        return spoil(world, place.capture, Fault::STREAM_CAPTURE_UNSUPPORTED);
    }
    let after = match task {
        Task::Record(event) => {
            known_mut(&mut world.events, *event)?.captured = Some(place);
            return Ok(true);
        }
        Task::Wait(event) => match known(&world.events, *event)?.captured.clone() {
            Some(there) if there.capture == place.capture => {
                let mut after = place.after;
                after.extend(there.after.iter().filter(|e| !after.contains(e)).copied().collect::<Vec<_>>());
                after
            }
            Some(_) => return spoil(world, place.capture, Fault::STREAM_CAPTURE_MERGE),
            None => return spoil(world, place.capture, Fault::STREAM_CAPTURE_ISOLATION),
        },
        task => return keep(world, stream, place, task).map(|()| true),
    };
    known_mut(&mut world.streams, stream)?.capture = Some(Place { capture: place.capture, after });
    Ok(true)
}

/// STREAM_CAPTURE_INVALIDATED for a capture that is of no use any more.
fn require_whole(world: &DriverState, place: &Place) -> Answer {
    let whole = world.captures.get(&place.capture).is_some_and(|c| !c.broken);
    if whole { Ok(()) } else { Err(Fault::STREAM_CAPTURE_INVALIDATED) }
}

/// A task becomes a node, after which the next one of its stream comes.
fn keep(world: &mut DriverState, stream: Handle, place: Place, task: &Task) -> Answer {
    task.check(world)?;
    let graph = world.captures.get(&place.capture).ok_or(Fault::STREAM_CAPTURE_INVALIDATED)?.graph;
    let after = vec![graph::add(world, graph, place.after, task.clone())?.into()];
    known_mut(&mut world.streams, stream)?.capture = Some(Place { capture: place.capture, after });
    Ok(())
}

/// A record of an event or a wait for one that becomes a node; ILLEGAL_STATE for a stream that is not captured.
pub fn keep_external(world: &mut DriverState, stream: Handle, task: &Task) -> Answer {
    let place = known(&world.streams, stream)?.capture.clone().ok_or(Fault::ILLEGAL_STATE)?;
    require_whole(world, &place)?;
    keep(world, stream, place, task)
}

/// For what cannot be captured: INVALIDATED or UNSUPPORTED, after which the capture is of no use.
pub fn refuse(world: &mut DriverState, stream: Handle) -> Answer {
    let Some(place) = known(&world.streams, stream)?.capture.clone() else { return Ok(()) };
    require_whole(world, &place)?;
    spoil(world, place.capture, Fault::STREAM_CAPTURE_UNSUPPORTED)
}

/// A stream that is not captured waits for an event: it joins the capture if the event is of one.
fn join(world: &mut DriverState, stream: Handle, event: Handle) -> Answer<bool> {
    let Some(there) = known(&world.events, event)?.captured.clone() else {
        return implicit(world, stream, false).map(|()| false);
    };
    if world.captures.get(&there.capture).is_none_or(|c| c.broken) {
        return Err(Fault::INVALID_VALUE);
    }
    let found = known_mut(&mut world.streams, stream)?;
    if found.legacy {
        return spoil(world, there.capture, Fault::STREAM_CAPTURE_IMPLICIT);
    }
    found.capture = Some(there);
    Ok(true)
}

/// The legacy stream would wait for a captured stream of its context: that breaks the capture.
fn implicit(world: &mut DriverState, stream: Handle, _wait: bool) -> Answer {
    let found = known(&world.streams, stream)?;
    if world.captures.is_empty() || !found.legacy {
        return Ok(());
    }
    match blocking_capture(world, found.context) {
        Some(id) => spoil(world, id, Fault::STREAM_CAPTURE_IMPLICIT),
        None => Ok(()),
    }
}

/// A capture of a context that the legacy stream of it would wait for.
pub fn blocking_capture(world: &DriverState, context: Handle) -> Option<u64> {
    let mut streams = world.streams.values().filter(|s| s.context == context && s.blocking());
    streams.find_map(|s| s.capture.as_ref()).map(|p| p.capture)
}

/// A capture is of no use any more.
pub fn spoil<T>(world: &mut DriverState, id: u64, fault: Fault) -> Answer<T> {
    if let Some(capture) = world.captures.get_mut(&id) {
        capture.broken = true;
    }
    Err(fault)
}

/// For calls that must not happen while this thread captures (or any, globally), unless all agreed to be relaxed.
pub fn forbid(world: &mut DriverState) -> Answer {
    if world.captures.is_empty() || current::capture_mode() == RELAXED {
        return Ok(());
    }
    let thread = current::thread();
    let own = current::capture_mode();
    let hinders = |c: &Capture| c.mode != RELAXED && (c.thread == thread || (c.mode == GLOBAL && own == GLOBAL));
    match world.captures.iter().find(|(_, c)| hinders(c)).map(|(id, _)| *id) {
        Some(id) => spoil(world, id, Fault::STREAM_CAPTURE_UNSUPPORTED),
        None => Ok(()),
    }
}

/// For calls that ask or wait for a stream: not while it is captured.
pub fn forbid_stream(world: &mut DriverState, stream: Handle) -> Answer {
    let found = known(&world.streams, stream)?;
    if let Some(place) = &found.capture {
        let id = place.capture;
        return spoil(world, id, Fault::STREAM_CAPTURE_UNSUPPORTED);
    }
    forbid(world)?;
    implicit(world, stream, true)
}

/// A stream is destroyed: a capture that began there ends with it.
pub fn leave(world: &mut DriverState, stream: Handle) {
    let Some(id) = world.streams.get(&stream).and_then(|s| s.capture.as_ref()).map(|p| p.capture) else { return };
    match world.captures.get(&id) {
        Some(capture) if capture.stream == stream => {
            let graph = capture.graph;
            let given = capture.given;
            forget(world, id);
            if !given {
                let _ = graph::destroy(world, graph);
            }
        }
        _ => {}
    }
}
