//! The hook by which the simulated CUPTI learns of submitted work.

use cutap_machine::{Profiler, SubmittedCall, SubmittedWork};

/// See [`Profiler`]. crates/sim/cupti finds it by its name.
#[unsafe(no_mangle)]
pub static CUTAP_SIM_PROFILER: Profiler = Profiler::new();

/// Whether work is reported.
pub fn is_registered() -> bool {
    CUTAP_SIM_PROFILER.listener().is_some()
}

/// Reports the work of a call. `function` is its callback id.
pub fn report(function: u32, works: &[SubmittedWork]) {
    if let Some(listener) = CUTAP_SIM_PROFILER.listener() {
        listener(&SubmittedCall { function, works: works.as_ptr(), count: works.len() });
    }
}
