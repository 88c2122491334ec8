//! Planted faults of clocks, read once from `CUTAP_SIM_NVML_FAULTS`: a list, separated by commas. Without the variable
//! all answers are those of the recorded, idle GPU.

use crate::fault::{Answer, Fault};
use cutap_calls::generated::gpu_clocks::{REASONS, function, number};
use cutap_machine::{FirstUse, variable};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// SM clocks of the planted GPU in MHz: at work, and while it is slowed.
const BUSY_MHZ: u32 = 1980;
const SLOW_MHZ: u32 = 1395;
/// When it is slowed, after the start of NVML. A second reader in between sees it at the full seconds.
const SLOW: std::ops::Range<Duration> = Duration::from_millis(500)..Duration::from_millis(2500);

/// Which faults are planted.
#[derive(Debug, Default, PartialEq, Eq)]
struct ClockFaults {
    /// `busy`: the GPU works at its highest clock.
    busy: bool,
    /// `drop`: it works, and its clock drops for two seconds, with a reason.
    drop: bool,
    /// `unsupported`: its clock is not supported.
    unsupported: bool,
    /// `refuse`: NVML does not start, for lack of privileges.
    refuse: bool,
    /// `hang`: NVML never starts.
    hang: bool,
    /// `crash`: the process ends when NVML starts.
    crash: bool,
}

impl ClockFaults {
    fn parse(list: &str) -> ClockFaults {
        let has = |name: &str| list.split(',').any(|fault| fault.trim() == name);
        let (busy, drop, unsupported) = (has("busy"), has("drop"), has("unsupported"));
        ClockFaults { busy, drop, unsupported, refuse: has("refuse"), hang: has("hang"), crash: has("crash") }
    }
}

fn faults() -> &'static ClockFaults {
    static FAULTS: FirstUse<ClockFaults> = FirstUse::empty();
    let read = || variable(c"CUTAP_SIM_NVML_FAULTS").map(|list| ClockFaults::parse(&list)).unwrap_or_default();
    FAULTS.get(read).0
}

/// When NVML started.
static STARTED: OnceLock<Instant> = OnceLock::new();

/// NVML starts, or does what is planted.
pub fn start() -> Answer {
    let faults = faults();
    if faults.crash {
        std::process::abort();
    }
    if faults.hang {
        loop {
            std::thread::sleep(Duration::from_secs(3600));
        }
    }
    STARTED.get_or_init(Instant::now);
    if faults.refuse { Err(Fault(number::NO_PERMISSION)) } else { Ok(()) }
}

/// The planted answer of a function that has a device and these numbers: the words of its output.
pub fn answer(name: &str, numbers: &[u32]) -> Option<Answer<[u32; 2]>> {
    answer_at(faults(), STARTED.get().map_or(Duration::ZERO, Instant::elapsed), name, numbers)
}

fn answer_at(faults: &ClockFaults, since_start: Duration, name: &str, numbers: &[u32]) -> Option<Answer<[u32; 2]>> {
    let is = |names: &[&str]| names.contains(&name);
    let is_clock = is(function::CLOCK) && numbers == [number::SM_CLOCK];
    if is_clock && faults.unsupported {
        return Some(Err(Fault::NOT_SUPPORTED));
    }
    if !faults.busy && !faults.drop {
        return None;
    }
    let is_slow = faults.drop && SLOW.contains(&since_start);
    if is_clock {
        return Some(Ok([if is_slow { SLOW_MHZ } else { BUSY_MHZ }, 0]));
    }
    if is(function::REASONS) {
        let reason = REASONS.iter().find(|reason| reason.word == "power_cap").filter(|_| is_slow);
        return Some(Ok([reason.map_or(0, |reason| reason.bit as u32), 0]));
    }
    is(function::UTILIZATION).then_some(Ok([100, 30]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_drops_for_two_seconds() {
        let faults = ClockFaults::parse("drop");
        let clock = |ms| answer_at(&faults, Duration::from_millis(ms), function::CLOCK[0], &[number::SM_CLOCK]);
        assert_eq!([0, 1000, 2000, 3000].map(clock), [1980, 1395, 1395, 1980].map(|mhz| Some(Ok([mhz, 0]))));
        let reason = |ms| answer_at(&faults, Duration::from_millis(ms), function::REASONS[0], &[]);
        assert_eq!([reason(0), reason(1000)], [Some(Ok([0, 0])), Some(Ok([4, 0]))]);
        assert_eq!(answer_at(&faults, Duration::ZERO, function::CLOCK[0], &[2]), None);
        assert_eq!(answer_at(&ClockFaults::default(), Duration::ZERO, function::CLOCK[0], &[1]), None);
    }

    #[test]
    fn lists_of_faults() {
        let faults = ClockFaults::parse("hang, refuse,none");
        assert_eq!(faults, ClockFaults { hang: true, refuse: true, ..ClockFaults::default() });
    }
}
