//! What people ask for in forums: something before and something after each cudaMalloc, of shared and linked-in
//! runtimes.

use cutap_hook::{Call, Handler, RUNTIME, Registrar, hook};
use std::io::{Write, stdout};

static MALLOC: Handler = Handler::both(before, after);

fn before(call: &mut Call) {
    let size = call.unsigned("size");
    *call.user_data() = size;
    // `println!` would end the program where its output is closed.
    let _ = writeln!(stdout(), "before cudaMalloc of {size} bytes");
}

fn after(call: &mut Call) {
    let (size, code) = (*call.user_data(), call.result() as i32);
    let place = call.pointer::<usize>("devPtr");
    // SAFETY: the call has succeeded, so the runtime has just written there.
    let memory = code == 0 && unsafe { place.read_unaligned() } != 0;
    let what = if memory { "memory" } else { "nothing" };
    let _ = writeln!(stdout(), "after cudaMalloc of {size} bytes: {code}, {what}");
}

fn register(registrar: &Registrar) {
    // One want is always taken.
    let _ = registrar.register(RUNTIME, c"cudaMalloc", &MALLOC);
}
hook!(register);
