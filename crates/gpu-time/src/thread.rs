//! The one thread of this library. It asks for rows once a second. All its signals are blocked.

use core::ffi::c_void;

/// Starts the thread. `run` never returns. False if the process may have no more threads.
pub fn start(run: extern "C" fn(*mut c_void) -> *mut c_void) -> bool {
    // SAFETY: calls of libc on sets and attributes of this stack. The new thread inherits the blocked signals, and the
    // mask of this thread is restored.
    unsafe {
        let (mut all, mut old) = (core::mem::zeroed::<libc::sigset_t>(), core::mem::zeroed::<libc::sigset_t>());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old);
        let mut attributes = core::mem::zeroed::<libc::pthread_attr_t>();
        let mut thread = core::mem::zeroed::<libc::pthread_t>();
        libc::pthread_attr_init(&mut attributes);
        libc::pthread_attr_setdetachstate(&mut attributes, libc::PTHREAD_CREATE_DETACHED);
        let result = libc::pthread_create(&mut thread, &attributes, run, core::ptr::null_mut());
        libc::pthread_attr_destroy(&mut attributes);
        libc::pthread_sigmask(libc::SIG_SETMASK, &old, core::ptr::null_mut());
        result == 0
    }
}

pub fn sleep_one_second() {
    let time = libc::timespec { tv_sec: 1, tv_nsec: 0 };
    // SAFETY: a plain call. A shorter sleep does no harm.
    unsafe { libc::nanosleep(&time, core::ptr::null_mut()) };
}
