//! Results of kernels and copies, compared on the host.

use crate::{Answer, Random, Setup, pack, words};
use cutap_cudest::{Fence, Options, Shape};

fn compare(what: &str, wrong: usize, all: usize) -> Answer {
    if wrong == 0 { Ok(format!("{all} {what}, 0 wrong")) } else { Err(format!("{wrong} of {all} {what} wrong").into()) }
}

fn floats(words: &mut [u32], value: impl Fn(usize) -> f32) {
    words.iter_mut().enumerate().for_each(|(i, word)| *word = value(i).to_bits());
}

pub fn kernels(s: &Setup) -> Answer {
    const N: usize = 100_000;
    let memory = [0; 3].map(|_| s.context.pinned(N as u64 * 4).unwrap());
    // SAFETY: nothing runs.
    let [a, b, c] = [0, 1, 2].map(|i| unsafe { words(&memory[i]) });
    floats(a, |i| i as f32);
    floats(b, |i| (i % 1000) as f32 * 0.5);
    let addresses = memory.each_ref().map(|m| m.address());
    let mut text = Vec::new();
    for name in ["vecadd", "revblock", "localarr"] {
        let kernel = s.kernel(name)?;
        let n = if name == "revblock" { N / 256 * 256 } else { N };
        c.fill(0);
        let parameters = pack(&kernel, &[addresses[0], addresses[1], addresses[2], n as u64]);
        // SAFETY: the kernels access these arrays.
        unsafe { s.stream.launch(&kernel, &Shape::linear(n.div_ceil(256) as u32, 256), &parameters)? };
        s.stream.synchronize()?;
        let f = |i: usize| f32::from_bits(a[i]);
        let wanted = |i: usize| match name {
            "vecadd" => f(i) + f32::from_bits(b[i]),
            "revblock" => f((i & !255) + 255 - (i & 255)) + f32::from_bits(b[i]),
            _ => (f(i) + ((i * 7) & 255) as f32) + f32::from_bits(b[i]) + (f(i) + (n & 255) as f32),
        };
        let wrong = (0..n).filter(|i| f32::from_bits(c[*i]) != wanted(*i)).count();
        text.push(format!("{name} {}", compare("values", wrong, n)?));
    }
    let kernel = s.kernel("sum")?;
    let out = s.context.pinned(8)?;
    for round in 1..=3 {
        // SAFETY: nothing runs.
        unsafe {
            words(&out).fill(0);
            let parameters = pack(&kernel, &[addresses[0], out.address(), N as u64]);
            s.stream.launch(&kernel, &Shape::linear(200, 256), &parameters)?;
        }
        s.stream.synchronize()?;
        // SAFETY: it has ended.
        let found = unsafe { u64::from(words(&out)[0]) | u64::from(words(&out)[1]) << 32 };
        let wanted: u64 = a.iter().map(|word| u64::from(*word)).sum();
        if found != wanted {
            return Err(format!("sum {found} instead of {wanted} in round {round}").into());
        }
    }
    text.push("sum right 3 times".into());
    Ok(text.join("; "))
}

pub fn shapes(s: &Setup) -> Answer {
    let kernel = s.kernel("who")?;
    let out = s.context.pinned(4 << 20)?;
    let parameters = pack(&kernel, &[out.address()]);
    let mut all = 0;
    for (grid, block) in [
        ((1, 1, 1), (1, 1, 1)),
        ((3, 5, 7), (4, 3, 2)),
        ((100, 2, 2), (33, 3, 1)),
        ((1, 65, 1), (8, 8, 16)),
        ((2, 1, 99), (1, 1, 64)),
        ((1000, 1, 1), (1024, 1, 1)),
    ] {
        // SAFETY: nothing runs; the array has room for all threads.
        unsafe {
            words(&out).fill(u32::MAX);
            s.stream.launch(&kernel, &Shape { grid, block, shared: 0 }, &parameters)?;
        }
        s.stream.synchronize()?;
        let threads = (block.0 * block.1 * block.2) as usize;
        let count = (grid.0 * grid.1 * grid.2) as usize * threads;
        // SAFETY: it has ended.
        let found = unsafe { words(&out) };
        let wanted = |i: usize| ((i / threads) << 12 | (i % threads)) as u32;
        let wrong = (0..count).filter(|i| found[*i] != wanted(*i)).count();
        if wrong != 0 {
            return Err(format!("{grid:?} {block:?}: {wrong} of {count} wrong").into());
        }
        all += count;
    }
    let kernel = s.kernel("revdynamic")?;
    for bytes in [1024_u32, 48 << 10, 100_000 & !3, 227 << 10] {
        let threads = 256_u32;
        // SAFETY: nothing runs.
        let values = unsafe { words(&out) };
        values.iter_mut().enumerate().for_each(|(i, word)| *word = i as u32);
        let parameters = pack(&kernel, &[out.address(), u64::from(bytes / 4)]);
        // SAFETY: 1000 blocks of 256 words.
        unsafe {
            s.stream.launch(
                &kernel,
                &Shape { grid: (1000, 1, 1), block: (threads, 1, 1), shared: bytes },
                &parameters,
            )?
        };
        s.stream.synchronize()?;
        let wrong = (0..256_000).filter(|i| values[*i] != ((i & !255) + 255 - (i & 255)) as u32).count();
        if wrong != 0 {
            return Err(format!("{bytes} bytes of dynamic shared memory: {wrong} wrong").into());
        }
    }
    let too_much = Shape { grid: (1, 1, 1), block: (32, 1, 1), shared: (227 << 10) + 1 };
    // SAFETY: it is refused.
    let refused = unsafe { s.stream.launch(&kernel, &too_much, &pack(&kernel, &[out.address(), 64])) };
    Ok(format!("{all} threads of 6 shapes, 4 sizes of dynamic shared memory; {}", refused.unwrap_err()))
}

pub fn globals(s: &Setup) -> Answer {
    let kernel = s.kernel("globals")?;
    let out = s.context.pinned(64)?;
    let mut found = Vec::new();
    for _ in 0..2 {
        // SAFETY: the kernel writes 4 words.
        unsafe { s.stream.launch(&kernel, &Shape::linear(1, 1), &pack(&kernel, &[out.address()]))? };
        s.stream.synchronize()?;
        // SAFETY: it has ended.
        found.push(unsafe { words(&out)[..4].to_vec() });
    }
    let (address, size) = s.module.variable("counter")?;
    let value = s.context.pinned(4)?;
    // SAFETY: the variable has 4 bytes.
    unsafe { s.stream.copy(value.address(), address, 4)? };
    s.stream.synchronize()?;
    // SAFETY: it has ended.
    let counter = unsafe { words(&value)[0] };
    let kernel = s.kernel("indirect")?;
    let mut calls = Vec::new();
    for which in 0..2_u64 {
        // SAFETY: the kernel writes 4 words.
        unsafe { s.stream.launch(&kernel, &Shape::linear(1, 4), &pack(&kernel, &[out.address(), which]))? };
        s.stream.synchronize()?;
        // SAFETY: it has ended.
        calls.push(unsafe { words(&out)[..4].to_vec() });
    }
    let wanted = ([vec![7, 3, 7, 0], vec![8, 3, 8, 55]], 9, [vec![2, 4, 6, 8], vec![2, 5, 8, 11]]);
    if found != wanted.0 || counter != wanted.1 || calls != wanted.2 {
        return Err(format!("globals {found:?}, counter {counter}, calls {calls:?}").into());
    }
    Ok(format!("initial values, an address, a constant, {size} bytes of counter = {counter}, calls by table"))
}

pub fn large(s: &Setup) -> Answer {
    let kernel = s.kernel("large")?;
    let out = s.context.pinned(8184 * 4)?;
    let mut random = Random(5);
    for round in 0..40 {
        let values: Vec<u32> = (0..8184).map(|_| random.word() >> 1).collect();
        let mut parameters: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        parameters.extend(out.address().to_le_bytes());
        // SAFETY: the kernel writes as many words.
        unsafe { s.stream.launch(&kernel, &Shape::linear(1, 256), &parameters)? };
        s.stream.synchronize()?;
        // SAFETY: it has ended.
        let wrong = unsafe { words(&out)[..8184].iter() }.zip(&values).filter(|(found, value)| **found != **value + 1);
        let wrong = wrong.count();
        if wrong != 0 {
            return Err(format!("round {round}: {wrong} of 8184 words wrong").into());
        }
    }
    let few = [0; 8];
    // SAFETY: it is refused.
    let refused = unsafe { s.stream.launch(&kernel, &Shape::linear(1, 1), &few) }.unwrap_err();
    Ok(format!("{} bytes of parameters, 40 times; {refused}", kernel.entry().parameters_size))
}

pub fn local(s: &Setup) -> Answer {
    let first = kernels(s)?;
    let second = s.context.stream()?;
    let s2 = Setup { context: s.context.clone(), module: s.module.clone(), stream: second };
    kernels(&s2)?;
    Ok(format!("on two streams: {first}"))
}

/// Dependent launches on one stream, then across streams by fences.
pub fn chain(s: &Setup, launches: u32) -> Answer {
    const N: usize = 50_000;
    let kernel = s.kernel("step")?;
    let memory = s.context.video(N as u64 * 4)?;
    let streams = [s.context.stream()?, s.context.stream()?, s.context.stream()?];
    let mut result = vec![0; N * 4];
    let mut wanted = 1_u32;
    let mut last: Option<Fence> = None;
    // SAFETY: each launch comes after the one before; the kernel accesses N words.
    unsafe {
        s.stream.fill(memory.address(), 1, 4, N as u64)?;
        for k in 0..launches {
            let parameters = pack(&kernel, &[memory.address(), u64::from(k), N as u64]);
            s.stream.launch(&kernel, &Shape::linear(196, 256), &parameters)?;
            wanted = wanted.wrapping_mul(3).wrapping_add(k);
        }
        s.stream.synchronize()?;
        for k in 0..launches {
            let stream = &streams[k as usize % 3];
            if let Some(fence) = last {
                stream.wait_for(fence);
            }
            let parameters = pack(&kernel, &[memory.address(), u64::from(k), N as u64]);
            last = Some(stream.launch(&kernel, &Shape::linear(196, 256), &parameters)?);
            wanted = wanted.wrapping_mul(3).wrapping_add(k);
        }
        if let Some(fence) = last {
            s.stream.wait_for(fence);
        }
        s.stream.download(&memory, 0, &mut result)?;
    }
    let wrong = result.as_chunks::<4>().0.iter().filter(|word| u32::from_le_bytes(**word) != wanted).count();
    compare("values after a chain of launches on one and on three streams", wrong, N)
}

/// Launches of random sizes on four streams, with events between them.
pub fn random(s: &Setup, launches: usize) -> Answer {
    const MOST: u32 = 20_000;
    let kernel = s.kernel("step")?;
    let mut random = Random(11);
    let streams = (0..4).map(|_| s.context.stream()).collect::<Result<Vec<_>, _>>()?;
    let events = (0..4).map(|_| s.context.event()).collect::<Result<Vec<_>, _>>()?;
    let arrays = (0..4).map(|_| s.context.pinned(u64::from(MOST) * 4)).collect::<Result<Vec<_>, _>>()?;
    let mut model = vec![vec![0_u32; MOST as usize]; 4];
    for array in &arrays {
        // SAFETY: nothing runs.
        unsafe { words(array).fill(0) };
    }
    let mut compared = 0_usize;
    // The array of a stream; exchanged between two streams by events.
    let mut owner = [0, 1, 2, 3];
    for launch in 0..launches {
        let stream = random.below(4) as usize;
        let array = owner[stream];
        let (n, k) = (1 + random.below(MOST), random.word());
        let block = 32 * (1 + random.below(32));
        let parameters = pack(&kernel, &[arrays[array].address(), u64::from(k), u64::from(n)]);
        // SAFETY: an array is used by one stream at a time.
        unsafe { streams[stream].launch(&kernel, &Shape::linear(n.div_ceil(block), block), &parameters)? };
        model[array][..n as usize].iter_mut().for_each(|word| *word = word.wrapping_mul(3).wrapping_add(k));
        if random.below(10) == 0 {
            let other = (stream + 1 + random.below(3) as usize) % 4;
            streams[stream].record(&events[stream])?;
            streams[other].record(&events[other])?;
            streams[stream].wait_for(events[other].fence().unwrap());
            streams[other].wait_for(events[stream].fence().unwrap());
            owner.swap(stream, other);
        }
        if random.below(200) == 0 || launch + 1 == launches {
            let until = std::time::Instant::now() + std::time::Duration::from_secs(5);
            let all = streams.iter().try_for_each(|stream| stream.synchronize_until(until));
            all.map_err(|error| format!("launch {launch}: {error}; {:?}", s.context))?;
            for (array, model) in arrays.iter().zip(&model) {
                // SAFETY: all has ended.
                let wrong = unsafe { words(array) }.iter().zip(model).filter(|(a, b)| a != b).count();
                if wrong != 0 {
                    return Err(format!("after launch {launch}: {wrong} values wrong").into());
                }
                compared += model.len();
            }
        }
    }
    compare(&format!("values after {launches} launches of other sizes on 4 streams"), 0, compared)
}

pub fn events(s: &Setup) -> Answer {
    let spin = s.kernel("spin")?;
    let (a, b, c) = (s.context.event()?, s.context.event()?, s.context.event()?);
    s.stream.record(&a)?;
    // SAFETY: the kernel accesses nothing.
    unsafe { s.stream.launch(&spin, &Shape::linear(1, 32), &pack(&spin, &[5_000_000, 0]))? };
    s.stream.record(&b)?;
    s.stream.record(&c)?;
    let early = b.is_reached()?;
    let (first, second) = (b.time()? - a.time()?, c.time()? - b.time()?);
    let gate = s.context.host_fence()?;
    s.stream.wait_for(gate.fence());
    let fence = s.stream.record(&a)?;
    let before = s.context.reached(fence)?;
    std::thread::sleep(std::time::Duration::from_millis(20));
    let still = s.context.reached(fence)?;
    gate.signal();
    s.stream.synchronize()?;
    if early || before || still || !(5_000_000..6_000_000).contains(&first) {
        return Err(format!("early {early}, before {before}, still {still}, {first} ns").into());
    }
    Ok(format!("a kernel of 5 ms took {first} ns, two records apart {second} ns; a host fence held the stream"))
}

pub fn matmul(s: &Setup) -> Answer {
    const N: usize = 256;
    let kernel = s.kernel("matmul")?;
    let memory = [0; 3].map(|_| s.context.pinned((N * N * 4) as u64).unwrap());
    // SAFETY: nothing runs.
    let [a, b, c] = [0, 1, 2].map(|i| unsafe { words(&memory[i]) });
    floats(a, |i| (i % 13) as f32);
    floats(b, |i| (i % 7) as f32);
    let parameters = pack(&kernel, &[memory[0].address(), memory[1].address(), memory[2].address(), N as u64]);
    let shape = Shape { grid: (16, 16, 1), block: (16, 16, 1), shared: 0 };
    // SAFETY: the kernel accesses three matrices.
    unsafe { s.stream.launch(&kernel, &shape, &parameters)? };
    s.stream.synchronize()?;
    let f = |m: &[u32], r: usize, c: usize| f32::from_bits(m[r * N + c]);
    let wanted = |r, c| (0..N).map(|k| f(a, r, k) * f(b, k, c)).sum::<f32>();
    let wrong = (0..N * N).filter(|i| f32::from_bits(c[*i]) != wanted(i / N, i % N)).count();
    compare("values of a matrix product", wrong, N * N)
}

/// A cubin, fat binary or PTX with the kernel `step`.
pub fn code(s: &Setup, path: &str) -> Answer {
    let start = std::time::Instant::now();
    let module = s.context.load(&std::fs::read(path)?)?;
    let time = start.elapsed().as_secs_f64() * 1e3;
    let kernel = module.kernel("step")?;
    let array = s.context.pinned(4000)?;
    // SAFETY: nothing runs; the kernel accesses 1000 words.
    unsafe {
        words(&array).fill(5);
        s.stream.launch(&kernel, &Shape::linear(4, 256), &pack(&kernel, &[array.address(), 7, 1000]))?;
    }
    s.stream.synchronize()?;
    // SAFETY: it has ended.
    let wrong = unsafe { words(&array)[..1000].iter() }.filter(|word| **word != 22).count();
    compare(&format!("values of a kernel of {path}, loaded in {time:.1} ms"), wrong, 1000)
}

/// A kernel that runs so many seconds.
pub fn spin(s: &Setup, seconds: u64) -> Answer {
    let kernel = s.kernel("spin")?;
    let out = s.context.pinned(4)?;
    let start = std::time::Instant::now();
    // SAFETY: the kernel accesses one word.
    unsafe {
        s.stream.launch(&kernel, &Shape::linear(1, 32), &pack(&kernel, &[seconds * 1_000_000_000, out.address()]))?
    };
    s.stream.synchronize()?;
    // SAFETY: it has ended.
    let done = unsafe { words(&out)[0] };
    if done == 1 { Ok(format!("{:.1} s", start.elapsed().as_secs_f64())) } else { Err("no result".into()) }
}

/// Contexts one after the other, and two at a time.
pub fn contexts(cubin: &[u8], options: Options) -> Answer {
    let keep = Setup::new(cubin, options)?;
    let mut times = Vec::new();
    for _ in 0..10 {
        let start = std::time::Instant::now();
        let s = Setup::new(cubin, options)?;
        let made = start.elapsed();
        kernels(&s)?;
        let start = std::time::Instant::now();
        drop(s);
        times.push((made.as_secs_f64() * 1e3, start.elapsed().as_secs_f64() * 1e3));
    }
    kernels(&keep)?;
    let fds = std::fs::read_dir("/proc/self/fd")?.count();
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(format!("made in {:.1} ms, dropped in {:.1} ms (median of 10); {fds} descriptors", times[5].0, times[5].1))
}
