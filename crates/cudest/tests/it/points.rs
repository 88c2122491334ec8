//! Events, and points that the host reaches.

use crate::work::{context, words};
use cutap_cudest::{Error, Options};

#[test]
fn events_and_host_fences() {
    let (context, _model, _running) = context(Options::default());
    let stream = context.stream().unwrap();
    let (first, second) = (context.event().unwrap(), context.event().unwrap());
    assert!(first.is_reached().unwrap() && first.time().is_err());
    stream.record(&first).unwrap();
    let gate = context.host_fence().unwrap();
    stream.wait_for(gate.fence());
    stream.record(&second).unwrap();
    first.wait().unwrap();
    let until = std::time::Instant::now() + std::time::Duration::from_millis(20);
    assert!(matches!(stream.synchronize_until(until), Err(Error::Timeout)));
    assert!(!second.is_reached().unwrap() && !stream.is_idle().unwrap());
    // A dropped event does not wait for the GPU, and its slot is used again only after the GPU has written it.
    drop(second);
    let events: Vec<_> = (0..5000).map(|_| context.event().unwrap()).collect();
    gate.signal();
    let last = events.last().unwrap();
    stream.record(last).unwrap();
    assert!(last.time().unwrap() > first.time().unwrap());
}

/// An event that is recorded again has the time of the last record, though an earlier one comes later.
#[test]
fn an_event_is_recorded_again() {
    let (context, model, _running) = context(Options::default());
    let (held, free) = (context.stream().unwrap(), context.stream().unwrap());
    let (event, after) = (context.event().unwrap(), context.event().unwrap());
    let gate = context.host_fence().unwrap();
    held.wait_for(gate.fence());
    held.record(&event).unwrap();
    let last = free.record(&event).unwrap();
    free.record(&after).unwrap();
    assert_eq!(event.fence(), Some(last));
    assert!(event.time().unwrap() < after.time().unwrap());
    let time = event.time().unwrap();
    drop(gate);
    held.synchronize().unwrap();
    assert_eq!(event.time().unwrap(), time, "the earlier record wrote over the last one");
    drop((event, after, held, free, context));
    assert_eq!(model.left(), (0, 0), "objects and descriptors");
}

/// A point of the host for which nothing waits holds up neither the context nor the end of memory.
#[test]
fn a_host_fence_that_nothing_waits_for() {
    let (context, model, _running) = context(Options::default());
    let (stream, gate) = (context.stream().unwrap(), context.host_fence().unwrap());
    let memory = context.pinned(4096).unwrap();
    // SAFETY: the memory is freed only after this fill.
    unsafe { stream.fill(memory.address(), 1, 4, 1024).unwrap() };
    context.synchronize().unwrap();
    let frees = || model.ioctls().iter().filter(|(number, _)| *number == 0x29).count();
    let before = frees();
    drop(memory);
    assert!(frees() > before && !context.reached(gate.fence()).unwrap());
}

/// Host fences share timelines: more of them than a context has timelines, and then a new stream.
#[test]
fn any_number_of_host_fences() {
    let (context, _model, _running) = context(Options::default());
    let (stream, memory) = (context.stream().unwrap(), context.pinned(4).unwrap());
    let points = context.host_timeline().unwrap();
    for n in 0..3000 {
        let (fence, point) = (context.host_fence().unwrap(), points.add());
        stream.wait_for(fence.fence());
        stream.wait_for(point);
        // SAFETY: the stream orders the fills of the word.
        unsafe { stream.fill(memory.address(), n, 4, 1).unwrap() };
        let done = stream.fence().unwrap();
        fence.signal();
        assert!(n % 100 != 0 || !context.reached(done).unwrap(), "the second fence was not waited for");
        points.signal(point).unwrap();
        assert!(context.reached(fence.fence()).unwrap() && context.reached(point).unwrap());
    }
    stream.synchronize().unwrap();
    let other = context.stream().unwrap();
    assert!(points.signal(other.fence().unwrap()).is_err());
    other.synchronize().unwrap();
    // SAFETY: it has ended.
    assert_eq!(unsafe { words(&memory) }[0], 2999);
    // Points end in order: the second reaches the first.
    let (first, second) = (points.add(), points.add());
    other.wait_for(first);
    assert!(!other.is_idle().unwrap());
    points.signal(second).unwrap();
    other.synchronize().unwrap();
    // What is left ends with the timeline.
    other.wait_for(points.add());
    drop(points);
    other.synchronize().unwrap();
}
