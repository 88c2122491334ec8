//! Refuses device memory above HOOK_LIMIT bytes (1 GiB if it is not set), of the driver and of every copy of the
//! runtime, with the out-of-memory result that each has: all functions that take a size, or the sides of what they
//! allocate (without the padding of rows). Not refused: arrays (cuArrayCreate, cudaMallocArray and their kin, whose
//! sides are in elements), nodes of graphs that allocate (cuGraphAddMemAllocNode: a struct) and page-locked memory of
//! the host (cuMemHostAlloc, cudaMallocHost).

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use cutap_hook::{Call, DRIVER, Handler, RUNTIME, Registrar, hook};

/// CUDA_ERROR_OUT_OF_MEMORY and cudaErrorMemoryAllocation.
const OUT_OF_MEMORY: u64 = 2;

static LIMIT: AtomicU64 = AtomicU64::new(1 << 30);
static REFUSE: Handler = Handler::before(refuse);

fn asked(call: &Call) -> u64 {
    let index = |name| call.function().index(name);
    let product = |a, b| call.unsigned(a).saturating_mul(call.unsigned(b));
    let mut extent = [[0; 8]; 3];
    if call.read("extent", extent.as_flattened_mut()).is_ok() {
        return extent.into_iter().map(u64::from_ne_bytes).fold(1, u64::saturating_mul);
    }
    match index("bytesize").or(index("size")) {
        Some(n) => call.unsigned_at(n),
        None if index("WidthInBytes").is_some() => product("WidthInBytes", "Height"),
        None => product("width", "height"),
    }
}

fn refuse(call: &mut Call) {
    if asked(call) > LIMIT.load(Relaxed) {
        // Where a runtime cannot be answered, the driver's function below it is.
        let _ = call.return_value(OUT_OF_MEMORY);
    }
}

fn register(registrar: &Registrar) {
    if let Some(limit) = registrar.environment(c"HOOK_LIMIT").and_then(|l| l.to_str().ok()?.parse().ok()) {
        LIMIT.store(limit, Relaxed);
    }
    let of_the_driver = [
        c"cuMemAlloc",
        c"cuMemAllocPitch",
        c"cuMemAllocAsync",
        c"cuMemAllocManaged",
        c"cuMemAllocFromPoolAsync",
        c"cuMemCreate",
    ];
    let of_a_runtime = [
        c"cudaMalloc",
        c"cudaMallocPitch",
        c"cudaMalloc3D",
        c"cudaMallocAsync",
        c"cudaMallocManaged",
        c"cudaMallocFromPoolAsync",
    ];
    for (layer, names) in [(DRIVER, of_the_driver), (RUNTIME, of_a_runtime)] {
        for name in names {
            // Twelve are always taken.
            let _ = registrar.register(layer, name, &REFUSE);
        }
    }
}
hook!(register);
