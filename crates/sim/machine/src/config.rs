//! The settings of the simulated machine, read once from the environment.
//!
//! CUTAP_SIM_DEVICES is the number of devices, 1 to 8. CUTAP_SIM_DRIVER is the version to report (13050).
//! CUTAP_SIM_MEMORY is the memory of a device, in bytes or with a unit (80GiB, 512M).
//! CUTAP_SIM_SPIN is a planted fault: a kernel of this name never ends.
//! `cutap --sim` rejects a wrong value. The driver may be loaded without cutap, so here a wrong value
//! is ignored, with a message on standard error.

use crate::TOTAL_MEMORY;
use crate::environment::{print_to_stderr, variable};
use crate::process::FirstUse;
use cutap_quantity::bytes;
use std::ffi::CStr;
use std::ops::RangeInclusive;

/// The settings.
#[derive(Debug)]
pub struct Config {
    pub devices: i32,
    /// The version of the driver, such as 13050.
    pub driver: u32,
    /// Bytes of memory of a device that programs can use.
    pub memory: u64,
    /// The name of a kernel that never ends.
    pub spin: Option<String>,
}

/// The settings, which are read at the first call.
pub fn config() -> &'static Config {
    static CONFIG: FirstUse<Config> = FirstUse::empty();
    let mut ignored = Vec::new();
    let (config, is_first) = CONFIG.get(|| read(&mut ignored));
    // Threads that read the same settings at the same time report them once.
    if is_first {
        ignored.iter().for_each(|line| print_to_stderr(line));
    }
    config
}

fn read(ignored: &mut Vec<String>) -> Config {
    let mut number = |name: &CStr, within, otherwise| number(name, within, otherwise, ignored);
    Config {
        devices: number(c"CUTAP_SIM_DEVICES", 1..=8, 1) as i32,
        driver: number(c"CUTAP_SIM_DRIVER", 2000..=99_999, 13050) as u32,
        memory: number(c"CUTAP_SIM_MEMORY", 1..=u64::MAX, TOTAL_MEMORY),
        spin: variable(c"CUTAP_SIM_SPIN"),
    }
}

fn number(name: &CStr, within: RangeInclusive<u64>, otherwise: u64, ignored: &mut Vec<String>) -> u64 {
    let Some(value) = variable(name) else { return otherwise };
    bytes(value.trim()).filter(|n| within.contains(n)).unwrap_or_else(|| {
        let (name, least, most) = (name.to_string_lossy(), within.start(), within.end());
        ignored.push(format!("cutap-sim: {name}={value} is no number from {least} to {most}; taken is {otherwise}"));
        otherwise
    })
}
