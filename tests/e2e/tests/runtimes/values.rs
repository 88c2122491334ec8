//! Arguments in a trace, as golden text: programs of `tests/programs/values` that call the driver with its own header, on the
//! simulated driver.

use crate::forum::{build_in, golden_in, traced};
use crate::real::{sim, wheel};

/// The trace of a program, which says that it is done, is that golden text.
fn case(name: &str, source: &str, filter: &str) {
    let Some(wheel) = wheel("cudart", "13.5") else { return };
    let include = format!("-I{}", wheel.join("include").display());
    let driver = format!("{}/libcuda.so.1", sim());
    let program = build_in("values", &format!("{source}.c"), name, &[&include, &driver]);
    let (run, text) = traced(&[&program], None, filter);
    assert_eq!(run.stdout, "done\n", "{text}");
    golden_in("values", name, &text);
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
    case("lengths", "lengths", "driver,!cuGetProcAddress*");
}
