//! The run as this process sees it: whether there is one, its control page, and what that says. How far the start has
//! come is here; the start itself is in `begin`.

use super::environment;
use super::path::{self, Path};
use super::state::{NOT_YET, RUNNING};
use crate::sys;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};
use cutap_wire::control::{self, Control};
use cutap_wire::{MAGIC, PAGE, VERSION};

/// How far the start has come: see `state`.
pub static STATE: AtomicU32 = AtomicU32::new(NOT_YET);
static CONTROL: AtomicPtr<Control> = AtomicPtr::new(core::ptr::null_mut());

/// True once started with a run directory. It starts nothing.
pub fn is_running() -> bool {
    STATE.load(Acquire) == RUNNING
}

/// The control page is mapped.
pub fn set_control(page: *mut Control) {
    CONTROL.store(page, Release);
}

/// The control page.
#[inline(always)]
pub fn control() -> Option<&'static Control> {
    // SAFETY: null or mapped permanently.
    unsafe { CONTROL.load(Relaxed).as_ref() }
}
/// Bits of `wire::control`.
pub fn flags() -> u64 {
    control().map_or(0, |c| c.flags.load(Relaxed))
}
pub fn chunk_bytes() -> u32 {
    control().map_or(65536, |c| c.chunk_bytes).clamp(PAGE as u32, 1 << 24) & !(PAGE as u32 - 1)
}
/// Chunks before a writer waits.
pub fn max_chunks() -> u32 {
    control().map_or(64, |c| c.max_chunks.load(Relaxed))
}
/// Bytes of a caller's stack that are kept; 0: none.
pub fn stack_bytes() -> usize {
    control().map_or(0, |c| c.stack_bytes as usize).min(control::STACK_MOST)
}
/// Of which functions: rules.
pub fn stack_rules(c: &Control) -> &[u8] {
    c.stack_rules.get(..c.stack_rules_len as usize).unwrap_or(&[])
}

/// Takes over the path of the run directory, if the environment has one.
pub fn run_named(environment: *const *const u8) -> bool {
    environment::find(environment, control::ENV_RUN.as_bytes()).is_some_and(path::set_run)
}

/// The run's control page, as `map` maps it.
pub fn mapped_page(map: impl FnOnce(&sys::File) -> Option<*mut Control>) -> Option<*mut Control> {
    let mut file = Path::run();
    file.push(b"/").push(control::FILE.as_bytes());
    // A file too short would be SIGBUS, so its length is asked first.
    let whole = |file: &sys::File| file.read(&mut [0; PAGE]) == PAGE;
    sys::with(file.bytes(), &[sys::Open::ReadWrite], |file| if whole(file) { map(file) } else { None }).flatten()
}

/// Whether it is a page of this version, whose run wants this process.
///
/// # Safety
/// It is null or mapped.
pub unsafe fn wants_us(page: *const Control) -> bool {
    // SAFETY: the caller's promise.
    !page.is_null() && unsafe { (*page).magic == MAGIC && (*page).version == VERSION && is_followed(&*page) }
}

/// Maps the page by which the collector knows that somebody of the run lives, whatever /proc tells; never touched.
pub fn keep_alive() {
    let mut path = Path::run();
    path.push(b"/").push(control::ALIVE.as_bytes());
    sys::with(path.bytes(), &[sys::Open::AtOnce], |file| file.map_closed(0, PAGE));
}

/// Whether this process is to be traced: under --no-follow-children only the first one is, through exec too.
fn is_followed(c: &Control) -> bool {
    if c.flags.load(Relaxed) & control::NO_FOLLOW == 0 {
        return true;
    }
    let me = sys::getpid();
    c.first_pid.compare_exchange(0, me, AcqRel, Acquire).is_ok() || c.first_pid.load(Acquire) == me
}
