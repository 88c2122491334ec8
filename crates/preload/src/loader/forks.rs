//! What libc reports before and after a fork: the loader's list and the page of switches must be in order then.

use crate::loader::list;
use crate::process::{own, run};
use crate::sys::{self, allowed};
use core::sync::atomic::AtomicU32;

/// Has libc report each fork, from now on.
pub fn watch() {
    static WATCHED: AtomicU32 = AtomicU32::new(0);
    if run::is_running()
        && sys::take(&WATCHED, sys::gettid())
        && let Some(register) = sys::libc::register_atfork()
    {
        // SAFETY: functions of ours, which stay.
        unsafe { register(Some(before_fork), Some(in_parent), Some(in_child), core::ptr::null_mut()) };
    }
}

/// Called by libc.
unsafe extern "C" fn before_fork() {
    own::look_before_fork();
    list::before_fork();
}

unsafe extern "C" fn in_parent() {
    list::after_fork();
}

/// Called by libc in a forked child.
unsafe extern "C" fn in_child() {
    allowed::forked();
    list::after_fork_in_child();
    let signals = sys::block_signals();
    own::in_child();
    sys::restore_signals(signals);
}
