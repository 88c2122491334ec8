//! The program sees one device, whatever there are. A runtime that is starting is told the truth: it would notice.

use cutap_hook::{Call, DRIVER, Handler, RUNTIME, Wants, hook};

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

fn wants(wants: &Wants) {
    // Two are always taken.
    let _ = wants.function(DRIVER, c"cuDeviceGetCount", &COUNT);
    let _ = wants.function(RUNTIME, c"cudaGetDeviceCount", &COUNT);
}
hook!(wants);
