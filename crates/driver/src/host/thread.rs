//! The driver's own thread, and the library's stay in the process while that thread runs.

use crate::abi::{Answer, Fault};

/// Starts a thread. It blocks all signals, and the library is never unloaded from then on. OUT_OF_MEMORY where the
/// process may have no more threads.
pub fn start(run: fn()) -> Answer {
    stay_loaded();
    let thread = without_signals(|| std::thread::Builder::new().name("cutap-sim".to_owned()).spawn(run));
    thread.map(drop).map_err(|_| Fault::OUT_OF_MEMORY)
}

/// Runs code while this thread receives no signals. A thread that the code starts inherits that.
pub fn without_signals<T>(code: impl FnOnce() -> T) -> T {
    // SAFETY: plain calls on signal sets that live on this stack; the mask of this thread is restored.
    unsafe {
        let (mut all, mut old) = (std::mem::zeroed::<libc::sigset_t>(), std::mem::zeroed::<libc::sigset_t>());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old);
        let result = code();
        libc::pthread_sigmask(libc::SIG_SETMASK, &old, std::ptr::null_mut());
        result
    }
}

/// Opens this library once more and never closes it.
fn stay_loaded() {
    // SAFETY: dladdr fills `info` from an address in this library; dlopen of a loaded library only counts it up.
    unsafe {
        let mut info = std::mem::zeroed::<libc::Dl_info>();
        let here = stay_loaded as fn() as *const libc::c_void;
        if libc::dladdr(here, &mut info) != 0 && !info.dli_fname.is_null() {
            libc::dlopen(info.dli_fname, libc::RTLD_NOW | libc::RTLD_NOLOAD);
        }
    }
}
