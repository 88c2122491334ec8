//! Which machine this library drives: the folder in which its file lies says it. See
//! `docs/decisions/031-one-library-two-engines.md`.

use super::gpu::Gpus;
use super::simulated::Simulated;
use super::{Machine, refused};
use cutap_machine::FirstUse;
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The name of the folder with the library that drives GPUs.
const FOLDER_OF_GPUS: &str = "cudest";

/// The machine. It is chosen at the first use, and never again.
pub fn machine() -> &'static dyn Machine {
    static MACHINE: FirstUse<Box<dyn Machine>> = FirstUse::empty();
    let create = || -> Box<dyn Machine> {
        if is_in_folder_of_gpus() {
            refused::report_at_exit();
            Box::new(Gpus::new())
        } else {
            Box::new(Simulated::new())
        }
    };
    &**MACHINE.get(create).0
}

fn is_in_folder_of_gpus() -> bool {
    // SAFETY: dladdr fills `info` from an address in this library; the name is a C string of the loader.
    let file = unsafe {
        let mut info = std::mem::zeroed::<libc::Dl_info>();
        let here = is_in_folder_of_gpus as fn() -> bool as *const libc::c_void;
        if libc::dladdr(here, &mut info) == 0 || info.dli_fname.is_null() {
            return false;
        }
        CStr::from_ptr(info.dli_fname)
    };
    let folder = Path::new(OsStr::from_bytes(file.to_bytes())).parent().and_then(Path::file_name);
    folder == Some(OsStr::new(FOLDER_OF_GPUS))
}
