//! The injection that the user of cutap named. libcuda loads one alone, so this one loads the other.

use core::ffi::c_int;

/// Loads it as libcuda does: the library, and then its function of this name.
pub fn load() {
    // SAFETY: C strings; the function has this type by libcuda's contract. The library is never closed.
    unsafe {
        let path = libc::getenv(c"CUTAP_INJECTION64_PATH".as_ptr());
        if path.is_null() {
            return;
        }
        let library = libc::dlopen(path, libc::RTLD_NOW);
        if library.is_null() {
            return;
        }
        let function = libc::dlsym(library, c"InitializeInjection".as_ptr());
        if !function.is_null() {
            core::mem::transmute::<*mut core::ffi::c_void, unsafe extern "C" fn() -> c_int>(function)();
        }
    }
}
