//! Streams that share a channel: there are more streams than channels.

use crate::model::Model;
use crate::work::CUBIN;
use cutap_cudest::{Context, Gpu, Memory, Options, Shape, Stream};
use std::time::{Duration, Instant};

/// More than the compute channels of a context.
const STREAMS: usize = 70;

fn fill(stream: &Stream, memory: &Memory, value: u32) {
    // SAFETY: the memory has 16 words, and each test orders its users.
    unsafe { stream.fill(memory.address(), value, 4, 16).unwrap() };
}

/// # Safety
/// No work uses it meanwhile.
unsafe fn first(memory: &Memory) -> u32 {
    // SAFETY: it has a word, and the caller answers for the rest.
    unsafe { memory.host().unwrap().cast::<u32>().read_volatile() }
}

fn many(context: &Context) -> Vec<(Stream, Memory)> {
    (0..STREAMS).map(|_| (context.stream().unwrap(), context.pinned(64).unwrap())).collect()
}

#[test]
fn more_streams_than_channels() {
    let (model, _running) = Model::hopper().start();
    let context = Gpu::with_kernel(model.clone(), 0).context_with(Options::default()).unwrap();
    let kernel = context.load(CUBIN).unwrap().kernel("step").unwrap();
    let all = many(&context);
    for k in 0..20_u32 {
        for (stream, memory) in &all {
            let parameters = [&memory.address().to_le_bytes()[..], &k.to_le_bytes(), &16_u32.to_le_bytes()].concat();
            // SAFETY: the memory has 16 words, and only its stream uses it.
            unsafe { stream.launch(&kernel, &Shape::linear(1, 64), &parameters).unwrap() };
        }
    }
    context.synchronize().unwrap();
    let wanted = (0..20_u32).fold(0_u32, |value, k| value.wrapping_mul(3).wrapping_add(k));
    // SAFETY: all has ended.
    assert!(all.iter().all(|(_, memory)| unsafe { first(memory) } == wanted));
    assert_eq!(model.channels(), 32, "channels of compute");
    drop((all, kernel, context));
    assert_eq!(model.left(), (0, 0), "objects and descriptors");
}

/// A stream that waits for the host, and one that waits for it, hold up no stream that shares their channel: neither
/// those that were there before, nor new ones.
#[test]
fn a_host_fence_holds_up_no_shared_channel() {
    let (model, _running) = Model::hopper().start();
    let context = Gpu::with_kernel(model.clone(), 0).context().unwrap();
    let all = many(&context);
    let until = Instant::now() + Duration::from_secs(10);
    let gate = context.host_fence().unwrap();
    let (held, free) = all.split_at(2);
    fill(&held[1].0, &held[1].1, 7);
    held[0].0.wait_for(gate.fence());
    fill(&held[0].0, &held[0].1, 1);
    held[1].0.wait_for(held[0].0.fence().unwrap());
    fill(&held[1].0, &held[1].1, 2);
    let new = many(&context);
    for (stream, memory) in free.iter().chain(&new) {
        fill(stream, memory, 3);
        stream.synchronize_until(until).unwrap();
        // SAFETY: it has ended.
        assert_eq!(unsafe { first(memory) }, 3);
    }
    assert!(held.iter().all(|(stream, _)| !stream.is_idle().unwrap()));
    gate.signal();
    context.synchronize().unwrap();
    // SAFETY: all has ended.
    assert_eq!(unsafe { (first(&held[0].1), first(&held[1].1)) }, (1, 2));
    drop((all, new, gate, context));
    assert_eq!(model.left(), (0, 0), "objects and descriptors");
}

/// Streams come and go while the host holds a fence: their channels are used again.
#[test]
fn streams_come_and_go_beside_a_host_fence() {
    let (model, _running) = Model::hopper().start();
    let context = Gpu::with_kernel(model.clone(), 0).context().unwrap();
    let _gate = context.host_fence().unwrap();
    let memory = context.pinned(64).unwrap();
    for n in 0..500 {
        let stream = context.stream().unwrap();
        fill(&stream, &memory, n);
        stream.synchronize().unwrap();
        // SAFETY: it has ended.
        assert_eq!(unsafe { first(&memory) }, n);
    }
    assert!(model.channels() <= 33, "{}", model.channels());
}
