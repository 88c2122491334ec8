//! A tool for NVTX that a copy looks up although the environment named this library: another preload or the program has
//! changed the variable meanwhile. The copy gets our function instead, which asks the tool first, as it asks one that
//! was named before cutap.

use crate::loader::live;
use crate::process::environment;
use crate::sys;
use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::*};
use cutap_wire::control::ENV_NVTX;

/// The functions that copies of NVTX look for.
const INITIALIZERS: [&CStr; 2] = [c"InitializeInjectionNvtx2", c"InitializeInjectionNvtx"];

/// Threads that may be inside a tool's initializer at one time.
const THREADS: usize = 8;

/// Ours.
static ENTRIES: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
/// Those of the tool.
static TOOLS: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
static INSIDE: [AtomicU32; THREADS] = [const { AtomicU32::new(0) }; THREADS];
static ARE_WANTED: AtomicBool = AtomicBool::new(false);

/// Said once, with our functions in the order of `INITIALIZERS`.
pub fn set_entries(entries: [usize; 2]) {
    for (to, from) in ENTRIES.iter().zip(entries) {
        to.store(from, Relaxed);
    }
}

/// Ranges are wanted if the variable names this library, as LD_PRELOAD does.
pub fn start() {
    let environment = environment::before_libc();
    let named = environment::find(environment, ENV_NVTX.as_bytes()).filter(|path| !path.is_empty());
    let preloads = environment::find(environment, b"LD_PRELOAD").unwrap_or(b"");
    let is_ours = |path: &[u8]| preloads.split(|byte| matches!(byte, b':' | b' ')).any(|of| of == path);
    ARE_WANTED.store(named.is_some_and(is_ours), Release);
}

/// Ours instead of a tool's initializer, which is being looked up. None: it is another function, or the tool itself
/// looks for it.
pub fn replacement(found: usize, name: &[u8]) -> Option<usize> {
    if !name.starts_with(b"InitializeInjectionNvtx") || !ARE_WANTED.load(Acquire) {
        return None;
    }
    let which = INITIALIZERS.iter().position(|initializer| initializer.to_bytes() == name)?;
    let entry = ENTRIES.get(which)?.load(Relaxed);
    if entry == 0 || found == entry || is_inside() {
        return None;
    }
    // A second tool has its copy alone.
    match TOOLS.get(which)?.compare_exchange(0, found, AcqRel, Acquire) {
        Ok(_) => Some(entry),
        Err(before) => (before == found).then_some(entry),
    }
}

/// This thread is in a tool's initializer.
fn is_inside() -> bool {
    let thread = sys::gettid();
    INSIDE.iter().any(|of| of.load(Acquire) == thread)
}

/// The tool's function, if its library is still loaded. None inside a tool: it would be called by itself.
pub fn initializer(name: &CStr) -> Option<usize> {
    let which = INITIALIZERS.iter().position(|initializer| *initializer == name)?;
    let function = Some(TOOLS.get(which)?.load(Acquire)).filter(|function| *function != 0 && !is_inside())?;
    live::at(function, |_| ()).map(|()| function)
}

/// Calls a tool's initializer: what it looks up meanwhile is not replaced.
pub fn calling<R>(act: impl FnOnce() -> R) -> R {
    let thread = sys::gettid();
    let place = INSIDE.iter().find(|of| of.compare_exchange(0, thread, AcqRel, Relaxed).is_ok());
    let result = act();
    if let Some(place) = place {
        place.store(0, Release);
    }
    result
}
