//! Kernels of `launches.cu`: words of constant bank 0, clusters, functions that libcuda would have.

use crate::{Answer, Setup, pack, words};
use cutap_cudest::tensor_map::Tiled;
use cutap_cudest::{Error, Kernel, LaunchAttributes, Memory, Options, Shape};
use std::time::{Duration, Instant};

type Sides = (u32, u32, u32);
type Done<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Launches, and waits for at most three seconds.
fn run(s: &Setup, kernel: &Kernel, shape: Shape, cluster: Option<Sides>, parameters: &[u8]) -> Done {
    let attributes = LaunchAttributes { cluster, cooperative: false };
    // SAFETY: each test gives memory of the size that its kernel uses, which nothing else uses.
    unsafe { s.stream.launch_with(kernel, &shape, &attributes, parameters)? };
    Ok(s.stream.synchronize_until(Instant::now() + Duration::from_secs(3))?)
}

fn cleared(s: &Setup, count: usize) -> Done<(Memory, &'static mut [u32])> {
    let memory = s.context.pinned(count as u64 * 4)?;
    // SAFETY: nothing runs. The memory outlives the words: both end with the test.
    let all: &'static mut [u32] = unsafe { &mut *std::ptr::from_mut(words(&memory)) };
    all.fill(0xdead);
    Ok((memory, all))
}

/// A kernel without parameters, the address of a parameter, the sizes of shared memory.
pub fn bank(s: &Setup) -> Answer {
    run(s, &s.kernel("noparam")?, Shape::linear(5, 96), None, &[])?;
    let (memory, found) = cleared(s, 64)?;
    // SAFETY: the variable has two words.
    unsafe { s.stream.copy(memory.address(), s.module.variable("seen")?.0, 8)? };
    s.stream.synchronize()?;
    if found[..2] != [96, 5] {
        return Err(format!("noparam saw {:?} instead of [96, 5]", &found[..2]).into());
    }
    let kernel = s.kernel("byaddress")?;
    let mut parameters = pack(&kernel, &[0, memory.address(), 3]);
    for (n, word) in parameters[first_place(&kernel)].chunks_mut(4).enumerate() {
        word.copy_from_slice(&(n as u32 * 11 + 5).to_le_bytes());
    }
    run(s, &kernel, Shape::linear(1, 64), None, &parameters)?;
    let wrong = (0..64).filter(|n| found[*n] != ((*n as u32 * 7 + 3) % 32) * 11 + 5).count();
    if wrong != 0 {
        return Err(format!("byaddress: {wrong} of 64 words wrong: {:?}", &found[..4]).into());
    }
    let kernel = s.kernel("dynamic")?;
    let mut sizes = Vec::new();
    for shared in [0, 1000, 100_000, 199_000] {
        run(s, &kernel, Shape { shared, ..Shape::linear(1, 1) }, None, &pack(&kernel, &[memory.address()]))?;
        if found[0] != shared {
            return Err(format!("%dynamic_smem_size is {} instead of {shared}", found[0]).into());
        }
        sizes.push(format!("{shared}/{}", found[1]));
    }
    Ok(format!("noparam 2 words, byaddress 64 words, dynamic and total shared memory {}", sizes.join(" ")))
}

/// Where the first parameter is, whose alignment may leave a gap before it.
fn first_place(kernel: &Kernel) -> std::ops::Range<usize> {
    let first = kernel.parameters()[0];
    first.offset..first.offset + first.size
}

/// What each block knows of its cluster.
pub fn clusters(s: &Setup) -> Answer {
    let mut blocks = 0;
    let all = [(1, 1, 1), (2, 1, 1), (4, 1, 1), (8, 1, 1), (2, 2, 2), (1, 4, 1), (1, 1, 2), (8, 2, 1), (16, 1, 1)];
    for (name, cluster) in
        all.map(|sides| ("clusters", Some(sides))).into_iter().chain([("fixed", None), ("clusters", None)])
    {
        let kernel = s.kernel(name)?;
        let own = kernel.entry().cluster.map(Sides::from);
        let sides = cluster.or(own).unwrap_or((1, 1, 1));
        let grid = (16, 4, 6);
        let (memory, found) = cleared(s, 16 * 384)?;
        run(s, &kernel, Shape { grid, block: (64, 1, 1), shared: 0 }, cluster, &pack(&kernel, &[memory.address()]))?;
        for block in 0..384_u32 {
            let (x, y, z) = (block % 16, block / 16 % 4, block / 64);
            let inner = (x % sides.0, y % sides.1, z % sides.2);
            let rank = inner.0 + sides.0 * (inner.1 + sides.1 * inner.2);
            let wanted = [
                x / sides.0,
                y / sides.1,
                z / sides.2,
                grid.0 / sides.0,
                grid.1 / sides.1,
                grid.2 / sides.2,
                inner.0,
                inner.1,
                inner.2,
                sides.0,
                sides.1,
                sides.2,
                rank,
                sides.0 * sides.1 * sides.2,
                16,
                1,
            ];
            let found = &found[block as usize * 16..][..16];
            if found != wanted {
                return Err(format!("{name} {sides:?}, block {block}: {found:?} instead of {wanted:?}").into());
            }
        }
        blocks += 384;
    }
    Ok(format!("{blocks} blocks in 11 launches, 16 words each, 0 wrong"))
}

/// Blocks read each other's shared memory.
pub fn exchange(s: &Setup) -> Answer {
    let mut values = 0;
    for name in ["exchange", "generic"] {
        let kernel = s.kernel(name)?;
        for size in [1, 2, 4, 8, 16] {
            const THREADS: u32 = 256;
            let blocks = 32_u32;
            let (memory, found) = cleared(s, (blocks * THREADS) as usize)?;
            let shape = Shape { shared: 20 << 10, ..Shape::linear(blocks, THREADS) };
            run(s, &kernel, shape, Some((size, 1, 1)), &pack(&kernel, &[memory.address()]))?;
            let from = |at: u32| {
                let block = at / THREADS;
                (block / size * size + (block + 1) % size) * THREADS + at % THREADS
            };
            let wrong = (0..blocks * THREADS).filter(|at| found[*at as usize] != from(*at) * 3 + 1).count();
            if wrong != 0 {
                return Err(format!("{name}, clusters of {size}: {wrong} of {} words wrong", found.len()).into());
            }
            values += blocks * THREADS;
        }
    }
    Ok(format!("{values} words by shared::cluster and by generic addresses, clusters of 1 to 16, 0 wrong"))
}

/// What a launch in clusters refuses.
pub fn refused(s: &Setup) -> Answer {
    let (memory, _) = cleared(s, 1 << 14)?;
    let mut texts = Vec::new();
    for (name, grid, sides) in
        [("clusters", 7, (2, 1, 1)), ("clusters", 32, (32, 1, 1)), ("clusters", 4, (0, 1, 1)), ("fixed", 8, (4, 1, 1))]
    {
        let kernel = s.kernel(name)?;
        let parameters = pack(&kernel, &[memory.address()]);
        match run(s, &kernel, Shape::linear(grid, 32), Some(sides), &parameters) {
            Err(why) => texts.push(why.to_string()),
            Ok(()) => return Err(format!("{name} with {grid} blocks in {sides:?} was not refused").into()),
        }
    }
    Ok(texts.join("; "))
}

/// A kernel that names `vprintf`, `malloc` and `__assertfail`, and calls none.
pub fn calls(s: &Setup) -> Answer {
    let kernel = s.kernel("calls")?;
    let (memory, found) = cleared(s, 32)?;
    run(s, &kernel, Shape::linear(1, 32), None, &pack(&kernel, &[memory.address(), 0]))?;
    let wrong = (0..32).filter(|n| found[*n] != (*n * *n) as u32).count();
    if wrong == 0 {
        Ok(format!("32 words, 0 wrong; missing: {}", s.module.missing().join(", ")))
    } else {
        Err(format!("{wrong} of 32 wrong").into())
    }
}

/// The same kernel calls one. The context ends with the kernel's name.
pub fn reached(cubin: &[u8], options: Options) -> Answer {
    let s = Setup::new(cubin, options)?;
    let kernel = s.kernel("calls")?;
    let (memory, _) = cleared(&s, 32)?;
    let why = run(&s, &kernel, Shape::linear(1, 32), None, &pack(&kernel, &[memory.address(), 8]));
    let Err(Error::Lost(loss)) = s.context.check() else { return Err(format!("no loss: {why:?}").into()) };
    let text = loss.to_string();
    let is_named = loss.kernel.as_deref() == Some("calls") && text.contains("vprintf");
    drop((kernel, memory, s));
    let new = Setup::new(cubin, options)?;
    calls(&new)?;
    if is_named { Ok(text) } else { Err(format!("kernel or function is not named: {text}").into()) }
}

/// Constants by relocations that a linker usually resolves.
pub fn constants(s: &Setup) -> Answer {
    let module = s.context.load(include_bytes!("../../tests/cubins/relocatable-12.9-sm_90.cubin"))?;
    let kernel = module.kernel("constants")?;
    let (memory, found) = cleared(s, 8)?;
    run(s, &kernel, Shape::linear(1, 8), None, &pack(&kernel, &[memory.address()]))?;
    let wanted: Vec<u32> = (0..8).map(|n| 4 + 30 + [10, 20, 30, 40][n & 3]).collect();
    if found[..8] == wanted {
        Ok(format!("{wanted:?}"))
    } else {
        Err(format!("{:?} instead of {wanted:?}", &found[..8]).into())
    }
}

/// More host fences than a context has timelines, then work on a new stream.
pub fn fences(s: &Setup) -> Answer {
    const FENCES: u32 = 5000;
    let (memory, found) = cleared(s, 1)?;
    for n in 0..FENCES {
        let fence = s.context.host_fence().map_err(|why| format!("fence {n}: {why}"))?;
        s.stream.wait_for(fence.fence());
        // SAFETY: the memory has one word, and the stream is in order.
        unsafe { s.stream.fill(memory.address(), n, 4, 1)? };
        fence.signal();
    }
    s.stream.synchronize_until(Instant::now() + Duration::from_secs(5))?;
    let other = s.context.stream()?;
    // SAFETY: as above.
    unsafe { other.fill(memory.address(), 7777, 4, 1)? };
    other.synchronize_until(Instant::now() + Duration::from_secs(3))?;
    if found[0] == 7777 {
        Ok(format!("{FENCES} host fences, then a new stream"))
    } else {
        Err(format!("found {}", found[0]).into())
    }
}

/// Ordered launches of one stream, a second.
pub fn rate(s: &Setup) -> Answer {
    const LAUNCHES: u32 = 100_000;
    let kernel = s.kernel("dynamic")?;
    let (memory, _) = cleared(s, 8)?;
    let parameters = pack(&kernel, &[memory.address()]);
    let mut best = 0.0_f64;
    for _ in 0..3 {
        let start = Instant::now();
        for _ in 0..LAUNCHES {
            // SAFETY: the kernel writes two words.
            unsafe { s.stream.launch(&kernel, &Shape::linear(1, 32), &parameters)? };
        }
        s.stream.synchronize()?;
        best = best.max(f64::from(LAUNCHES) / start.elapsed().as_secs_f64());
    }
    Ok(format!("{:.0} ordered launches a second", best))
}

/// Boxes that tensor maps copy, some of them in part outside of the tensor.
pub fn tensor(s: &Setup) -> Answer {
    const SIDES: (usize, usize) = (100, 40);
    let kernel = s.kernel("tensor")?;
    let (source, values) = cleared(s, SIDES.0 * SIDES.1)?;
    values.iter_mut().enumerate().for_each(|(n, value)| *value = n as u32 + 1);
    let video = s.context.video(source.size())?;
    let (memory, found) = cleared(s, 256)?;
    // SAFETY: the stream orders the copy before the launches.
    unsafe { s.stream.copy_memory(&video, 0, &source, 0, source.size())? };
    let mut boxes = 0;
    for (address, swizzle) in [(source.address(), 0), (video.address(), 0), (video.address(), 3)] {
        let tiled = Tiled {
            element: 2,
            address,
            sides: &[SIDES.0 as u64, SIDES.1 as u64],
            strides: &[SIDES.0 as u64 * 4],
            box_sides: &[32, 8],
            steps: &[1, 1],
            interleave: 0,
            swizzle,
            promotion: 0,
            fill: 0,
        };
        let map = tiled.encode()?;
        // A box begins at a multiple of 16 bytes: the SM refuses others, with libcuda too.
        for (x, y) in [(0, 0), (32, 8), (4, 3), (88, 36), (-4_i32, -2_i32)] {
            let mut parameters = pack(&kernel, &[0, memory.address(), x as u32 as u64, y as u32 as u64]);
            parameters[first_place(&kernel)].copy_from_slice(&map.bytes());
            found.fill(0xdead);
            run(s, &kernel, Shape::linear(1, 256), None, &parameters)?;
            for (at, found) in found.iter().enumerate().take(256) {
                // A swizzle of 128 bytes exchanges the pieces of 16 bytes of a line by the number of the line.
                let (column, line) = (at % 32, at / 32);
                let column = if swizzle == 3 { column ^ ((line % 8) << 2) } else { column };
                let place = (x + column as i32, y + line as i32);
                let inside = (0..SIDES.0 as i32).contains(&place.0) && (0..SIDES.1 as i32).contains(&place.1);
                let wanted = if inside { (place.0 + place.1 * SIDES.0 as i32 + 1) as u32 } else { 0 };
                if *found != wanted {
                    let text = format!("box at {x}, {y}, swizzle {swizzle}: word {at} is {found} instead of {wanted}");
                    return Err(text.into());
                }
            }
            boxes += 1;
        }
    }
    Ok(format!("{boxes} boxes of 256 words from pinned and video memory, 0 wrong"))
}
