//! Makes every cuStreamSynchronize and cudaStreamSynchronize begin HOOK_DELAY_MS later (20 if it is not set).

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use cutap_hook::{Call, DRIVER, Handler, RUNTIME, Registrar, hook};
use std::{thread::sleep, time::Duration};

static DELAY: AtomicU64 = AtomicU64::new(20);
static SYNCHRONIZE: Handler = Handler::before(wait_first);

fn wait_first(_: &mut Call) {
    sleep(Duration::from_millis(DELAY.load(Relaxed)));
}

fn register(registrar: &Registrar) {
    if let Some(delay) = registrar.environment(c"HOOK_DELAY_MS").and_then(|d| d.to_str().ok()?.parse().ok()) {
        DELAY.store(delay, Relaxed);
    }
    // One want is always taken.
    let _ = registrar.register(DRIVER | RUNTIME, c"cu*StreamSynchronize*", &SYNCHRONIZE);
}
hook!(register);
