//! The injection that the user of cutap named. libcuda loads one alone, so this one loads the other.

use core::ffi::{CStr, c_char, c_int};
use cutap_calls::generated::gpu_time::NO_INJECTION;
use cutap_wire::rows::INJECTION_FILE;

/// Loads it as libcuda does: the library, and then its function of this name.
pub fn load() {
    let Some(path) = path() else { return };
    // SAFETY: C strings; the function has this type by libcuda's contract. The library is never closed.
    unsafe {
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

/// Its path. libcuda's variable names it, or this library; then the second variable may name it.
fn path() -> Option<*const c_char> {
    [c"CUDA_INJECTION64_PATH", c"CUTAP_INJECTION64_PATH"].into_iter().find_map(|name| {
        // SAFETY: a C string. The result is NULL or a C string in the environment.
        let value = unsafe { libc::getenv(name.as_ptr()) };
        // SAFETY: as above.
        (!value.is_null() && is_other(unsafe { CStr::from_ptr(value) }.to_bytes())).then_some(value.cast_const())
    })
}

/// Whether a value of libcuda's variable names another injection.
fn is_other(value: &[u8]) -> bool {
    !value.is_empty()
        && value != NO_INJECTION.as_bytes()
        && value.rsplit(|byte| *byte == b'/').next() != Some(INJECTION_FILE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_name_another_injection() {
        let values: [&[u8]; 5] = [b"", b"none", b"/a/libcutap_gpu_time.so", b"/a/libother.so", b"libother.so"];
        assert_eq!(values.map(is_other), [false, false, false, true, true]);
    }
}
