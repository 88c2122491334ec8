//! Adds two vectors on the first GPU, without libcuda: `vecadd KERNELS.cubin [N [uvm]]`.

use cutap_cudest::{Gpu, Mode, Options, Shape};
use std::time::Instant;

fn main() {
    if let Err(error) = run() {
        eprintln!("vecadd: {error}");
        std::process::exit(1);
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let mut words = std::env::args().skip(1);
    let path = words.next().ok_or("usage: vecadd KERNELS.cubin [N [uvm]]")?;
    let n: u32 = words.next().map_or(Ok(65536), |n| n.parse().map_err(|_| format!("N is {n:?}, not a number")))?;
    let bytes = u64::from(n) * 4;

    let mode = words.next().is_some_and(|mode| mode == "uvm").then_some(Mode::Uvm);

    let context = Gpu::new(0).context_with(Options { mode, ..Options::default() })?;
    let kernel = context.load(&read(&path)?)?.kernel("vecadd")?;
    let stream = context.stream()?;
    // One piece of pinned memory: the CPU and the GPU see it at the same address.
    let memory = context.pinned(bytes * 3)?;
    let [a, b, c] = [0, bytes, 2 * bytes].map(|offset| memory.address() + offset);
    let a_values: Vec<u8> = (0..n).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let b_values: Vec<u8> = (0..n).flat_map(|i| (2.0 * i as f32 + 1.0).to_le_bytes()).collect();
    let mut parameters = Vec::new();
    [a, b, c].iter().for_each(|address| parameters.extend(address.to_le_bytes()));
    parameters.extend(n.to_le_bytes());
    let mut result = vec![0; bytes as usize];
    // SAFETY: the kernel reads `a` and `b` and writes `c`, each of `n` words, and the CPU waits for it.
    unsafe {
        memory.write(0, &a_values)?;
        memory.write(bytes, &b_values)?;
        stream.launch(&kernel, &Shape::linear(n.div_ceil(256), 256), &parameters)?;
        stream.synchronize()?;
        memory.read(2 * bytes, &mut result)?;
    }
    let time = start.elapsed();
    let wanted = |i: usize| 3.0 * i as f32 + 1.0;
    let wrong = result.as_chunks::<4>().0.iter().enumerate().filter(|(i, c)| f32::from_le_bytes(**c) != wanted(*i));
    let wrong = wrong.count();
    println!(
        "vecadd: {n} values, {wrong} wrong; {:.2} ms from main, {} ioctls",
        time.as_secs_f64() * 1e3,
        context.ioctls()
    );
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let libraries = maps.lines().filter(|line| line.contains("libcuda") || line.contains("libnvidia")).count();
    println!("mappings of NVIDIA's libraries: {libraries}");
    match (wrong, libraries) {
        (0, 0) => Ok(()),
        (0, _) => Err("a library of NVIDIA's is in the process".into()),
        _ => Err(format!("{wrong} of {n} sums are wrong").into()),
    }
}

fn read(path: &str) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|why| format!("cannot read the cubin {path}: {why}"))
}
