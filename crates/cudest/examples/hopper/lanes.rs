//! More streams than channels, and host fences beside them.

use crate::{Answer, Setup, pack, words};
use cutap_cudest::{Memory, Shape, Stream};
use std::time::{Duration, Instant};

const STREAMS: usize = 70;
const WORDS: u64 = 4096;

fn many(s: &Setup) -> Result<Vec<(Stream, Memory)>, cutap_cudest::Error> {
    (0..STREAMS).map(|_| Ok((s.context.stream()?, s.context.pinned(WORDS * 4)?))).collect()
}

/// Work of all streams, compared. A stream that waits for the host, and one that waits for it, hold up no other.
pub fn lanes(s: &Setup) -> Answer {
    let kernel = s.kernel("step")?;
    let step = |(stream, memory): &(Stream, Memory), k: u64| {
        let parameters = pack(&kernel, &[memory.address(), k, WORDS]);
        // SAFETY: the memory has these words, and only its stream uses it.
        unsafe { stream.launch(&kernel, &Shape::linear(16, 256), &parameters) }
    };
    let right = |(_, memory): &(Stream, Memory), steps: u64| {
        let wanted = (0..steps).fold(0_u32, |value, k| value.wrapping_mul(3).wrapping_add(k as u32));
        // SAFETY: its work has ended.
        unsafe { words(memory) }.iter().all(|word| *word == wanted)
    };
    let all = many(s)?;
    for one in &all {
        // SAFETY: nothing runs.
        unsafe { words(&one.1).fill(0) };
    }
    for k in 0..50 {
        all.iter().try_for_each(|one| step(one, k).map(drop))?;
    }
    s.context.synchronize()?;
    if !all.iter().all(|one| right(one, 50)) {
        return Err("streams that share channels".into());
    }
    let gate = s.context.host_fence()?;
    let until = Instant::now() + Duration::from_secs(5);
    let (held, free) = all.split_at(2);
    held[0].0.wait_for(gate.fence());
    let first = step(&held[0], 50)?;
    held[1].0.wait_for(first);
    step(&held[1], 50)?;
    for one in free {
        step(one, 50)?;
        one.0.synchronize_until(until)?;
    }
    let still = !held[0].0.is_idle()? && !held[1].0.is_idle()?;
    gate.signal();
    s.context.synchronize()?;
    if !still || !all.iter().all(|one| right(one, 51)) {
        return Err(format!("beside a host fence; held: {still}").into());
    }
    Ok(format!("{STREAMS} streams of 51 launches, 0 wrong; 2 that waited for the host held up none"))
}
