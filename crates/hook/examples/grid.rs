//! Launches at most HOOK_BLOCKS blocks in x (1 if it is not set), by changing an argument of the driver's call.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use cutap_hook::{Call, DRIVER, Handler, Registrar, hook};

static MOST: AtomicU64 = AtomicU64::new(1);
static LAUNCH: Handler = Handler::before(fewer);

fn fewer(call: &mut Call) {
    let most = MOST.load(Relaxed);
    if call.unsigned("gridDimX") > most {
        // Refused where a launch has no such parameter: then it stays unchanged.
        let _ = call.set("gridDimX", most);
    }
}

fn register(registrar: &Registrar) {
    if let Some(most) = registrar.environment(c"HOOK_BLOCKS").and_then(|b| b.to_str().ok()?.parse().ok()) {
        MOST.store(most, Relaxed);
    }
    // One want is always taken.
    let _ = registrar.register(DRIVER, c"cuLaunchKernel*", &LAUNCH);
}
hook!(register);
