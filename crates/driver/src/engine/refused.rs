//! What this driver refused on a GPU: function, how often, the first caller, and why. The list is printed when the
//! process ends.

use crate::abi::{Answer, Fault};
use crate::generated::GPU_LIMITS;
use cutap_machine::print_to_stderr;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

struct Refusal {
    count: u64,
    caller: String,
    why: String,
}

static REFUSED: Mutex<BTreeMap<String, Refusal>> = Mutex::new(BTreeMap::new());
static IS_REPORTED: AtomicBool = AtomicBool::new(false);

/// From now on the list is printed at the end of the process.
pub fn report_at_exit() {
    IS_REPORTED.store(true, Ordering::Release);
}

/// Whether calls are listed.
pub fn is_reported() -> bool {
    IS_REPORTED.load(Ordering::Acquire)
}

/// Refuses a call that this driver has on simulated devices alone.
pub fn on_gpus(function: &str) -> Answer {
    if !is_reported() {
        return Ok(());
    }
    count(function, reason(function), None);
    Err(Fault::NOT_SUPPORTED)
}

/// What is missing for a function (`api/driver/gpu-limits.toml`).
fn reason(function: &str) -> &'static str {
    let place = GPU_LIMITS.binary_search_by_key(&function, |(name, _)| *name).ok();
    place.and_then(|place| GPU_LIMITS.get(place)).map_or("it is not made", |(_, why)| why)
}

/// Counts a refused call. `address` is in the code that called; without one the unwinder is asked.
pub fn count(function: &str, why: &str, address: Option<u64>) {
    if !is_reported() {
        return;
    }
    let mut all = REFUSED.lock().unwrap_or_else(PoisonError::into_inner);
    let first = || Refusal { count: 0, caller: place_of(address.unwrap_or_else(caller)), why: why.to_owned() };
    all.entry(function.to_owned()).or_insert_with(first).count += 1;
}

unsafe extern "C" {
    fn _Unwind_Backtrace(trace: extern "C" fn(*mut c_void, *mut u64) -> i32, caller: *mut u64) -> i32;
    fn _Unwind_GetIP(frame: *mut c_void) -> u64;
}

/// The address behind the call of this library, by the unwinder. It is asked once for a refused function.
fn caller() -> u64 {
    /// Any result but 0 ends the walk.
    const STOP: i32 = 4;
    extern "C" fn step(frame: *mut c_void, caller: *mut u64) -> i32 {
        // SAFETY: the unwinder passes its frame, and the pointer that it got below.
        unsafe {
            let address = _Unwind_GetIP(frame);
            if base_of(address) == base_of(step as *const () as u64) {
                return 0;
            }
            *caller = address;
        }
        STOP
    }
    let mut address = 0;
    // SAFETY: `step` follows the unwinder's rules, and `address` outlives the walk.
    unsafe { _Unwind_Backtrace(step, &mut address) };
    address
}

/// Where the library of an address begins; 0 for none.
fn base_of(address: u64) -> u64 {
    // SAFETY: dladdr fills `info` for any address.
    unsafe {
        let mut info = std::mem::zeroed::<libc::Dl_info>();
        if libc::dladdr(address as *const c_void, &mut info) == 0 { 0 } else { info.dli_fbase as u64 }
    }
}

/// The library and the offset in it of an address.
fn place_of(address: u64) -> String {
    // SAFETY: dladdr fills `info` for any address; the name is a C string of the loader.
    unsafe {
        let mut info = std::mem::zeroed::<libc::Dl_info>();
        if address == 0 || libc::dladdr(address as *const c_void, &mut info) == 0 || info.dli_fname.is_null() {
            return String::new();
        }
        let file = CStr::from_ptr(info.dli_fname).to_string_lossy();
        let name = file.rsplit('/').next().unwrap_or_default();
        // A frame of cutap hides the caller; a stack of the trace names it. The driver's thread was called by libc.
        if name == "libcutap_preload.so" || name.starts_with("libc.so") || name.starts_with("libpthread.so") {
            return String::new();
        }
        format!(", first by {name}+{:#x}", address - info.dli_fbase as u64)
    }
}

// SAFETY: the loader calls each function in .fini_array once, without an argument, when the library or the process
// ends.
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_END: extern "C" fn() = at_end;

extern "C" fn at_end() {
    // A thread that counts now does not continue.
    let Ok(all) = REFUSED.try_lock() else { return };
    for (function, Refusal { count, caller, why }) in all.iter().take(100) {
        let times = if *count == 1 { "once".to_owned() } else { format!("{count} times") };
        print_to_stderr(&format!("cutap-cudest: {function} was refused {times}{caller}: {why}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// Each refused function has its reason in the table.
    #[test]
    fn reasons() {
        fn search(folder: &Path, names: &mut Vec<String>) {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                if entry.path().is_dir() {
                    search(&entry.path(), names);
                    continue;
                }
                let text = std::fs::read_to_string(entry.path()).unwrap();
                let calls = text.split("on_gpus(\"").skip(1);
                names.extend(calls.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
            }
        }
        let mut names = vec!["cuTexObjectCreate".to_owned(), "cuSurfObjectCreate".to_owned()];
        search(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/api"), &mut names);
        assert!(names.len() > 8, "{names:?}");
        for name in names {
            assert_ne!(reason(&name), "it is not made", "{name}");
        }
    }
}
