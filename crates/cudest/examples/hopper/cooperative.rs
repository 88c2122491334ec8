//! A kernel that synchronizes its grid, with as many blocks as fit, compared on the host.

use crate::{Answer, Setup, pack, words};
use cutap_cudest::Shape;

/// `path`: another cubin with the kernel `neighbours`, such as one that uses the headers of cooperative groups.
pub fn cooperative(s: &Setup, path: &str) -> Answer {
    const ROUNDS: u32 = 50;
    let own = include_bytes!("../../tests/cubins/cooperative-12.9-sm_90.cubin");
    let module = if path.is_empty() { s.context.load(own)? } else { s.context.load(&std::fs::read(path)?)? };
    let kernel = module.kernel("neighbours")?;
    let mut text = Vec::new();
    let streams = [s.context.stream()?, s.context.stream()?];
    for (threads, shared) in [(32, 0), (256, 0), (1024, 0), (64, 100 << 10)] {
        let shape = Shape { shared, ..Shape::linear(1, threads) };
        let most = u32::try_from(kernel.resident_blocks(&shape)?)?;
        for blocks in [1, 100.min(most), most] {
            let shape = Shape { grid: (blocks, 1, 1), ..shape };
            let memory = [0; 4].map(|_| s.context.pinned(u64::from(blocks) * 4).unwrap());
            // SAFETY: nothing runs.
            let first: Vec<u32> = unsafe { words(&memory[0]) }.iter().enumerate().map(|(n, _)| n as u32).collect();
            for n in [0, 2] {
                // SAFETY: nothing runs.
                unsafe { words(&memory[n]).copy_from_slice(&first) };
            }
            let start = std::time::Instant::now();
            // Two streams at the same time: each alone fills the GPU.
            for (stream, pair) in streams.iter().zip(memory.chunks(2)) {
                let parameters = pack(&kernel, &[pair[0].address(), pair[1].address(), ROUNDS.into()]);
                // SAFETY: the kernel accesses both arrays, of a word a block.
                unsafe { stream.launch_cooperative(&kernel, &shape, &parameters)? };
            }
            let until = start + std::time::Duration::from_secs(3);
            for stream in &streams {
                stream.synchronize_until(until).map_err(|error| format!("{blocks} blocks of {threads}: {error}"))?;
            }
            let micros = start.elapsed().as_secs_f64() * 1e6 / 2.0 / f64::from(ROUNDS);
            let mut wanted = first;
            for _ in 0..ROUNDS {
                let before = wanted.clone();
                let next = |n: usize| before[(n + 1) % before.len()];
                wanted.iter_mut().enumerate().for_each(|(n, word)| *word = before[n].wrapping_add(next(n)));
            }
            for n in [0, 2] {
                // SAFETY: all has ended.
                if unsafe { words(&memory[n]) } != wanted {
                    return Err(format!("{blocks} blocks of {threads} threads differ").into());
                }
            }
            text.push(format!("{blocks} x {threads}: {micros:.1} us a round"));
        }
        let large = Shape { grid: (most + 1, 1, 1), ..shape };
        // SAFETY: it is refused.
        let refused = unsafe { streams[0].launch_cooperative(&kernel, &large, &pack(&kernel, &[0, 0, 0])) };
        let error = refused.err().ok_or("a grid that does not fit was not refused")?;
        if threads == 32 {
            text.push(error.to_string());
        }
    }
    Ok(text.join("; "))
}
