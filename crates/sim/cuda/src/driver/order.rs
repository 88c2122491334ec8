//! The order of operations. An operation runs immediately, on the caller's thread, if nothing is before it. Otherwise
//! it waits in the queue of its stream for the driver thread. Host functions always run on the driver thread, which
//! starts when it is first needed. This file must not know what an operation does.

use super::current;
use crate::abi::{Answer, Fault, lifecycle};
use crate::host::thread;
use crate::state::{CHANGED, DriverState, Guard, Handle, Operation, Stream, Work, driver_state, lookup};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Puts an operation into a stream and does not wait.
pub fn submit(mut state: Guard, stream: Handle, work: Work) -> Answer {
    let order = state.next_order();
    let idle = is_next(&state, stream, order, &work)?;
    match work {
        Work::Internal(run) if idle => {
            drop(state);
            run();
        }
        Work::Record(event, which) if idle => record(&mut state, event, which),
        Work::Wait(..) | Work::Until(_) if idle => {}
        work => {
            need_thread()?;
            if let Some(entry) = state.stream.streams.get_mut(&stream) {
                entry.queue.push_back(Operation { order, work });
            }
            CHANGED.notify_all();
        }
    }
    Ok(())
}

/// Puts several operations into a stream, with no other operation between them, and does not wait.
pub fn submit_all(mut state: Guard, stream: Handle, works: Vec<Work>) -> Answer {
    need_thread()?;
    for work in works {
        let order = state.next_order();
        if let Some(entry) = state.stream.streams.get_mut(&stream) {
            entry.queue.push_back(Operation { order, work });
        }
    }
    CHANGED.notify_all();
    Ok(())
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
    wait(state, |w| w.stream.streams.get(&stream).is_none_or(|s| s.queue.front().is_none_or(|o| o.order > until)))
}

/// Waits for the operations that are in the streams of a context now.
pub fn wait_for_context(mut state: Guard, context: Handle) -> Answer<Guard> {
    let until = state.next_order();
    wait(state, |w| {
        w.stream
            .streams
            .values()
            .filter(|s| s.context == context)
            .all(|s| s.queue.front().is_none_or(|o| o.order > until))
    })
}

/// Waits as the legacy stream does: for itself and all blocking streams of its context.
pub fn wait_for_blocking(mut state: Guard, context: Handle) -> Answer<Guard> {
    let until = state.next_order();
    wait(state, |w| {
        let mut streams = w.stream.streams.values().filter(|s| s.context == context && s.blocking());
        streams.all(|s| s.queue.front().is_none_or(|o| o.order > until))
    })
}

/// Waits for a condition. NOT_PERMITTED on the driver thread, because the work would never continue.
pub fn wait(mut state: Guard, condition: impl Fn(&DriverState) -> bool) -> Answer<Guard> {
    while !condition(&state) {
        if current::is_driver_thread() {
            return Err(Fault::NOT_PERMITTED);
        }
        state = CHANGED.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    Ok(state)
}

/// Whether the queue of a stream is empty.
pub fn is_idle(state: &DriverState, stream: Handle) -> bool {
    state.stream.streams.get(&stream).is_none_or(|s| s.queue.is_empty())
}

/// Whether an operation would run immediately.
fn is_next(state: &DriverState, stream: Handle, order: u64, work: &Work) -> Answer<bool> {
    let stream = lookup(&state.stream.streams, stream)?;
    Ok(stream.queue.is_empty() && !is_behind(state, stream, order) && is_ready(state, work))
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

fn is_ready(state: &DriverState, work: &Work) -> bool {
    match work {
        Work::Wait(event, which) => state.stream.events.get(event).is_none_or(|e| e.completed >= *which),
        Work::Until(condition) => condition(),
        Work::Running => false,
        _ => true,
    }
}

fn record(state: &mut DriverState, event: Handle, which: u64) {
    if let Some(event) = state.stream.events.get_mut(&event) {
        event.completed = event.completed.max(which);
        event.time = Some(Instant::now());
    }
    CHANGED.notify_all();
}

/// The driver thread. It ends only in a child that a host function has forked.
fn serve() {
    current::become_driver_thread();
    let mut state = driver_state();
    loop {
        let next = state.stream.streams.iter().find_map(|(handle, s)| {
            let first = s.queue.front()?;
            (is_ready(&state, &first.work) && !is_behind(&state, s, first.order)).then_some(*handle)
        });
        let Some((handle, stream)) = next.and_then(|handle| Some((handle, state.stream.streams.get_mut(&handle)?)))
        else {
            // No event reports a change of memory, so a stream that waits for a value is polled.
            let first = |s: &Stream| matches!(s.queue.front(), Some(Operation { work: Work::Until(_), .. }));
            let soon = if state.stream.streams.values().any(first) { 1 } else { 60_000 };
            state = CHANGED.wait_timeout(state, Duration::from_millis(soon)).unwrap_or_else(PoisonError::into_inner).0;
            continue;
        };
        let context = stream.context;
        let Some(first) = stream.queue.front_mut() else { continue };
        let work = std::mem::replace(&mut first.work, Work::Running);
        drop(state);
        current::set(context);
        match work {
            Work::Internal(run) => run(),
            Work::Host(function, data) => function(data.0),
            Work::Callback(function, stream, data) => function(stream, 0, data.0),
            Work::Record(event, which) => record(&mut driver_state(), event, which),
            Work::Wait(..) | Work::Until(_) | Work::Running => {}
        }
        if lifecycle::require_started().is_err() {
            // The host function has forked, and this is the only thread of the child. Nothing is left to do.
            return;
        }
        state = driver_state();
        if let Some(stream) = state.stream.streams.get_mut(&handle) {
            stream.queue.pop_front();
            if stream.closed && stream.queue.is_empty() {
                state.stream.streams.remove(&handle);
            }
        }
        CHANGED.notify_all();
    }
}

/// Starts the driver thread at the first call.
fn need_thread() -> Answer {
    static STARTED: AtomicBool = AtomicBool::new(false);
    if STARTED.swap(true, Ordering::AcqRel) {
        return Ok(());
    }
    thread::start(serve).inspect_err(|_| STARTED.store(false, Ordering::Release))
}
