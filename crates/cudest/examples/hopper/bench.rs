//! Times of launches and copies. The same numbers of libcuda come from `tests/gpu/cudest_libcuda.c`.

use crate::{Answer, Setup, pack};
use cutap_cudest::{Fence, Shape};
use std::time::{Duration, Instant};

fn micros(time: Duration, n: u32) -> f64 {
    time.as_secs_f64() * 1e6 / f64::from(n)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// One line of name=value pairs, which the script compares.
pub fn launch(s: &Setup) -> Answer {
    let kernel = s.kernel("vecadd")?;
    let memory = s.context.video(1 << 20)?;
    let a = memory.address();
    let parameters = pack(&kernel, &[a, a + 4096, a + 8192, 256]);
    let shape = Shape::linear(1, 256);
    // SAFETY: the kernel accesses three arrays of 256 words.
    let one = || unsafe { s.stream.launch(&kernel, &shape, &parameters) };
    for _ in 0..100 {
        one()?;
    }
    s.stream.synchronize()?;
    let (mut waits, mut calls) = (Vec::new(), Vec::new());
    for _ in 0..7 {
        let start = Instant::now();
        for _ in 0..200 {
            let fence: Fence = one()?;
            s.context.wait(fence, None)?;
        }
        waits.push(micros(start.elapsed(), 200));
        let start = Instant::now();
        for _ in 0..200 {
            one()?;
        }
        calls.push(micros(start.elapsed(), 200));
        s.stream.synchronize()?;
    }
    let start = Instant::now();
    for _ in 0..20_000 {
        one()?;
    }
    s.stream.synchronize()?;
    let queued = micros(start.elapsed(), 20_000);
    let event = s.context.event()?;
    let start = Instant::now();
    for _ in 0..400 {
        s.stream.record(&event)?;
    }
    let record = micros(start.elapsed(), 400);
    s.stream.synchronize()?;
    Ok(format!(
        "launch_wait={:.2} launch_call={:.2} queued={queued:.2} record={record:.2}",
        median(waits),
        median(calls)
    ))
}

/// Whether kernels of two streams run at the same time.
pub fn overlap(s: &Setup) -> Answer {
    let kernel = s.kernel("spin")?;
    let other = s.context.stream()?;
    let parameters = pack(&kernel, &[2_000_000, 0]);
    let mut text = Vec::new();
    let many = (0..6).map(|_| s.context.stream()).collect::<Result<Vec<_>, _>>()?;
    for streams in [1, 2, 8] {
        let start = Instant::now();
        for _ in 0..10 {
            // SAFETY: the kernel accesses nothing.
            unsafe {
                s.stream.launch(&kernel, &Shape::linear(1, 32), &parameters)?;
                if streams >= 2 {
                    other.launch(&kernel, &Shape::linear(1, 32), &parameters)?;
                }
                for stream in many.iter().filter(|_| streams == 8) {
                    stream.launch(&kernel, &Shape::linear(1, 32), &parameters)?;
                }
            }
        }
        s.context.synchronize()?;
        text.push(format!("{streams} streams of 10 kernels of 2 ms: {:.1} ms", start.elapsed().as_secs_f64() * 1e3));
    }
    Ok(text.join("; "))
}

/// Streams that wait for the host beside streams that work: how long the work takes with and without them.
pub fn gate(s: &Setup) -> Answer {
    let kernel = s.kernel("step")?;
    let memory = s.context.video(1 << 20)?;
    let working = (0..4).map(|_| s.context.stream()).collect::<Result<Vec<_>, _>>()?;
    let waiting = (0..3).map(|_| s.context.stream()).collect::<Result<Vec<_>, _>>()?;
    let work = || -> Result<f64, cutap_cudest::Error> {
        let start = std::time::Instant::now();
        for n in 0..4000 {
            let at = memory.address() + n % 4 * 65536;
            // SAFETY: each stream has 16,000 bytes.
            unsafe {
                working[n as usize % 4].launch(&kernel, &Shape::linear(16, 256), &pack(&kernel, &[at, 1, 4000]))?
            };
        }
        let until = start + std::time::Duration::from_secs(3);
        working.iter().try_for_each(|stream| stream.synchronize_until(until))?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    };
    work()?;
    let free = work()?;
    let gate = s.context.host_fence()?;
    let mut held = Vec::new();
    for stream in &waiting {
        stream.wait_for(gate.fence());
        // SAFETY: the kernel accesses 16,000 bytes that no other one uses.
        unsafe {
            let at = memory.address() + 5 * 65536;
            stream.launch(&kernel, &Shape::linear(16, 256), &pack(&kernel, &[at, 1, 4000]))?;
        }
        held.push(work()?);
    }
    if waiting.iter().any(|stream| stream.is_idle().unwrap_or(true)) {
        return Err("a stream did not wait".into());
    }
    gate.signal();
    s.context.synchronize()?;
    Ok(format!("4000 launches on 4 streams in {free:.1} ms; beside 1, 2, 3 that wait for the host in {held:.1?} ms"))
}

/// Ordered launches a second, on 1 and 16 streams.
pub fn streams(s: &Setup) -> Answer {
    let kernel = s.kernel("nothing")?;
    let parameters = pack(&kernel, &[0]);
    let streams = (0..16).map(|_| s.context.stream()).collect::<Result<Vec<_>, _>>()?;
    let mut text = Vec::new();
    for count in [1_usize, 16] {
        for round in 0..2 {
            let start = Instant::now();
            for n in 0..16_000 {
                // SAFETY: the kernel accesses nothing.
                unsafe { streams[n % count].launch(&kernel, &Shape::linear(1, 32), &parameters)? };
            }
            s.context.synchronize()?;
            if round == 1 {
                text.push(format!("ordered_{count}={:.0}", 16_000.0 / start.elapsed().as_secs_f64()));
            }
        }
    }
    Ok(text.join(" "))
}

pub fn bandwidth(s: &Setup) -> Answer {
    const MOST: u64 = 256 << 20;
    let (pinned, video, second) = (s.context.pinned(MOST)?, s.context.video(MOST)?, s.context.video(MOST)?);
    let mut text = Vec::new();
    for (name, size) in [("4k", 4096_u64), ("64k", 65536), ("1m", 1 << 20), ("16m", 16 << 20), ("256m", MOST)] {
        for (way, to, from) in [("h2d", &video, &pinned), ("d2h", &pinned, &video), ("d2d", &second, &video)] {
            let times = (0..7).map(|_| {
                let start = Instant::now();
                // SAFETY: the ranges are inside.
                let fence = unsafe { s.stream.copy_memory(to, 0, from, 0, size)? };
                s.context.wait(fence, None)?;
                Ok(start.elapsed().as_secs_f64() * 1e6)
            });
            let time = median(times.collect::<Result<Vec<_>, cutap_cudest::Error>>()?);
            text.push(format!("{way}_{name}={time:.1}"));
        }
    }
    let mut pageable = vec![1_u8; 64 << 20];
    for (way, size) in
        [("page_h2d", 1_usize << 20), ("page_d2h", 1 << 20), ("page_h2d", 64 << 20), ("page_d2h", 64 << 20)]
    {
        let times = (0..5).map(|_| {
            let start = Instant::now();
            // SAFETY: the ranges are inside.
            unsafe {
                if way == "page_h2d" {
                    s.stream.upload(&video, 0, &pageable[..size])?;
                } else {
                    s.stream.download(&video, 0, &mut pageable[..size])?;
                }
            }
            Ok(start.elapsed().as_secs_f64() * 1e6)
        });
        let time = median(times.collect::<Result<Vec<_>, cutap_cudest::Error>>()?);
        text.push(format!("{way}_{}m={time:.1}", size >> 20));
    }
    Ok(text.join(" "))
}
