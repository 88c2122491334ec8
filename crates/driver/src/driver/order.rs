//! The order of operations. An operation runs immediately, on the caller's thread, if nothing is before it. Otherwise
//! it waits in the queue of its stream for the driver thread. Host functions always run on the driver thread, which
//! starts when it is first needed. This file must not know what an operation does.

use super::{allocation, current};
use crate::abi::{Answer, Fault, lifecycle};
use crate::engine::{self, Fence, Lane, Op, machine};
use crate::host::thread;
use crate::state::{CHANGED, DriverState, Guard, Handle, Operation, Stream, Work, driver_state, lookup, lookup_mut};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Puts an operation into a stream and does not wait.
pub fn submit(mut state: Guard, stream: Handle, work: Work) -> Answer {
    let order = state.next_order();
    let idle = is_next(&state, stream, order, &work)?;
    match work {
        Work::Engine(op) if idle => start(state, stream, order, op).map(drop),
        Work::Internal(run) if idle => {
            drop(state);
            run();
            Ok(())
        }
        Work::Record(event, which) if idle => record(state, stream, order, (event, which)).map(drop),
        Work::Wait(event, _) if idle => {
            come_after(&mut state, stream, event);
            Ok(())
        }
        Work::Until(_) if idle => Ok(()),
        work => {
            need_thread()?;
            if let Some(entry) = state.stream.streams.get_mut(&stream) {
                entry.queue.push_back(Operation { order, work });
            }
            CHANGED.notify_all();
            Ok(())
        }
    }
}

/// Gives an operation to the engine, without the lock. Meanwhile other threads find the stream in use, so the order
/// stays. `order` is the operation's.
fn start(mut state: Guard, handle: Handle, order: u64, op: Op) -> Answer<Guard> {
    if let Some(lane) = machine().at_once() {
        drop(state);
        lane.submit(&[], op)?;
        return Ok(driver_state());
    }
    let Prepared { lane, device, after } = prepare(&mut state, handle)?;
    let Some(stream) = state.stream.streams.get_mut(&handle) else { return Err(Fault::INVALID_HANDLE) };
    stream.queue.push_front(Operation { order, work: Work::Running });
    drop(state);
    let lane = lane.map_or_else(|| new_lane(handle, device), Ok);
    let result = lane.and_then(|lane| lane.submit(&after, op));
    let mut state = driver_state();
    if let Some(stream) = state.stream.streams.get_mut(&handle) {
        stream.queue.pop_front();
        if let Ok(fence) = &result {
            stream.last = *fence;
        }
        if !stream.queue.is_empty() || WAITING.load(Ordering::Relaxed) > 0 {
            CHANGED.notify_all();
        }
    }
    result.map(|_| state)
}

/// A new lane for a stream. No lock may be held: the engine may have to make a channel.
fn new_lane(handle: Handle, device: i32) -> Answer<Arc<dyn Lane>> {
    let lane = allocation::space(device)?.lane()?;
    if let Some(stream) = driver_state().stream.streams.get_mut(&handle) {
        stream.lane = Some(Arc::clone(&lane));
    }
    Ok(lane)
}

/// What the next operation of a stream needs.
struct Prepared {
    /// If the stream has one.
    lane: Option<Arc<dyn Lane>>,
    device: i32,
    after: Vec<Fence>,
}

fn prepare(state: &mut DriverState, handle: Handle) -> Answer<Prepared> {
    let context = lookup(&state.stream.streams, handle)?.context;
    let device = state.context.contexts.get(&context).ok_or(Fault::CONTEXT_IS_DESTROYED)?.device;
    let stream = lookup_mut(&mut state.stream.streams, handle)?;
    let mut after = std::mem::take(&mut stream.after);
    let (is_legacy, is_blocking, lane) = (stream.legacy, stream.blocking(), stream.lane.clone());
    // The legacy stream comes after the blocking streams of its context, and they after it.
    if is_legacy || is_blocking {
        let peers = state.stream.streams.iter().filter(|(peer, s)| s.context == context && **peer != handle);
        let peers = peers.filter(|(_, s)| if is_legacy { s.blocking() } else { s.legacy });
        after.extend(peers.flat_map(|(_, s)| s.open_fences()));
    }
    if is_legacy {
        after.extend(state.stream.orphans.iter().filter(|(of, _)| *of == context).map(|(_, fence)| *fence));
    }
    after.retain(|fence| !engine::reached(*fence).unwrap_or(true));
    Ok(Prepared { lane, device, after })
}

/// The next operation of a stream comes after the last recording of an event.
fn come_after(state: &mut DriverState, stream: Handle, event: Handle) {
    let fence = state.stream.events.get(&event).and_then(|event| event.fence);
    if let Some((fence, stream)) = fence.zip(state.stream.streams.get_mut(&stream))
        && !engine::reached(fence).unwrap_or(true)
    {
        stream.after.push(fence);
    }
}

/// Puts several operations into a stream, with no other operation between them, and does not wait. The caller's thread
/// starts those that nothing is before, and the driver thread the others.
pub fn submit_all(mut state: Guard, stream: Handle, works: Vec<Work>) -> Answer {
    let is_first = lookup(&state.stream.streams, stream)?.queue.is_empty();
    let mut last = 0;
    for work in works {
        last = state.next_order();
        if let Some(entry) = state.stream.streams.get_mut(&stream) {
            entry.queue.push_back(Operation { order: last, work });
        }
    }
    let mut result = Ok(());
    while is_first && is_for_caller(&state, stream, last) {
        let Some((_, first)) = take_first(&mut state, stream) else { break };
        let Some((next_state, started)) = run_first(state, stream, first) else { return Err(Fault::NOT_INITIALIZED) };
        state = next_state;
        result = result.and(started);
    }
    let is_empty = state.stream.streams.get(&stream).is_none_or(|s| s.queue.is_empty());
    if !is_empty || WAITING.load(Ordering::Relaxed) > 0 {
        need_thread()?;
        CHANGED.notify_all();
    }
    result
}

/// Whether the first operation of a stream is one of those up to `last` that may start now, and no code of the program.
fn is_for_caller(state: &DriverState, handle: Handle, last: u64) -> bool {
    let Some(stream) = state.stream.streams.get(&handle) else { return false };
    stream.queue.front().is_some_and(|first| {
        let is_own = matches!(first.work, Work::Engine(_) | Work::Internal(_) | Work::Record(..) | Work::Wait(..));
        is_own && first.order <= last && is_ready(state, stream, &first.work) && !is_behind(state, stream, first.order)
    })
}

/// Takes the first operation out of its stream, which stays in use, with the stream's context.
fn take_first(state: &mut DriverState, handle: Handle) -> Option<(Handle, Operation)> {
    let stream = state.stream.streams.get_mut(&handle)?;
    let first = stream.queue.front_mut()?;
    let work = std::mem::replace(&mut first.work, Work::Running);
    Some((stream.context, Operation { order: first.order, work }))
}

/// Runs an operation that was taken out, without the lock, and its result. None in a child that code of the program has
/// forked.
fn run_first(state: Guard, handle: Handle, operation: Operation) -> Option<(Guard, Answer)> {
    let Operation { order, work } = operation;
    let result = match work {
        Work::Engine(op) => start(state, handle, order, op).map(drop),
        Work::Record(event, which) => record(state, handle, order, (event, which)).map(drop),
        work => {
            drop(state);
            match work {
                Work::Internal(run) => run(),
                Work::Host(function, data) => function(data.0),
                Work::Callback(function, stream, data) => function(stream, 0, data.0),
                Work::Wait(event, _) => come_after(&mut driver_state(), handle, event),
                Work::Engine(_) | Work::Record(..) | Work::Until(_) | Work::Running => {}
            }
            Ok(())
        }
    };
    lifecycle::require_started().ok()?;
    let mut state = driver_state();
    if let Some(stream) = state.stream.streams.get_mut(&handle) {
        stream.queue.pop_front();
        if stream.closed && stream.queue.is_empty() {
            close(&mut state, handle);
        }
    }
    Some((state, result))
}

/// Puts an operation into a stream and waits until it has completed. The driver thread cannot wait: the call fails
/// there before anything is put into the stream.
pub fn run(mut state: Guard, stream: Handle, work: Work) -> Answer {
    let order = state.next_order();
    if current::is_driver_thread() && !is_next(&state, stream, order, &work)? {
        return Err(Fault::NOT_PERMITTED);
    }
    submit(state, stream, work)?;
    wait_for_stream(driver_state(), stream).map(drop)
}

/// Waits for the operations that are in a stream now.
pub fn wait_for_stream(state: Guard, stream: Handle) -> Answer<Guard> {
    let until = state.stream.streams.get(&stream).and_then(|s| s.queue.back()).map_or(0, |o| o.order);
    let is_submitted =
        |w: &DriverState| w.stream.streams.get(&stream).is_none_or(|s| s.queue.front().is_none_or(|o| o.order > until));
    let state = wait(state, is_submitted)?;
    let open = state.stream.streams.get(&stream).map(|s| s.open_fences().collect());
    wait_for_fences(state, open.unwrap_or_default())
}

/// Waits for the operations that are in the streams of a context now.
pub fn wait_for_context(state: Guard, context: Handle) -> Answer<Guard> {
    wait_for_streams(state, context, |_| true)
}

/// Waits as the legacy stream does: for itself and all blocking streams of its context.
pub fn wait_for_blocking(state: Guard, context: Handle) -> Answer<Guard> {
    wait_for_streams(state, context, Stream::blocking)
}

fn wait_for_streams(mut state: Guard, context: Handle, is_chosen: impl Fn(&Stream) -> bool) -> Answer<Guard> {
    let until = state.next_order();
    let is_waited_for = |s: &&Stream| s.context == context && is_chosen(s);
    let mut state = wait(state, |w| {
        w.stream.streams.values().filter(is_waited_for).all(|s| s.queue.front().is_none_or(|o| o.order > until))
    })?;
    state.stream.orphans.retain(|(_, fence)| !engine::reached(*fence).unwrap_or(true));
    let mut open: Vec<Fence> =
        state.stream.streams.values().filter(is_waited_for).flat_map(Stream::open_fences).collect();
    open.extend(state.stream.orphans.iter().filter(|(of, _)| *of == context).map(|(_, fence)| *fence));
    wait_for_fences(state, open)
}

/// Waits for fences without the lock. An error is theirs, or that of an operation that was submitted since the last
/// wait.
pub fn wait_for_fences(mut state: Guard, fences: Vec<Fence>) -> Answer<Guard> {
    if !fences.is_empty() {
        drop(state);
        engine::wait(&fences)?;
        state = driver_state();
    }
    match state.stream.failure.take() {
        Some(fault) => Err(fault),
        None => Ok(state),
    }
}

/// Waits until the recordings of an event that were requested until now have completed.
pub fn wait_for_event(state: Guard, event: Handle) -> Answer<Guard> {
    let which = lookup(&state.stream.events, event)?.recorded;
    let state = wait(state, |w| w.stream.events.get(&event).is_none_or(|e| e.submitted >= which))?;
    let fence = state.stream.events.get(&event).and_then(|e| e.fence);
    wait_for_fences(state, fence.into_iter().collect())
}

/// Waits for a condition. NOT_PERMITTED on the driver thread, because the work would never continue.
pub fn wait(mut state: Guard, condition: impl Fn(&DriverState) -> bool) -> Answer<Guard> {
    while !condition(&state) {
        if current::is_driver_thread() {
            return Err(Fault::NOT_PERMITTED);
        }
        WAITING.fetch_add(1, Ordering::Relaxed);
        state = CHANGED.wait(state).unwrap_or_else(PoisonError::into_inner);
        WAITING.fetch_sub(1, Ordering::Relaxed);
    }
    Ok(state)
}

/// Whether all work of a stream has completed.
pub fn is_idle(state: &DriverState, stream: Handle) -> Answer<bool> {
    let Some(stream) = state.stream.streams.get(&stream) else { return Ok(true) };
    if !stream.queue.is_empty() {
        return Ok(false);
    }
    are_reached(stream)
}

fn are_reached(stream: &Stream) -> Answer<bool> {
    stream.open_fences().try_fold(true, |all, fence| Ok(all && engine::reached(fence)?))
}

/// Ends a stream. What it has submitted still runs.
pub fn close(state: &mut DriverState, handle: Handle) {
    let Some(stream) = state.stream.streams.get_mut(&handle) else { return };
    if !stream.queue.is_empty() {
        stream.closed = true;
        return;
    }
    let open: Vec<_> = stream.open_fences().map(|fence| (stream.context, fence)).collect();
    state.stream.streams.remove(&handle);
    state.stream.orphans.retain(|(_, fence)| !engine::reached(*fence).unwrap_or(true));
    state.stream.orphans.extend(open);
}

/// Whether an operation would run immediately.
fn is_next(state: &DriverState, stream: Handle, order: u64, work: &Work) -> Answer<bool> {
    let stream = lookup(&state.stream.streams, stream)?;
    Ok(stream.queue.is_empty() && !is_behind(state, stream, order) && is_ready(state, stream, work))
}

/// Whether a stream must wait for earlier work of another. The legacy stream waits for the blocking streams of its
/// context, and they wait for it.
fn is_behind(state: &DriverState, stream: &Stream, order: u64) -> bool {
    let earlier = |peer: &Stream| peer.queue.front().is_some_and(|o| o.order < order);
    let mut peers = state.stream.streams.values().filter(|peer| peer.context == stream.context);
    match stream.legacy {
        true => peers.any(|peer| !peer.legacy && peer.blocking() && earlier(peer)),
        false => stream.blocking() && peers.any(|peer| peer.legacy && earlier(peer)),
    }
}

fn is_ready(state: &DriverState, stream: &Stream, work: &Work) -> bool {
    match work {
        Work::Wait(event, which) => state.stream.events.get(event).is_none_or(|e| e.submitted >= *which),
        Work::Until(condition) => condition() && is_finished(state, stream),
        Work::Host(..) | Work::Callback(..) => is_finished(state, stream),
        Work::Running => false,
        _ => true,
    }
}

/// Whether all that an operation of the host comes after has completed. After a fault nothing is waited for.
fn is_finished(state: &DriverState, stream: &Stream) -> bool {
    if !machine().runs_kernels() {
        return true;
    }
    let is_peer = |peer: &&Stream| {
        peer.context == stream.context && (stream.legacy && peer.blocking() || stream.blocking() && peer.legacy)
    };
    let mut peers = state.stream.streams.values().filter(is_peer);
    are_reached(stream).unwrap_or(true) && peers.all(|peer| are_reached(peer).unwrap_or(true))
}

/// Records an event: its stamp, or where it has no time, a fence.
fn record(state: Guard, stream: Handle, order: u64, (event, which): (Handle, u64)) -> Answer<Guard> {
    let stamp = match state.stream.events.get(&event) {
        None => return Ok(state),
        Some(event) => event.stamp.clone(),
    };
    let mut state = start(state, stream, order, stamp.map_or(Op::Nothing, Op::Stamp))?;
    let fence = state.stream.streams.get(&stream).and_then(|s| s.last);
    if let Some(event) = state.stream.events.get_mut(&event).filter(|event| event.submitted < which) {
        (event.submitted, event.fence) = (which, fence);
    }
    CHANGED.notify_all();
    Ok(state)
}

/// The driver thread. It ends only in a child that a host function has forked.
fn serve() {
    current::become_driver_thread();
    let mut state = driver_state();
    loop {
        let next = state.stream.streams.iter().find_map(|(handle, s)| {
            let first = s.queue.front()?;
            (is_ready(&state, s, &first.work) && !is_behind(&state, s, first.order)).then_some(*handle)
        });
        let Some((handle, (context, first))) = next.and_then(|handle| Some((handle, take_first(&mut state, handle)?)))
        else {
            // Nothing reports a change of memory or a fence that is reached, so these are polled.
            let first = |s: &Stream| s.queue.front().map(|first| is_polled(&first.work));
            let soon = if state.stream.streams.values().filter_map(first).any(|polled| polled) { POLL } else { LONG };
            state = CHANGED.wait_timeout(state, soon).unwrap_or_else(PoisonError::into_inner).0;
            continue;
        };
        current::set(context);
        // A host function has forked, and this is the only thread of the child. Nothing is left to do.
        let Some((next_state, result)) = run_first(state, handle, first) else { return };
        state = next_state;
        note_failure(&mut state, result);
        CHANGED.notify_all();
    }
}

/// Keeps the first failure for the next wait.
fn note_failure(state: &mut DriverState, result: Answer) {
    if let Err(fault) = result {
        state.stream.failure.get_or_insert(fault);
    }
}

/// Whether the driver thread must look again soon for this work.
fn is_polled(work: &Work) -> bool {
    matches!(work, Work::Until(_)) || machine().runs_kernels() && matches!(work, Work::Host(..) | Work::Callback(..))
}

/// How long the driver thread sleeps.
const POLL: Duration = Duration::from_micros(200);
const LONG: Duration = Duration::from_secs(60);

/// Callers that wait for a change.
static WAITING: AtomicU32 = AtomicU32::new(0);

/// Starts the driver thread at the first call.
fn need_thread() -> Answer {
    static STARTED: AtomicBool = AtomicBool::new(false);
    if STARTED.swap(true, Ordering::AcqRel) {
        return Ok(());
    }
    thread::start(serve).inspect_err(|_| STARTED.store(false, Ordering::Release))
}
