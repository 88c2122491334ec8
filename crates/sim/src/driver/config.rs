//! What the environment says about the simulated machine; read once, at the first cuInit.
//!
//! CUTAP_SIM_DEVICES 1 to 8, CUTAP_SIM_DRIVER the version to report (13050), CUTAP_SIM_MEMORY bytes of memory a
//! device. A word that is not understood is as if it were not there, and said on standard error: `cutap --sim` refuses
//! it, but the driver may be loaded without cutap, and has no better place to complain.

use crate::generated;
use std::io::Write;
use std::ops::RangeInclusive;
use std::sync::OnceLock;

pub struct Config {
    pub devices: i32,
    pub driver: u32,
    pub memory: u64,
}

pub fn config() -> &'static Config {
    static CONFIG: OnceLock<Config> = OnceLock::new();
    CONFIG.get_or_init(|| Config {
        devices: number("CUTAP_SIM_DEVICES", 1..=8, 1) as i32,
        driver: number("CUTAP_SIM_DRIVER", 2000..=99_999, 13050) as u32,
        memory: number("CUTAP_SIM_MEMORY", 1..=u64::MAX, generated::TOTAL_MEMORY),
    })
}

fn number(name: &str, within: RangeInclusive<u64>, otherwise: u64) -> u64 {
    let Some(value) = std::env::var_os(name) else { return otherwise };
    let value = value.to_string_lossy();
    value.trim().parse().ok().filter(|n| within.contains(n)).unwrap_or_else(|| {
        let (least, most) = (within.start(), within.end());
        // A closed standard error is no reason to end the program.
        let _ = writeln!(
            std::io::stderr(),
            "cutap-sim: {name}={value} is no number from {least} to {most}; taken is {otherwise}"
        );
        otherwise
    })
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
