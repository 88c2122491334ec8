//! The program sees one device, whatever there are. A runtime that is starting is told the truth: it would notice.

use cutap_hook::{Call, DRIVER, Handler, RUNTIME, Registrar, hook};

static COUNT: Handler = Handler::after(one);

fn one(call: &mut Call) {
    let count = call.pointer::<i32>("count");
    if call.starting() || call.result() != 0 || count.is_null() {
        return;
    }
    // SAFETY: the call has succeeded, so the function has just written there.
    unsafe {
        if count.read_unaligned() > 1 {
            let _ = call.output("count", 1i32);
        }
    }
}

fn register(registrar: &Registrar) {
    // Two are always taken.
    let _ = registrar.register(DRIVER, c"cuDeviceGetCount", &COUNT);
    let _ = registrar.register(RUNTIME, c"cudaGetDeviceCount", &COUNT);
}
hook!(register);
