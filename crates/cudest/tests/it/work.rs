//! Work on the model, which runs channels in any order that their waits allow.

use crate::model::{Model, Running};
use cutap_cudest::sys::Kernel as _;
use cutap_cudest::{
    Context, Error, Fill, Gpu, Kernel, Memory, Mode, Options, Order, Placement, Rectangle, Shape, Stream,
};
use std::sync::Arc;

pub const CUBIN: &[u8] = include_bytes!("../cubins/kernels-12.9-sm_90.cubin");

pub fn context(options: Options) -> (Context, Arc<Model>, Running) {
    let (model, running) = Model::hopper().start();
    let context = Gpu::with_kernel(model.clone(), 0).context_with(options).unwrap();
    (context, model, running)
}

/// # Safety
/// No work uses it meanwhile.
#[allow(clippy::mut_from_ref)]
pub unsafe fn words(memory: &Memory) -> &mut [u32] {
    // SAFETY: it has these words.
    unsafe { std::slice::from_raw_parts_mut(memory.host().unwrap().as_ptr().cast(), memory.size() as usize / 4) }
}

fn step(stream: &Stream, kernel: &Kernel, array: &Memory, k: u32, n: u32) {
    let mut parameters = array.address().to_le_bytes().to_vec();
    parameters.extend(k.to_le_bytes());
    parameters.extend(n.to_le_bytes());
    // SAFETY: the array has n words, and tests keep its users in order.
    unsafe { stream.launch(kernel, &Shape::linear(n.div_ceil(64), 64), &parameters).unwrap() };
}

#[test]
fn first_result_with_few_ioctls() {
    let (context, model, _running) = context(Options::default());
    let module = context.load(CUBIN).unwrap();
    let kernel = module.kernel("step").unwrap();
    let stream = context.stream().unwrap();
    let memory = context.pinned(4096).unwrap();
    assert_eq!(memory.host().unwrap().as_ptr() as u64, memory.address());
    step(&stream, &kernel, &memory, 5, 1024);
    stream.synchronize().unwrap();
    // SAFETY: it has ended.
    assert!(unsafe { words(&memory) }.iter().all(|word| *word == 5));
    assert_eq!(context.ioctls(), model.ioctls().len() as u64);
    // Boost clocks are asked for with the first work that lasts, once.
    let boosts = || model.ioctls().iter().filter(|call| **call == (0x2a, 0x2080_200a)).count();
    let early = boosts();
    for _ in 0..40 {
        step(&stream, &kernel, &memory, 0, 1024);
    }
    stream.synchronize().unwrap();
    assert!(early <= 1 && boosts() == 1, "{early}, {}", boosts());
    // SAFETY: it has ended.
    unsafe { words(&memory).fill(5) };
    assert!(context.ioctls() <= 40, "{}: {:x?}", context.ioctls(), model.ioctls());
    drop((stream, kernel, module, memory, context));
    assert_eq!(model.left(), (0, 0), "objects and descriptors");
}

/// How many descriptors were in methods.
fn random_work(options: Options, launches: u32) -> usize {
    const WORDS: u32 = 16;
    let (context, model, _running) = context(options);
    let kernel = context.load(CUBIN).unwrap().kernel("step").unwrap();
    let streams: Vec<_> = (0..4).map(|_| context.stream().unwrap()).collect();
    let arrays: Vec<_> = (0..4).map(|_| context.pinned(u64::from(WORDS) * 4).unwrap()).collect();
    let mut wanted = [0_u32; 4];
    let mut owner = [0, 1, 2, 3];
    let mut state = 7_u64;
    let mut below = |most: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % most
    };
    for k in 0..launches {
        let at = below(4);
        let array = owner[at];
        if below(5) == 0 {
            // SAFETY: the array is this stream's now.
            unsafe { streams[at].fill(arrays[array].address(), k, 4, WORDS.into()).unwrap() };
            wanted[array] = k;
        } else {
            step(&streams[at], &kernel, &arrays[array], k, WORDS);
            wanted[array] = wanted[array].wrapping_mul(3).wrapping_add(k);
        }
        if below(8) == 0 {
            let other = (at + 1 + below(3)) % 4;
            let (a, b) = (streams[at].fence().unwrap(), streams[other].fence().unwrap());
            streams[at].wait_for(b);
            streams[other].wait_for(a);
            owner.swap(at, other);
        }
    }
    context.synchronize().unwrap();
    for (array, wanted) in arrays.iter().zip(wanted) {
        // SAFETY: all has ended.
        assert!(unsafe { words(array) }.iter().all(|word| *word == wanted));
    }
    assert_eq!(context.mode(), options.mode.unwrap_or(Mode::Rm));
    drop((kernel, streams, arrays, context));
    assert_eq!(model.left(), (0, 0), "objects and descriptors");
    model.state.lock().unwrap().inline
}

#[test]
fn order_within_and_between_streams() {
    random_work(Options::default(), 6000);
}

/// Several threads use one common stream, and each a separate one.
#[test]
fn threads_share_a_context() {
    const LAUNCHES: u32 = 400;
    let (context, _model, _running) = context(Options::default());
    let kernel = context.load(CUBIN).unwrap().kernel("step").unwrap();
    let common = context.stream().unwrap();
    let total = context.pinned(64).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (context, kernel, common, total) = (&context, &kernel, &common, &total);
            scope.spawn(move || {
                let stream = context.stream().unwrap();
                let own = context.pinned(64).unwrap();
                let mut wanted = 0_u32;
                for k in 0..LAUNCHES {
                    step(&stream, kernel, &own, k, 16);
                    wanted = wanted.wrapping_mul(3).wrapping_add(k);
                    // Each fill is the same, so their order does not matter.
                    // SAFETY: only fills with one value use this memory.
                    unsafe { common.fill(total.address(), 9, 4, 16).unwrap() };
                    if k % 50 == thread {
                        drop(context.pinned(64).unwrap());
                    }
                }
                stream.synchronize().unwrap();
                // SAFETY: it has ended.
                assert!(unsafe { words(&own) }.iter().all(|word| *word == wanted));
            });
        }
    });
    context.synchronize().unwrap();
    // SAFETY: all has ended.
    assert!(unsafe { words(&total) }.iter().all(|word| *word == 9));
}

/// Mode B: the unified memory driver has the page tables.
#[test]
fn uvm_on_request() {
    random_work(Options { mode: Some(Mode::Uvm), ..Options::default() }, 2000);
}

#[test]
fn uvm_where_a_sandbox_refuses_mappings() {
    const MAP_MEMORY_DMA: u8 = 0x57;
    let sandbox = || Model { refuse_request: Some(MAP_MEMORY_DMA), ..Model::hopper() };
    let (model, _running) = sandbox().start();
    let context = Gpu::with_kernel(model.clone(), 0).context().unwrap();
    assert_eq!(context.mode(), Mode::Uvm);
    let refusal = context.refusal().unwrap().to_string();
    assert!(refusal.starts_with("a mapping for the GPU failed:"), "{refusal}");
    let stream = context.stream().unwrap();
    let kernel = context.load(CUBIN).unwrap().kernel("step").unwrap();
    let (pinned, video) = (context.pinned(4096).unwrap(), context.video(4096).unwrap());
    assert_eq!(pinned.host().unwrap().as_ptr() as u64, pinned.address());
    step(&stream, &kernel, &pinned, 7, 1024);
    // SAFETY: the stream orders the kernel, the copies and the fill.
    unsafe {
        stream.copy_memory(&video, 0, &pinned, 0, 4096).unwrap();
        stream.fill(pinned.address(), 1, 4, 1024).unwrap();
        stream.copy_memory(&pinned, 0, &video, 0, 2048).unwrap();
    }
    let addresses = context.reserve(8 << 20).unwrap();
    let memory = context.backing(4 << 20).unwrap();
    let mapping = addresses.map(2 << 20, &memory, 2 << 20, 2 << 20).unwrap();
    assert!(addresses.map(2 << 20, &memory, 0, 2 << 20).is_err(), "there is a mapping");
    // SAFETY: the range is mapped.
    unsafe { stream.fill(mapping.address(), 3, 4, 1 << 19).unwrap() };
    stream.synchronize().unwrap();
    // SAFETY: all has ended.
    let found = unsafe { words(&pinned) };
    assert!(found[..512].iter().all(|word| *word == 7) && found[512..].iter().all(|word| *word == 1));
    drop((stream, kernel, pinned, video, mapping, memory, addresses, context));
    assert_eq!(model.left(), (0, 0), "objects and descriptors");
    // On request there is no second try, and without the node both refusals are named.
    let only = Options { mode: Some(Mode::Rm), ..Options::default() };
    let error = Gpu::with_kernel(Arc::new(sandbox()), 0).context_with(only).map(drop).unwrap_err().to_string();
    assert!(error.starts_with("a mapping for the GPU failed:"), "{error}");
    let error = Gpu::with_kernel(Arc::new(Model { no_uvm: true, ..sandbox() }), 0).context().map(drop).unwrap_err();
    let error = error.to_string();
    assert!(error.starts_with("no address space for the GPU: mode A: a mapping for the GPU failed:"), "{error}");
    assert!(error.contains("mode B: no NVIDIA kernel driver: /dev/nvidia-uvm is missing"), "{error}");
}

/// Cooperative launches of two streams share a workspace and run one after the other. A larger grid is refused.
#[test]
fn cooperative_launches() {
    let (context, model, _running) = context(Options::default());
    let kernel = context.load(CUBIN).unwrap().kernel("step").unwrap();
    let streams = [context.stream().unwrap(), context.stream().unwrap()];
    let array = context.pinned(64).unwrap();
    let shape = Shape::linear(384, 64);
    assert_eq!(kernel.resident_blocks(&shape).unwrap(), 384, "32 on each of 12 SMs");
    let mut wanted = 0_u32;
    for k in 0..50_u32 {
        let parameters = [&array.address().to_le_bytes()[..], &k.to_le_bytes(), &16_u32.to_le_bytes()].concat();
        // SAFETY: the array has 16 words, and only these launches use it.
        unsafe { streams[k as usize % 2].launch_cooperative(&kernel, &shape, &parameters).unwrap() };
        wanted = wanted.wrapping_mul(3).wrapping_add(k);
    }
    context.synchronize().unwrap();
    // SAFETY: all has ended.
    assert!(unsafe { words(&array) }[..16].iter().all(|word| *word == wanted));
    let seen = model.state.lock().unwrap().cooperative.clone();
    assert_eq!((seen.len(), seen.iter().all(|(at, barrier)| *at == seen[0].0 && *barrier == 0)), (50, true));
    // SAFETY: it is refused.
    let large = unsafe { streams[0].launch_cooperative(&kernel, &Shape::linear(385, 64), &[0; 16]) }.unwrap_err();
    let why = "a cooperative grid of 385 blocks, and 12 SMs run 384 together";
    assert_eq!(large.to_string(), format!("kernel step cannot be launched: {why}"));
    let shape = Shape { shared: 100 << 10, ..Shape::linear(1, 64) };
    assert_eq!(kernel.resident_blocks(&shape).unwrap(), 24, "two of 101 KiB on each of 12 SMs");
}

#[test]
fn order_by_idle() {
    random_work(Options { order: Order::Idle, ..Options::default() }, 3000);
}

/// Methods carry descriptors and constants. A descriptor in use is never written.
#[test]
fn placements() {
    for (placement, order) in [
        (Placement::Inline, Order::Acquire),
        (Placement::Inline, Order::Idle),
        (Placement::InlineVideo, Order::Acquire),
        (Placement::Mapped, Order::Acquire),
    ] {
        let inline = random_work(Options { placement, order, ..Options::default() }, 3000);
        // About a fifth of the work is fills.
        let expected = if placement == Placement::Mapped { 0..1 } else { 2000..3000 };
        assert!(expected.contains(&inline), "{placement:?}: {inline} descriptors in methods");
    }
    random_work(Options { placement: Placement::Inline, mode: Some(Mode::Uvm), ..Options::default() }, 1000);
}

#[test]
fn copies_and_fills() {
    let options = Options { copy_engine_from: 4000, ..Options::default() };
    let (context, model, _running) = context(options);
    let stream = context.stream().unwrap();
    let (from, to, video) =
        (context.pinned(1 << 16).unwrap(), context.pinned(1 << 16).unwrap(), context.video(1 << 16).unwrap());
    // SAFETY: nothing runs; later all is ordered by one stream.
    unsafe {
        words(&from).iter_mut().enumerate().for_each(|(n, word)| *word = n as u32);
        stream.copy_memory(&video, 0, &from, 0, 100).unwrap();
        stream.copy_memory(&video, 100, &from, 100, 60_000).unwrap();
        stream.copy_memory(&to, 0, &video, 0, 60_100).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(words(&to)[..15_025], words(&from)[..15_025]);
        let copy = Rectangle {
            to: to.address(),
            from: from.address(),
            width: 8,
            height: 3,
            depth: 2,
            pitch: (16, 32),
            layer: (64, 128),
        };
        stream.fill(to.address(), 0, 1, 1 << 16).unwrap();
        stream.copy_3d(&copy).unwrap();
        let lines = Fill { value: 0xabcd, width: 2, count: 5, height: 20, depth: 2, pitch: 64, layer: 1280, to: 0 };
        stream.fill_3d(&Fill { to: to.address() + 4096, ..lines }).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(words(&to)[..12], [0, 1, 0, 0, 8, 9, 0, 0, 16, 17, 0, 0]);
        assert_eq!(words(&to)[16..18], [32, 33]);
        for line in 0..40 {
            assert_eq!(words(&to)[1024 + line * 16..1027 + line * 16], [0xabcd_abcd, 0xabcd_abcd, 0xabcd]);
        }
        let bytes: Vec<u8> = (0..9 << 20).map(|n: u32| (n * 7) as u8).collect();
        let large = context.video(10 << 20).unwrap();
        stream.upload(&large, 5, &bytes).unwrap();
        let mut back = vec![0; bytes.len()];
        stream.download(&large, 5, &mut back).unwrap();
        assert!(back == bytes);
        assert!(matches!(stream.upload(&large, 2 << 20, &bytes), Err(Error::Range(_))));
        // A large copy within video memory is made by a kernel, and its last bytes by a copy engine.
        let second = context.video(10 << 20).unwrap();
        stream.copy_memory(&second, 16, &large, 0, (1 << 20) + 7).unwrap();
        stream.copy_memory(&second, 4 << 20, &large, 5, 1 << 20).unwrap();
        stream.download(&second, 21, &mut back[..(1 << 20) + 2]).unwrap();
        stream.download(&second, 4 << 20, &mut back[2 << 20..3 << 20]).unwrap();
        assert!(back[..(1 << 20) + 2] == bytes[..(1 << 20) + 2] && back[2 << 20..3 << 20] == bytes[..1 << 20]);
        assert_eq!(model.copies(), ["copy 65536"]);
    }
}

/// Lines of pageable memory: short ones, many to a piece, and one that is longer than a piece.
#[test]
fn pageable_rectangles() {
    let (context, _model, _running) = context(Options::default());
    let stream = context.stream().unwrap();
    let video = context.video(8 << 20).unwrap();
    let bytes: Vec<u8> = (0..6 << 20).map(|n: u32| (n * 13 / 8) as u8).collect();
    for (width, height, depth) in [(1, 1, 1), (100, 37, 3), (3, 3000, 2), (1_500_000, 2, 1), (0, 5, 5)] {
        let (pitch, layer) = (width + 28, (width + 28) * (height + 3));
        let sizes = Rectangle { width, height, depth, ..Rectangle::default() };
        let to_gpu = Rectangle { to: video.address() + 7, from: 5, pitch: (width + 8, pitch), ..sizes };
        let to_gpu = Rectangle { layer: ((width + 8) * height, layer), ..to_gpu };
        let back = Rectangle { to: 5, from: to_gpu.to, pitch: (pitch, to_gpu.pitch.0), ..sizes };
        let back = Rectangle { layer: (layer, to_gpu.layer.0), ..back };
        let mut found = vec![0; bytes.len()];
        // SAFETY: the ranges are inside; the stream orders all.
        unsafe {
            stream.upload_3d(&to_gpu, &bytes).unwrap();
            stream.download_3d(&back, &mut found).unwrap();
        }
        let mut wanted = vec![0; bytes.len()];
        for (z, y) in (0..depth).flat_map(|z| (0..height).map(move |y| (z, y))) {
            let at = (5 + z * layer + y * pitch) as usize;
            wanted[at..at + width as usize].copy_from_slice(&bytes[at..at + width as usize]);
        }
        assert!(found == wanted, "{width} {height} {depth}");
    }
    let copy =
        Rectangle { to: video.address(), width: 10, height: 2, depth: 1, pitch: (10, 95), ..Rectangle::default() };
    // SAFETY: it is refused before any copy.
    assert!(matches!(unsafe { stream.upload_3d(&copy, &bytes[..100]) }, Err(Error::Range(_))));
}

/// A stream that waits for the host holds up no copy of another stream.
#[test]
fn a_host_fence_holds_one_stream() {
    let (context, _model, _running) = context(Options { copy_engine_from: 0, ..Options::default() });
    let (held, free) = (context.stream().unwrap(), context.stream().unwrap());
    let (a, b) = (context.pinned(64).unwrap(), context.pinned(64).unwrap());
    let (video, other) = (context.video(64).unwrap(), context.video(64).unwrap());
    let gate = context.host_fence().unwrap();
    held.wait_for(gate.fence());
    // SAFETY: the two copies use separate memory, and the fill is before its copy.
    unsafe {
        held.copy_memory(&video, 0, &a, 0, 64).unwrap();
        free.fill(b.address(), 4, 4, 16).unwrap();
        free.copy_memory(&other, 0, &b, 0, 64).unwrap();
    }
    let until = std::time::Instant::now() + std::time::Duration::from_secs(5);
    free.synchronize_until(until).unwrap();
    assert!(!held.is_idle().unwrap());
    gate.signal();
    held.synchronize_until(until).unwrap();
}

#[test]
fn memory_is_freed_after_its_work() {
    let (context, model, _running) = context(Options::default());
    let stream = context.stream().unwrap();
    let gate = context.host_fence().unwrap();
    let memory = context.pinned(4096).unwrap();
    stream.wait_for(gate.fence());
    // SAFETY: the memory is freed only after this fill.
    unsafe { stream.fill(memory.address(), 1, 4, 1024).unwrap() };
    let frees = || model.ioctls().iter().filter(|(number, _)| *number == 0x29).count();
    let before = frees();
    drop(memory);
    assert_eq!(frees(), before, "freed while the GPU may use it");
    gate.signal();
    stream.synchronize().unwrap();
    drop(context.pinned(4096).unwrap());
    assert!(frees() >= before + 4);
}

#[test]
fn addresses_and_memory_apart() {
    let (context, _model, _running) = context(Options::default());
    let stream = context.stream().unwrap();
    let addresses = context.reserve(64 << 20).unwrap();
    let memory = context.backing(1).unwrap();
    assert_eq!(memory.size(), 2 << 20);
    let mapping = addresses.map(4 << 20, &memory, 0, 2 << 20).unwrap();
    assert_eq!(mapping.address(), addresses.address() + (4 << 20));
    // SAFETY: the range is mapped.
    unsafe { stream.fill(mapping.address(), 3, 4, 1 << 19).unwrap() };
    stream.synchronize().unwrap();
    for (offset, from, bytes) in [(1, 0, 2 << 20), (0, 2 << 20, 2 << 20), (64 << 20, 0, 2 << 20), (0, 0, 0)] {
        assert!(matches!(addresses.map(offset, &memory, from, bytes), Err(Error::Range(_))));
    }
}

#[test]
fn a_fault_ends_the_context() {
    let (context, model, _running) = context(Options::default());
    let stream = context.stream().unwrap();
    let gate = context.host_fence().unwrap();
    stream.wait_for(gate.fence());
    let fence = stream.fence().unwrap();
    model.fault(31);
    let Err(Error::Lost(loss)) = context.wait(fence, None) else { panic!("no loss") };
    assert_eq!(loss.xid, 31);
    let text = "Xid 31 (a memory access outside of mapped addresses); FAULT_PDE at 0x7000012340 on the compute engine";
    assert_eq!(loss.to_string(), text);
    assert!(matches!(context.video(1), Err(Error::Lost(_))));
    assert!(matches!(stream.synchronize(), Err(Error::Lost(_))));
    let other = Gpu::with_kernel(model.clone(), 0);
    drop((stream, gate, context));
    assert_eq!(model.left(), (0, 0));
    other.context().unwrap().stream().unwrap().synchronize().unwrap();
    assert!(model.version().is_ok());
}

/// The child of a fork has no context: the GPU's mappings are the parent's.
#[test]
fn use_after_fork() {
    let (context, model, _running) = context(Options::default());
    let (memory, video, gate) =
        (context.pinned(64).unwrap(), context.video(64).unwrap(), context.host_fence().unwrap());
    let before = model.ioctls().len();
    let child = model.fork();
    if child == 0 {
        let refused = matches!(context.check(), Err(Error::Forked)) && matches!(context.pinned(64), Err(Error::Forked));
        drop((memory, video, gate));
        drop(context);
        // What the child drops is the parent's.
        let refused = refused && model.ioctls().len() == before;
        // SAFETY: it ends this process without its destructors.
        unsafe { libc::_exit(if refused { 7 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: the status is on this stack.
    let ended = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!((ended, libc::WEXITSTATUS(status)), (child, 7));
    assert!(context.pinned(64).is_ok() && !context.reached(gate.fence()).unwrap());
    drop((memory, video, gate));
    let text = Error::Forked.to_string();
    assert_eq!(text, "this context was made before fork: make a new context in the child");
}
