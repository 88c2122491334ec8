//! Copies, fills and mappings, compared on the host.

use crate::{Answer, Random, Setup, words};
use cutap_cudest::{Error, Fill, Gpu, Options, Rectangle};

/// Waits for two seconds.
fn ended(s: &Setup, step: &str) -> Result<(), String> {
    let until = std::time::Instant::now() + std::time::Duration::from_secs(2);
    s.stream.synchronize_until(until).map_err(|error| format!("{step}: {error}; {:?}", s.context))
}

pub fn copies(s: &Setup) -> Answer {
    const SIZE: usize = 8 << 20;
    let (a, b) = (s.context.pinned(SIZE as u64)?, s.context.pinned(SIZE as u64)?);
    let video = s.context.video(SIZE as u64)?;
    // SAFETY: nothing runs.
    let (from, to) = unsafe { (words(&a), words(&b)) };
    let mut random = Random(3);
    from.iter_mut().for_each(|word| *word = random.word());
    let mut all = 0;
    for bytes in [1_u64, 3, 4, 100, 4096, 65536, (1 << 18) - 1, 1 << 18, (5 << 20) + 13, SIZE as u64] {
        let step = format!("{bytes} bytes");
        to.fill(0);
        // SAFETY: the ranges are inside.
        unsafe {
            s.stream.copy_memory(&video, 0, &a, 0, bytes)?;
            s.stream.copy_memory(&b, 0, &video, 0, bytes)?;
        }
        ended(s, &step)?;
        // SAFETY: all has ended.
        let (x, y) = unsafe {
            (
                std::slice::from_raw_parts(from.as_ptr().cast::<u8>(), bytes as usize),
                std::slice::from_raw_parts(to.as_ptr().cast::<u8>(), bytes as usize),
            )
        };
        if x != y {
            return Err(format!("{bytes} bytes there and back differ").into());
        }
        all += bytes;
    }
    let step = "rectangles";
    // Rectangles: 3 layers of 37 lines of 1000 bytes.
    let copy = Rectangle {
        to: video.address(),
        from: a.address(),
        width: 1000,
        height: 37,
        depth: 3,
        pitch: (1024, 1500),
        layer: (1024 * 40, 1500 * 50),
    };
    let back = Rectangle {
        to: b.address(),
        from: video.address(),
        pitch: (1200, 1024),
        layer: (1200 * 37, 1024 * 40),
        ..copy
    };
    to.fill(0);
    // SAFETY: the ranges are inside.
    unsafe {
        s.stream.copy_3d(&copy)?;
        s.stream.copy_3d(&back)?;
    }
    ended(s, step)?;
    // SAFETY: all has ended.
    let (x, y) = unsafe {
        (
            std::slice::from_raw_parts(from.as_ptr().cast::<u8>(), SIZE),
            std::slice::from_raw_parts(to.as_ptr().cast::<u8>(), SIZE),
        )
    };
    for z in 0..3 {
        for line in 0..37 {
            let (from, to) = (z * 1500 * 50 + line * 1500, z * 1200 * 37 + line * 1200);
            if x[from..from + 1000] != y[to..to + 1000] || y[to + 1000..to + 1200].iter().any(|byte| *byte != 0) {
                return Err(format!("layer {z}, line {line} differ").into());
            }
        }
    }
    for (width, value) in [(1_u32, 0xab_u32), (2, 0xabcd), (4, 0x1234_5678)] {
        let step = format!("fill of {width} bytes");
        to.fill(0);
        // SAFETY: the ranges are inside.
        unsafe {
            s.stream.fill(b.address() + 16, value, width, 1000)?;
        }
        ended(s, &step)?;
        let w = width as usize;
        let one = &value.to_le_bytes()[..w];
        let line =
            |at: usize, count: usize| y[at..at + count * w].chunks(w).all(|v| v == one) && y[at + count * w] == 0;
        if !line(16, 1000) || y[15] != 0 {
            return Err(format!("fill with {width} bytes").into());
        }
    }
    Ok(format!("{all} bytes in 10 sizes, 111 lines in 3 layers, fills of 1, 2, 4 bytes"))
}

/// Fills of lines and layers, in pinned and in video memory.
pub fn fills(s: &Setup) -> Answer {
    let (out, video) = (s.context.pinned(4 << 20)?, s.context.video(4 << 20)?);
    let mut lines = 0;
    for (width, value) in [(1_u32, 0xab_u32), (2, 0xabcd), (4, 0x1234_5678)] {
        for (count, height, depth, pitch, layer) in [(50, 20, 1, 512, 0), (3, 100, 7, 64, 8192), (100, 5, 3, 800, 4000)]
        {
            for to in [out.address(), video.address()] {
                let fill = Fill { to: to + 16, value, width, count, height, depth, pitch, layer };
                // SAFETY: the ranges are inside.
                unsafe {
                    s.stream.fill(to, 0, 4, 1 << 20)?;
                    s.stream.fill_3d(&fill)?;
                    if to != out.address() {
                        s.stream.copy_memory(&out, 0, &video, 0, 4 << 20)?;
                    }
                }
                ended(s, &format!("{fill:?}"))?;
                // SAFETY: all has ended.
                let found = unsafe { std::slice::from_raw_parts(out.host().unwrap().as_ptr(), 4 << 20) };
                let mut wanted = vec![0; 4 << 20];
                for (z, y) in (0..depth).flat_map(|z| (0..height).map(move |y| (z, y))) {
                    let at = (16 + z * layer + y * pitch) as usize;
                    for x in 0..count as usize * width as usize {
                        wanted[at + x] = value.to_le_bytes()[x % width as usize];
                    }
                    lines += 1;
                }
                if found != wanted {
                    return Err(format!("{fill:?}").into());
                }
            }
        }
    }
    Ok(format!("{lines} lines with values of 1, 2, 4 bytes in 18 fills"))
}

/// Copies within video memory, by a copy engine and by a kernel.
pub fn within(s: &Setup) -> Answer {
    const SIZE: usize = 32 << 20;
    let (a, b) = (s.context.video(SIZE as u64)?, s.context.video(SIZE as u64)?);
    let mut random = Random(17);
    let from: Vec<u8> = (0..SIZE).map(|_| random.word() as u8).collect();
    let mut sizes = 0;
    for (to_at, from_at, bytes) in
        [(0, 0, 5), (0, 16, 1 << 20), (32, 0, (1 << 20) + 9), (3, 0, 3 << 20), (16, 48, (20 << 20) + 15), (0, 0, SIZE)]
    {
        let mut to = vec![0; SIZE];
        // SAFETY: the ranges are inside; the stream orders all.
        unsafe {
            s.stream.upload(&a, 0, &from)?;
            s.stream.fill(b.address(), 0, 4, SIZE as u64 / 4)?;
            s.stream.copy_memory(&b, to_at as u64, &a, from_at as u64, bytes as u64)?;
            s.stream.download(&b, 0, &mut to)?;
        }
        let right = to[to_at..to_at + bytes] == from[from_at..from_at + bytes];
        if !right || to[..to_at].iter().chain(&to[to_at + bytes..]).any(|byte| *byte != 0) {
            return Err(format!("{bytes} bytes from {from_at} to {to_at}").into());
        }
        sizes += 1;
    }
    Ok(format!("{sizes} copies within video memory"))
}

/// What a context costs in memory: of the GPU, as the driver reports it, and of the process.
pub fn used(cubin: &[u8], options: Options) -> Answer {
    let free = || Gpu::new(0).facts().map(|facts| facts.memory.map_or(0, |(_, free)| free));
    let resident = || -> Result<u64, std::io::Error> {
        let status = std::fs::read_to_string("/proc/self/status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
        Ok(line.split_whitespace().next().and_then(|kib| kib.parse().ok()).unwrap_or(0))
    };
    let (before, resident_before) = (free()?, resident()?);
    let s = Setup::new(cubin, options)?;
    crate::check::matmul(&s)?;
    let one = before.saturating_sub(free()?);
    let streams = (0..15).map(|_| s.context.stream()).collect::<Result<Vec<_>, _>>()?;
    let many = before.saturating_sub(free()?);
    crate::check::kernels(&s)?;
    let local = before.saturating_sub(free()?);
    let resident = resident()? - resident_before;
    drop((streams, s));
    let after = before.saturating_sub(free()?);
    Ok(format!(
        "video memory: {:.1} MiB with one stream, {:.1} MiB with 16, {:.1} MiB with local memory, \
         {:.1} MiB after; {resident} KiB of the process",
        one as f64 / f64::from(1 << 20),
        many as f64 / f64::from(1 << 20),
        local as f64 / f64::from(1 << 20),
        after as f64 / f64::from(1 << 20),
    ))
}

pub fn pageable(s: &Setup) -> Answer {
    let video = s.context.video(64 << 20)?;
    let mut random = Random(9);
    let from: Vec<u8> = (0..(33 << 20) + 7).map(|_| random.word() as u8).collect();
    for size in [1, 5000, (4 << 20) + 1, from.len()] {
        let mut to = vec![0; size];
        // SAFETY: nothing else runs.
        unsafe {
            s.stream.upload(&video, 11, &from[..size])?;
            s.stream.download(&video, 11, &mut to)?;
        }
        if to != from[..size] {
            return Err(format!("{size} bytes differ").into());
        }
    }
    Ok("4 sizes there and back".into())
}

pub fn memory(s: &Setup) -> Answer {
    let mut text = Vec::new();
    // Registered pages of the program, at the same address for both.
    let mut own = vec![0_u32; 100_000];
    let size = own.len() as u64 * 4;
    // SAFETY: the vector outlives the registration.
    let registered = unsafe { s.context.register(std::ptr::NonNull::from(&mut own[..]).cast(), size)? };
    text.push(format!("registered at the same address: {}", registered.address() == own.as_ptr() as u64));
    // SAFETY: the range is inside.
    unsafe { s.stream.fill(registered.address(), 77, 4, 100_000)? };
    s.stream.synchronize()?;
    drop(registered);
    if own.iter().any(|word| *word != 77) {
        return Err("registered memory".into());
    }
    let pinned = s.context.pinned(1 << 20)?;
    text.push(format!("pinned at the same address: {}", pinned.host().unwrap().as_ptr() as u64 == pinned.address()));
    let refused = s.context.video(400 << 30).map(drop);
    text.push(format!("400 GiB: {}", refused.unwrap_err()));
    if !matches!(s.context.pinned(u64::MAX - 5), Err(Error::NoMemory { .. })) {
        return Err("an impossible size was not refused".into());
    }
    let before = s.context.ioctls();
    let mut pieces = Vec::new();
    for n in 0..1000_u64 {
        let piece = s.context.video(1 + n * 97 % 5000)?;
        // SAFETY: the range is inside.
        unsafe { s.stream.fill(piece.address(), n as u32, 1, piece.size())? };
        pieces.push(piece);
        if n % 3 == 0 {
            pieces.swap_remove((n * 7) as usize % pieces.len());
        }
    }
    s.stream.synchronize()?;
    let spans: Vec<_> = pieces.iter().map(|p| (p.address(), p.size())).collect();
    if spans.iter().enumerate().any(|(i, a)| spans.iter().skip(i + 1).any(|b| a.0 < b.0 + b.1 && b.0 < a.0 + a.1)) {
        return Err("two pieces overlap".into());
    }
    text.push(format!("1000 small pieces with {} ioctls", s.context.ioctls() - before));
    let start = std::time::Instant::now();
    let big = s.context.video(64 << 30)?;
    text.push(format!("64 GiB in {:.1} ms", start.elapsed().as_secs_f64() * 1e3));
    // SAFETY: the range is inside.
    unsafe {
        s.stream.fill(big.address() + (64 << 30) - 4096, 5, 4, 1024)?;
        s.stream.copy(pinned.address(), big.address() + (64 << 30) - 4096, 4096)?;
    }
    s.stream.synchronize()?;
    // SAFETY: it has ended.
    if unsafe { words(&pinned)[..1024].iter() }.any(|word| *word != 5) {
        return Err("the end of 64 GiB".into());
    }
    Ok(text.join("; "))
}

/// Memory at two places of reserved addresses, and a gap that is filled later.
pub fn mapping(s: &Setup) -> Answer {
    const MIB: u64 = 1 << 20;
    let addresses = s.context.reserve(1 << 40)?;
    let memory = s.context.backing(8 * MIB)?;
    let first = addresses.map(0, &memory, 0, 8 * MIB)?;
    let second = addresses.map(1 << 39, &memory, 4 * MIB, 4 * MIB)?;
    if addresses.map(2 * MIB, &memory, 0, 2 * MIB).is_ok() {
        return Err("a second mapping at one address".into());
    }
    let out = s.context.pinned(MIB)?;
    // SAFETY: the ranges are mapped.
    unsafe {
        s.stream.fill(first.address(), 6, 4, 2 * MIB)?;
        s.stream.fill(second.address(), 7, 4, 1024)?;
        s.stream.copy(out.address(), first.address() + 4 * MIB - 64, 128)?;
    }
    ended(s, "mapping")?;
    // SAFETY: it has ended.
    let found = unsafe { words(&out) };
    if found[..16] != [6; 16] || found[16..32] != [7; 16] {
        return Err(format!("{:?}", &found[..32]).into());
    }
    drop(first);
    s.context.synchronize()?;
    let again = addresses.map(0, &memory, 4 * MIB, 2 * MIB)?;
    // SAFETY: the ranges are mapped.
    unsafe { s.stream.copy(out.address(), again.address(), 64)? };
    ended(s, "mapping again")?;
    if found[..16] != [7; 16] {
        return Err("after mapping again".into());
    }
    Ok(format!("two mappings of one memory, 512 GiB apart; unified: {}", again.address() == addresses.address()))
}
