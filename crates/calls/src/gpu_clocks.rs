//! Why a clock of the GPU is what it is.

use crate::generated::gpu_clocks::{IDENTITY_FUNCTIONS, REASONS};

/// A reason, as NVML has it.
#[derive(Debug)]
pub struct ClockReason {
    /// Its bit.
    pub bit: u64,
    /// One word, for programs.
    pub word: &'static str,
    /// A few words, for people.
    pub text: &'static str,
}

/// The reasons whose bits are set, the lowest first. Bits without a name are left out.
pub fn clock_reasons(bits: u64) -> impl Iterator<Item = &'static ClockReason> {
    REASONS.iter().filter(move |reason| bits & reason.bit != 0)
}

/// Whether a driver function says which device a number of a process is.
pub fn identifies_device(name: &str) -> bool {
    IDENTITY_FUNCTIONS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_of_bits() {
        let mut texts = clock_reasons(0x44 | 1 << 40).map(|reason| reason.text);
        assert_eq!(
            [texts.next(), texts.next(), texts.next()],
            [Some("power cap"), Some("temperature (hardware)"), None]
        );
        assert!(identifies_device("cuDeviceGetUuid_v2") && !identifies_device("cuDeviceGet"));
    }
}
