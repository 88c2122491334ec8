//! The injection that takes GPU times (`crates/gpu-time`), as this library sees it: what it calls before the
//! program profiles, and whether rows are wanted now. CUPTI has one receiver of records, so the two cannot both have
//! it, and the program's own profiler goes first.

use super::{own, run, switch};
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering::*};
use cutap_wire::control;
use cutap_wire::rows::wanted;

/// Argument: the call that follows is refused where CUPTI's global family was used.
type StepAside = unsafe extern "C" fn(u32);

static STEP_ASIDE: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());
/// The program has called a profiler's function.
static PROFILED: AtomicBool = AtomicBool::new(false);

/// The run has GPU times.
pub fn is_on() -> bool {
    run::flags() & control::GPU_TIME != 0
}

/// libcuda's question for an injection is answered. Else the environment names the injection.
pub fn is_answered() -> bool {
    run::flags() & control::GPU_TIME_ANSWERED != 0
}

/// The function of the injection that ends its collection. It may be called at any time from now on.
pub fn attach(step_aside: StepAside) {
    STEP_ASIDE.store(step_aside as *mut (), SeqCst);
}

/// An address inside the injection; 0 before it is there.
pub fn address() -> usize {
    STEP_ASIDE.load(Acquire) as usize
}

/// Whether rows are wanted now: one of `wire::rows::wanted`.
pub fn wanted_state() -> u32 {
    match switch::here().flags.load(Relaxed) & control::GPU_TIME_OFF {
        _ if PROFILED.load(SeqCst) => wanted::BY_PROGRAM,
        0 => wanted::YES,
        _ => wanted::NO,
    }
}

/// Before a call by which the program profiles. One of the two sides sees the other: this one the function, or the
/// injection that the program was first.
pub fn program_profiles(needs_own_subscriber: bool) {
    if !PROFILED.swap(true, SeqCst) && own::is_made() {
        switch::here().flags.fetch_or(control::GPU_TIME_TAKEN, Relaxed);
    }
    let step_aside = STEP_ASIDE.load(SeqCst);
    if !step_aside.is_null() {
        // SAFETY: only `attach` writes the word. The injection is never unloaded.
        unsafe { core::mem::transmute::<*mut (), StepAside>(step_aside)(needs_own_subscriber.into()) };
    }
}
