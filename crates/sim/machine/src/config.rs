//! The settings of the simulated machine, read once from the environment.
//!
//! CUTAP_SIM_DEVICES is the number of devices, 1 to 8. CUTAP_SIM_DRIVER is the version to report (13050).
//! CUTAP_SIM_MEMORY is the memory of a device in bytes. `cutap --sim` rejects a wrong value. The driver may be loaded
//! without cutap, so here a wrong value is ignored, with a message on standard error.

use crate::TOTAL_MEMORY;
use std::io::Write;
use std::ops::RangeInclusive;
use std::sync::OnceLock;

/// The settings.
#[derive(Debug)]
pub struct Config {
    pub devices: i32,
    /// The version of the driver, such as 13050.
    pub driver: u32,
    /// Bytes of memory of a device that programs can use.
    pub memory: u64,
}

/// The settings, which are read at the first call.
pub fn config() -> &'static Config {
    static CONFIG: OnceLock<Config> = OnceLock::new();
    CONFIG.get_or_init(|| Config {
        devices: number("CUTAP_SIM_DEVICES", 1..=8, 1) as i32,
        driver: number("CUTAP_SIM_DRIVER", 2000..=99_999, 13050) as u32,
        memory: number("CUTAP_SIM_MEMORY", 1..=u64::MAX, TOTAL_MEMORY),
    })
}

fn number(name: &str, within: RangeInclusive<u64>, otherwise: u64) -> u64 {
    let Some(value) = std::env::var_os(name) else { return otherwise };
    let value = value.to_string_lossy();
    value.trim().parse().ok().filter(|n| within.contains(n)).unwrap_or_else(|| {
        let (least, most) = (within.start(), within.end());
        // A closed standard error must not end the program.
        let _ = writeln!(
            std::io::stderr(),
            "cutap-sim: {name}={value} is no number from {least} to {most}; taken is {otherwise}"
        );
        otherwise
    })
}
