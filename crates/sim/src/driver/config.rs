//! What the environment says about the simulated machine; read once, at the first cuInit.
//!
//! CUTAP_SIM_DEVICES 1 to 8, CUTAP_SIM_DRIVER the version to report (13050), CUTAP_SIM_MEMORY bytes of memory a
//! device. A word that is not understood is as if it were not there: a driver has nowhere to complain.

use crate::generated;
use std::sync::OnceLock;

pub struct Config {
    pub devices: i32,
    pub driver: u32,
    pub memory: u64,
}

pub fn config() -> &'static Config {
    static CONFIG: OnceLock<Config> = OnceLock::new();
    CONFIG.get_or_init(|| Config {
        devices: number("CUTAP_SIM_DEVICES").filter(|n| (1..=8).contains(n)).unwrap_or(1) as i32,
        driver: number("CUTAP_SIM_DRIVER").filter(|n| (2000..100_000).contains(n)).unwrap_or(13050) as u32,
        memory: number("CUTAP_SIM_MEMORY").filter(|n| *n > 0).unwrap_or(generated::TOTAL_MEMORY),
    })
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.trim().parse().ok()
}

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
