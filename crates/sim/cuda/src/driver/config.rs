//! What the environment says about the simulated machine (`crates/sim/machine`), and this library's own stay in the process.

pub use cutap_machine::config;

/// One more open on this library, never closed: for as long as a thread of ours runs in it.
pub fn stay_loaded() {
    // SAFETY: dladdr fills `info` from an address of ours; dlopen of a library that is loaded only counts it up.
    unsafe {
        let mut info = std::mem::zeroed::<libc::Dl_info>();
        let here = stay_loaded as fn() as *const libc::c_void;
        if libc::dladdr(here, &mut info) != 0 && !info.dli_fname.is_null() {
            libc::dlopen(info.dli_fname, libc::RTLD_NOW | libc::RTLD_NOLOAD);
        }
    }
}
