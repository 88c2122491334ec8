//! The file of the tool that was named before cutap. It is kept at the start: a program may write over the memory that
//! the environment was in, as setproctitle does, before its first range.

use crate::process::environment;
use crate::process::path::Shared;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicUsize, Ordering::*};
use cutap_wire::control::ENV_OTHER_NVTX;

/// PATH_MAX of Linux: no longer path can be opened.
const LONGEST: usize = 4096;

static PATH: Shared<[u8; LONGEST]> = Shared(UnsafeCell::new([0; LONGEST]));
/// Bytes of it; 0: none is kept.
static LENGTH: AtomicUsize = AtomicUsize::new(0);

/// Keeps the path. It is called once, before the program runs.
pub fn keep() {
    let Some(path) = in_environment().filter(|path| path.len() < LONGEST) else { return };
    // SAFETY: see `Shared`; nothing reads it before `LENGTH` is set. A zero stays behind the path.
    let path_bytes = unsafe { &mut *PATH.0.get() };
    path_bytes.iter_mut().zip(path).for_each(|(to, from)| *to = *from);
    LENGTH.store(path.len(), Release);
}

fn in_environment() -> Option<&'static [u8]> {
    environment::find(environment::before_libc(), ENV_OTHER_NVTX.as_bytes())
}

/// The path, with a zero behind it. In a process that is not recorded none was kept, and the environment has it.
pub fn find() -> Option<&'static [u8]> {
    match LENGTH.load(Acquire) {
        0 => in_environment(),
        // SAFETY: see `Shared`; it is not written again.
        length => unsafe { &*PATH.0.get() }.get(..length),
    }
}
