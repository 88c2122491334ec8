//! What the environment says about the simulated machine; read once.
//!
//! CUTAP_SIM_DEVICES 1 to 8, CUTAP_SIM_DRIVER the version to report (13050), CUTAP_SIM_MEMORY bytes of memory a
//! device. A word that is not understood is as if it were not there, and said on standard error: `cutap --sim` refuses
//! it, but the driver may be loaded without cutap, and has no better place to complain.

use crate::TOTAL_MEMORY;
use std::io::Write;
use std::ops::RangeInclusive;
use std::sync::OnceLock;

/// What was said.
#[derive(Debug)]
pub struct Config {
    /// How many devices there are.
    pub devices: i32,
    /// The driver's version: 13050.
    pub driver: u32,
    /// Bytes of memory of a device, as a program may use it.
    pub memory: u64,
}

/// What was said, the first time that somebody asks.
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
        // A closed standard error is no reason to end the program.
        let _ = writeln!(
            std::io::stderr(),
            "cutap-sim: {name}={value} is no number from {least} to {most}; taken is {otherwise}"
        );
        otherwise
    })
}
