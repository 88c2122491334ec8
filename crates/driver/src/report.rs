//! The number of calls of exports that have only the default answer. A debugger or cutap reads it through
//! CUTAP_SIM_COUNTS. With CUTAP_SIM_REPORT=1 it is printed when the process ends. CUTAP_SIM_HIDDEN names a file, to
//! which the number of calls of each known slot of a hidden table is written then.

use crate::abi::lifecycle;
use crate::counts::{COUNTS, HIDDEN};
use crate::driver::device::with_number;
use crate::generated::DEFAULTS;
use crate::state::driver_state;
use crate::tables;
use cutap_machine::{print_to_stderr, variable};
use std::sync::atomic::{AtomicU64, Ordering};

/// The counters of the default answers, for a reader in another library or process. `counts[i]` is the number of
/// calls of the function `names[i]`, for i below `len`. crates/sim/nvml relies on the order of these fields.
#[repr(C)]
pub struct Counts {
    pub len: u64,
    /// Names, each a pointer and a length.
    pub names: &'static [&'static str; DEFAULTS.len()],
    /// A counter for each name.
    pub counts: &'static [AtomicU64; DEFAULTS.len()],
    /// Calls of unknown slots of hidden tables.
    pub hidden: &'static AtomicU64,
    /// The bytes that this process uses on a device of the machine, or -1 if it has no context there. For the simulated
    /// NVML.
    pub in_use: extern "C" fn(i32) -> i64,
}

extern "C" fn in_use(number: i32) -> i64 {
    if lifecycle::require_started().is_err() {
        return -1;
    }
    let Some(ordinal) = with_number(number) else { return -1 };
    let state = driver_state();
    let here = state.context.contexts.values().any(|c| c.device == ordinal);
    if here { state.memory.used.get(&ordinal).copied().unwrap_or(0) as i64 } else { -1 }
}

/// See [`Counts`].
#[unsafe(no_mangle)]
pub static CUTAP_SIM_COUNTS: Counts =
    Counts { len: DEFAULTS.len() as u64, names: &DEFAULTS, counts: &COUNTS, hidden: &HIDDEN, in_use };

// SAFETY: the loader calls each function in .fini_array once, without an argument, when the library or the process
// ends.
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_END: extern "C" fn() = at_end;

extern "C" fn at_end() {
    if let Some(file) = variable(c"CUTAP_SIM_HIDDEN") {
        let lines: String = tables::called().into_iter().map(|(slot, calls)| format!("{slot} {calls}\n")).collect();
        if let Err(error) = std::fs::write(&file, lines) {
            print_to_stderr(&format!("cutap-sim: cannot write {file}: {error}; CUTAP_SIM_HIDDEN names a file"));
        }
    }
    if variable(c"CUTAP_SIM_REPORT").is_none_or(|v| v != "1") {
        return;
    }
    let mut called: Vec<(&str, u64)> =
        DEFAULTS.iter().zip(&COUNTS).map(|(n, c)| (*n, c.load(Ordering::Relaxed))).filter(|(_, c)| *c > 0).collect();
    let hidden = HIDDEN.load(Ordering::Relaxed);
    if hidden > 0 {
        called.push(("unknown slots of hidden tables", hidden));
    }
    called.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let total: u64 = called.iter().map(|(_, count)| count).sum();
    let list: Vec<String> = called.iter().map(|(name, count)| format!("{name} x{count}")).collect();
    let colon = if list.is_empty() { "" } else { ": " };
    print_to_stderr(&format!("cutap-sim: {total} calls answered by default{colon}{}", list.join(", ")));
}
