//! Arguments in a trace, as golden text: programs of `tests/programs/values` that call the driver with its own header, on the
//! simulated driver.

use crate::forum::{build_in, golden_in, traced};
use crate::real::{sim, wheel};

/// The trace of a program, which says that it is done, is that golden text.
fn case(name: &str, source: &str, filter: &str) {
    if let Some(text) = trace(source, filter) {
        golden_in("values", name, &text);
    }
}

/// The trace of a program; none without the headers.
fn trace(source: &str, filter: &str) -> Option<String> {
    let wheel = wheel("cudart", "13.5")?;
    let include = format!("-I{}", wheel.join("include").display());
    let driver = format!("{}/libcuda.so.1", sim());
    let program = build_in("values", &format!("{source}.c"), source, &[&include, &driver]);
    let (run, text) = traced(&[&program], None, filter);
    assert_eq!(run.stdout, "done\n", "{text}");
    Some(text)
}

#[test]
fn handles_and_memory_that_are_no_more() {
    case("ended", "ended", "driver");
}

#[test]
fn handles_whose_making_was_not_recorded() {
    case("ended_unseen", "ended", "driver,!cuStreamCreate*,!cuMemAlloc*");
}

#[test]
fn lengths_and_unions() {
    // The handle has the process's number in it.
    case("lengths", "lengths", "driver,!cuIpcGetMemHandle");
    let Some(text) = trace("lengths", "cuIpcGetMemHandle") else { return };
    assert!(text.starts_with("cuIpcGetMemHandle(pHandle=&{reserved="), "{text}");
}

#[test]
fn kernel_parameters_of_ptx() {
    case("ptx", "ptx", "cuLaunch*,cuMemAlloc*,cuCtx*,cuDevicePrimary*");
}
