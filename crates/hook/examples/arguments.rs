//! Every way to read and to change an argument, by name and by number, and results that are floats; only functions of
//! libraries.

use cutap_hook::{Call, DRIVER, Handler, LIBRARY, RUNTIME, Refused, Registrar, hook};
use std::io::{Write, stdout};

static NORMAL: Handler = Handler::before(normal);
static GEMM: Handler = Handler::before(gemm);
static DOT: Handler = Handler::both(dot, dotted);
static WORDS: Handler = Handler::before(words);

fn say(text: String) {
    // `println!` would end the program where its output is closed.
    let _ = writeln!(stdout(), "hook: {text}");
}

fn normal(call: &mut Call) {
    let (name, parameters) =
        (call.function().name().to_string_lossy().into_owned(), call.function().parameters().len());
    let same = !call.pointer_at::<u8>(0).is_null() && call.pointer::<u8>("outputPtr") == call.pointer_at(1);
    let mean = call.function().index("mean").map_or(0.0, |n| call.float_at(n));
    let (mut n, stddev) = ([0; 8], call.float("stddev"));
    let read = call.read_at(2, &mut n);
    let n = if read == Ok(()) { u64::from_ne_bytes(n) } else { 0 };
    say(format!("{name} same {} n={n} mean={mean} stddev={stddev} of {parameters}", i32::from(same)));
    let changed = [call.set_float("mean", 2.5), call.set_float_at(4, 0.5), call.write_at(2, &9u64.to_ne_bytes())];
    if changed != [Ok(()); 3] {
        say(format!("not changed: {changed:?}"));
    }
}

fn gemm(call: &mut Call) {
    // SAFETY: the program gives cuBLAS scalars of the host.
    let (alpha, beta) = unsafe { (*call.pointer::<f32>("alpha"), *call.pointer_at::<f32>(11)) };
    let none = if call.set("nothing", 1) == Err(Refused::NoParam) { -1 } else { 0 };
    say(format!("gemm m={} ldc={} alpha={alpha} beta={beta} none={none}", call.signed("m"), call.signed_at(13)));
    let _ = (call.set("ldc", 1), call.set_at(10, 2));
}

fn is_float(call: &Call) -> bool {
    call.function().name() == c"cublasSdot"
}

fn dot(call: &mut Call) {
    if call.signed("n") == -1 {
        let _ = if is_float(call) { call.return_float(2.5) } else { call.return_double(-0.1) };
    }
}

fn dotted(call: &mut Call) {
    if is_float(call) {
        say(format!("incx={} result {}", call.signed("incx"), call.result_float()));
    } else {
        say(format!("incx={} result {}", call.signed_at(2), call.result_double()));
    }
}

fn words(call: &mut Call) {
    let [a, b] = [0, 1].map(|n| call.raw_arg(n) as i64);
    say(format!("words {a} {b} of {}", call.function().parameters().len()));
}

/// `HOOK_NO`: it wants a function without a name, and what is wrong with that is its answer.
fn register(registrar: &Registrar) -> Result<(), Refused> {
    registrar.register_for(LIBRARY, Some(c"libcurand.so*"), c"curandGenerateNormal*", &NORMAL)?;
    registrar.register(LIBRARY, c"cublasSgemm_v?", &GEMM)?;
    registrar.register(LIBRARY, c"cublas?dot", &DOT)?;
    registrar.register(LIBRARY, c"curandFixtureTwoWords", &WORDS)?;
    // Of other layers none of these is called.
    registrar.register(DRIVER | RUNTIME, c"cublas*", &GEMM)?;
    if registrar.environment(c"HOOK_NO").is_some() { registrar.register(DRIVER, c"", &GEMM) } else { Ok(()) }
}
hook!(register);
