//! Refuses allocations above HOOK_LIMIT bytes (1 GiB if it is not set), of the driver and of every copy of the
//! runtime, with the out-of-memory result that each has.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use cutap_hook::{Call, DRIVER, Handler, RUNTIME, Wants, hook};

/// CUDA_ERROR_OUT_OF_MEMORY and cudaErrorMemoryAllocation.
const OUT_OF_MEMORY: u64 = 2;

static LIMIT: AtomicU64 = AtomicU64::new(1 << 30);
static OF_THE_DRIVER: Handler = Handler::before(|call| refuse(call, "bytesize"));
static OF_A_RUNTIME: Handler = Handler::before(|call| refuse(call, "size"));

fn refuse(call: &mut Call, size: &str) {
    if call.unsigned(size) > LIMIT.load(Relaxed) {
        // Where a runtime cannot be answered, the driver's function below it is.
        let _ = call.answer(OUT_OF_MEMORY);
    }
}

fn wants(wants: &Wants) {
    if let Some(limit) = wants.environment(c"HOOK_LIMIT").and_then(|l| l.to_str().ok()?.parse().ok()) {
        LIMIT.store(limit, Relaxed);
    }
    for (layer, name, handler) in [
        (DRIVER, c"cuMemAlloc_v2", &OF_THE_DRIVER),
        (DRIVER, c"cuMemAllocAsync*", &OF_THE_DRIVER),
        (DRIVER, c"cuMemAllocManaged", &OF_THE_DRIVER),
        (RUNTIME, c"cudaMalloc", &OF_A_RUNTIME),
        (RUNTIME, c"cudaMallocAsync*", &OF_A_RUNTIME),
        (RUNTIME, c"cudaMallocManaged", &OF_A_RUNTIME),
    ] {
        // Six are always taken.
        let _ = wants.function(layer, name, handler);
    }
}
hook!(wants);
