//! Order. An operation runs at once, on the caller's thread, if nothing is before it; else it queues, and the
//! driver's own thread runs it in its turn. Host functions always run on that thread. It is made when first needed.

use super::driver_state::{CHANGED, DriverState, Guard, Handle, driver_state, known};
use super::fault::{Answer, Fault};
use super::stream::{Operation, Stream, Work};
use super::{config, current, lifecycle};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Puts an operation into a stream and does not wait.
pub fn submit(mut world: Guard, stream: Handle, work: Work) -> Answer {
    let order = world.next_order();
    let idle = is_next(&world, stream, order, &work)?;
    match work {
        Work::Ours(run) if idle => {
            drop(world);
            run();
        }
        Work::Record(event, which) if idle => record(&mut world, event, which),
        Work::Wait(..) | Work::Until(_) if idle => {}
        work => {
            if let Some(found) = world.streams.get_mut(&stream) {
                found.queue.push_back(Operation { order, work });
            }
            need_thread();
            CHANGED.notify_all();
        }
    }
    Ok(())
}

/// Puts several operations into a stream, one behind the other with nothing between them, and does not wait.
pub fn submit_all(mut world: Guard, stream: Handle, works: Vec<Work>) -> Answer {
    for work in works {
        let order = world.next_order();
        if let Some(found) = world.streams.get_mut(&stream) {
            found.queue.push_back(Operation { order, work });
        }
    }
    need_thread();
    CHANGED.notify_all();
    Ok(())
}

/// Puts an operation into a stream and waits until it is over. On the driver's own thread nothing is left in the
/// stream that the caller was told did not happen.
pub fn run(mut world: Guard, stream: Handle, work: Work) -> Answer {
    let order = world.next_order();
    if current::is_driver_thread() && !is_next(&world, stream, order, &work)? {
        return Err(Fault::NOT_PERMITTED);
    }
    submit(world, stream, work)?;
    wait_for_stream(self::driver_state(), stream).map(drop)
}

/// Waits for all that is in a stream by now.
pub fn wait_for_stream(world: Guard, stream: Handle) -> Answer<Guard> {
    let until = world.streams.get(&stream).and_then(|s| s.queue.back()).map_or(0, |o| o.order);
    wait(world, |w| w.streams.get(&stream).is_none_or(|s| s.queue.front().is_none_or(|o| o.order > until)))
}

/// Waits for all that is in the streams of a context by now.
pub fn wait_for_context(mut world: Guard, context: Handle) -> Answer<Guard> {
    let until = world.next_order();
    wait(world, |w| {
        w.streams.values().filter(|s| s.context == context).all(|s| s.queue.front().is_none_or(|o| o.order > until))
    })
}

/// Waits for what the legacy stream waits for: itself and all blocking streams of its context.
pub fn wait_for_blocking(mut world: Guard, context: Handle) -> Answer<Guard> {
    let until = world.next_order();
    wait(world, |w| {
        let mut streams = w.streams.values().filter(|s| s.context == context && s.blocking());
        streams.all(|s| s.queue.front().is_none_or(|o| o.order > until))
    })
}

/// Waits; the driver's own thread may not, since nobody else would get on with the work.
pub fn wait(mut world: Guard, done: impl Fn(&DriverState) -> bool) -> Answer<Guard> {
    while !done(&world) {
        if current::is_driver_thread() {
            return Err(Fault::NOT_PERMITTED);
        }
        world = CHANGED.wait(world).unwrap_or_else(PoisonError::into_inner);
    }
    Ok(world)
}

/// Whether a stream has nothing to do.
pub fn is_idle(world: &DriverState, stream: Handle) -> bool {
    world.streams.get(&stream).is_none_or(|s| s.queue.is_empty())
}

/// Whether an operation would be done at once.
fn is_next(world: &DriverState, stream: Handle, order: u64, work: &Work) -> Answer<bool> {
    let stream = known(&world.streams, stream)?;
    Ok(stream.queue.is_empty() && !is_behind(world, stream, order) && is_ready(world, work))
}

/// The legacy stream is behind all earlier work of its context's blocking streams, and they are behind its.
fn is_behind(world: &DriverState, stream: &Stream, order: u64) -> bool {
    let earlier = |other: &Stream| other.queue.front().is_some_and(|o| o.order < order);
    let mut others = world.streams.values().filter(|other| other.context == stream.context);
    match stream.legacy {
        true => others.any(|other| !other.legacy && other.blocking() && earlier(other)),
        false => stream.blocking() && others.any(|other| other.legacy && earlier(other)),
    }
}

fn is_ready(world: &DriverState, work: &Work) -> bool {
    match work {
        Work::Wait(event, which) => world.events.get(event).is_none_or(|e| e.done >= *which),
        Work::Until(holds) => holds(),
        Work::Running => false,
        _ => true,
    }
}

fn record(world: &mut DriverState, event: Handle, which: u64) {
    if let Some(event) = world.events.get_mut(&event) {
        event.done = event.done.max(which);
        event.time = Some(Instant::now());
    }
    CHANGED.notify_all();
}

/// The driver thread: for ever, but in a child that the program's code on it has forked.
fn serve() {
    current::become_driver_thread();
    let mut world = driver_state();
    loop {
        let next = world.streams.iter().find_map(|(handle, s)| {
            let first = s.queue.front()?;
            (is_ready(&world, &first.work) && !is_behind(&world, s, first.order)).then_some(*handle)
        });
        let Some((handle, stream)) = next.and_then(|handle| Some((handle, world.streams.get_mut(&handle)?))) else {
            // nothing tells when memory changes, so a stream that waits for a value is looked at again soon
            let first = |s: &Stream| matches!(s.queue.front(), Some(Operation { work: Work::Until(_), .. }));
            let soon = if world.streams.values().any(first) { 1 } else { 60_000 };
            world = CHANGED.wait_timeout(world, Duration::from_millis(soon)).unwrap_or_else(PoisonError::into_inner).0;
            continue;
        };
        let context = stream.context;
        let Some(first) = stream.queue.front_mut() else { continue };
        let work = std::mem::replace(&mut first.work, Work::Running);
        drop(world);
        current::set(context);
        match work {
            Work::Ours(run) => run(),
            Work::Host(function, data) => function(data.0),
            Work::Callback(function, stream, data) => function(stream, 0, data.0),
            Work::Record(event, which) => record(&mut self::driver_state(), event, which),
            Work::Wait(..) | Work::Until(_) | Work::Running => {}
        }
        if lifecycle::require_started().is_err() {
            // The program's code has forked, and this is the child's only thread, with nothing left to do.
            return;
        }
        world = self::driver_state();
        if let Some(stream) = world.streams.get_mut(&handle) {
            stream.queue.pop_front();
            if stream.closed && stream.queue.is_empty() {
                world.streams.remove(&handle);
            }
        }
        CHANGED.notify_all();
    }
}

/// Starts the driver thread, once. It takes no signals of the program, and this library stays as long as it runs.
fn need_thread() {
    static STARTED: AtomicBool = AtomicBool::new(false);
    if STARTED.swap(true, Ordering::AcqRel) {
        return;
    }
    config::stay_loaded();
    // SAFETY: plain calls on signal sets that live on this stack; the mask of this thread is put back.
    unsafe {
        let (mut all, mut old) = (std::mem::zeroed::<libc::sigset_t>(), std::mem::zeroed::<libc::sigset_t>());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old);
        let thread = std::thread::Builder::new().name("cutap-sim".to_owned()).spawn(serve);
        libc::pthread_sigmask(libc::SIG_SETMASK, &old, std::ptr::null_mut());
        drop(thread.expect("the simulated driver cannot start its thread"));
    }
}
