//! The library that CUDA_INJECTION64_PATH names. cuInit loads it, as the real driver does, so that a profiler starts
//! with the driver.

use cutap_machine::variable;
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};

/// Loads the library and calls its InitializeInjection. Only the first call of a process does it. A library that cannot
/// be loaded is ignored. No lock may be held, because the library calls the driver.
pub fn load() {
    static DONE: AtomicBool = AtomicBool::new(false);
    if DONE.swap(true, Ordering::AcqRel) {
        return;
    }
    let path = variable(c"CUDA_INJECTION64_PATH").filter(|path| !path.is_empty() && path != "none");
    let Some(path) = path.and_then(|path| CString::new(path).ok()) else { return };
    // SAFETY: the program asked for the library. By the contract of injections the function takes no argument.
    unsafe {
        let library = libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        if library.is_null() {
            return;
        }
        let initialize = libc::dlsym(library, c"InitializeInjection".as_ptr());
        if !initialize.is_null() {
            std::mem::transmute::<*mut libc::c_void, extern "C" fn() -> i32>(initialize)();
        }
    }
}
