//! Sleeping in the middle of a call.

use crate::table::File;

/// A delay that lasts as long as its rule.
pub const FOR_EVER: u64 = u64::MAX;
/// How often a thread whose delay has no end looks whether its rule still holds.
const GLANCE: u64 = 10_000_000;

/// Sleeps so many nanoseconds. After a signal it sleeps what remains.
pub fn sleep(nanoseconds: u64) {
    const SECOND: u64 = 1_000_000_000;
    let mut time = libc::timespec { tv_sec: (nanoseconds / SECOND) as i64, tv_nsec: (nanoseconds % SECOND) as i64 };
    // No call of libc's nanosleep, at which a thread may be cancelled in the middle of a hook.
    // SAFETY: a time that is read, and written with what remains.
    while unsafe { libc::syscall(libc::SYS_nanosleep, &raw const time, &raw mut time) } != 0 {
        // SAFETY: this thread's errno.
        if unsafe { *libc::__errno_location() } != libc::EINTR {
            return;
        }
    }
}

/// Sleeps so long, or while the rules of this generation hold.
pub fn delay(file: &File, generation: u64, nanoseconds: u64) {
    if nanoseconds != FOR_EVER {
        return sleep(nanoseconds);
    }
    while file.generation() == generation {
        sleep(GLANCE);
    }
}

/// Runs with the program's errno kept.
pub fn with_errno(act: impl FnOnce()) {
    // SAFETY: this thread's errno.
    let errno = unsafe { *libc::__errno_location() };
    act();
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}
