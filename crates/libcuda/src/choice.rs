//! Which machine this library drives: the folder in which its file lies says it. See
//! `docs/decisions/031-one-library-two-engines.md`.

use cutap_driver::engine::{Machine, join, refused};
use cutap_gpu_engine::Gpus;
use cutap_sim::Simulated;
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The name of the folder with the library that drives GPUs.
const FOLDER_OF_GPUS: &str = "cudest";

// SAFETY: the loader calls each function in .init_array once, when it has loaded the library. None of its arguments is
// read.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = at_start;

extern "C" fn at_start() {
    join(make_machine);
}

fn make_machine() -> Box<dyn Machine> {
    if is_in_folder_of_gpus() {
        refused::report_at_exit();
        Box::new(Gpus::find())
    } else {
        Box::new(Simulated::from_settings())
    }
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
