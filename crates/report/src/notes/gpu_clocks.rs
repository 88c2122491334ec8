//! Sentences on the clocks of the GPUs: when a GPU was slow, and why there are no clocks.

use crate::format::units::time;
use crate::notes::switched::start;
use cutap_calls::generated::gpu_clocks::{LIBRARY, number};
use cutap_calls::gpu_clocks::clock_reasons;
use cutap_trace::{ClockState, ClockedDevice, End, SlowTime, printable};
use cutap_wire::gpu_clocks::state;

/// Slow times of a device that are listed, and of one of several that may be of another program.
const LISTED: usize = 5;
const LISTED_OF_UNKNOWN: usize = 1;

/// `device 0`, or NVML's number and the name where that of CUDA is not known.
pub fn device_name(of: &ClockedDevice) -> String {
    match of.cuda_device {
        Some(number) => format!("device {number}"),
        None if of.name.is_empty() => format!("NVML device {}", of.index),
        None => format!("NVML device {} ({})", of.index, printable(&of.name)),
    }
}

/// `1395 MHz of 1980`, or `1200 to 1395 MHz of 1980`.
fn clock_text((least, most): (u16, u16), highest: u16) -> String {
    let clock = if least == most { most.to_string() } else { format!("{least} to {most}") };
    if highest == 0 { format!("{clock} MHz") } else { format!("{clock} MHz of {highest}") }
}

fn reasons_text(reasons: u32) -> String {
    let texts: Vec<&str> = clock_reasons(reasons.into()).map(|reason| reason.text).collect();
    if texts.is_empty() { "NVML gives no reason".to_owned() } else { texts.join(", ") }
}

/// `start`: that of the first process, if times can be shown relative to it.
fn slow_line(device: &ClockedDevice, of: &SlowTime, start: Option<u64>) -> String {
    let when = match start {
        // The first sample may be before the first process.
        Some(start) => {
            let after = |ns: u64| time(ns.saturating_sub(start));
            format!("from {} to {} of the run", after(of.from_ns), after(of.until_ns))
        }
        None => format!("for {}", time(of.until_ns - of.from_ns)),
    };
    let (name, clock) = (device_name(device), clock_text(of.mhz, device.max_mhz));
    format!("{name}: SM clock {clock} {when}: {}", reasons_text(of.reasons))
}

/// Why there are no clocks, of one device or of all.
fn why_without(of: &ClockState, end: &End) -> Option<String> {
    let result = match u32::try_from(of.result) {
        Ok(number::NOT_SUPPORTED) => "not supported".to_owned(),
        Ok(number::NO_PERMISSION) => "no permission".to_owned(),
        Ok(number::DRIVER_NOT_LOADED) => "the kernel driver is not loaded".to_owned(),
        Ok(number::VERSION_MISMATCH) => {
            "another version than the kernel driver; reboot, or reload the driver".to_owned()
        }
        _ => format!("error {}", of.result),
    };
    let clocks = match of.device {
        Some(index) => {
            let device = end.gpu_clocks.devices.iter().find(|device| device.index == index);
            format!("clocks of {}", device.map_or_else(|| format!("NVML device {index}"), device_name))
        }
        None => "clocks of the GPUs".to_owned(),
    };
    Some(match of.state {
        state::NO_LIBRARY => format!("no {clocks}: there is no {LIBRARY}, which comes with the driver"),
        state::NO_FUNCTIONS => format!("no {clocks}: {LIBRARY} lacks functions; a newer driver has them"),
        state::REFUSED => format!("no {clocks}: NVML did not start ({result})"),
        state::NO_DEVICE => format!("no {clocks}: NVML lists no device"),
        state::NOT_SUPPORTED => format!("no {clocks}: NVML does not tell them ({result})"),
        state::NO_ANSWER => format!("no {clocks} from some time on: NVML did not answer for 5 s"),
        state::FULL => format!("no {clocks} from some time on: their file has its largest size"),
        state::CRASHED => {
            format!("no {clocks} from some time on: the process that asks NVML crashed (signal {})", of.result)
        }
        state::NOT_STARTED => {
            format!("no {clocks}: the process that asks NVML could not be started (errno {})", of.result)
        }
        _ => return None,
    })
}

/// A line for each time in which a GPU was slow, and why clocks are missing.
pub fn clock_lines(end: &End) -> Vec<String> {
    let start = start(end);
    let mut lines = Vec::new();
    for device in end.gpu_clocks.own_devices() {
        let times = device.slow_times();
        let listed = if device.cuda_device.is_some() { LISTED } else { LISTED_OF_UNKNOWN };
        lines.extend(times.iter().take(listed).map(|of| slow_line(device, of, start)));
        if let Some(more @ [_, ..]) = times.get(listed..) {
            let ns = more.iter().map(|of| of.until_ns - of.from_ns).sum();
            let s = if more.len() == 1 { "" } else { "s" };
            lines.push(format!("{}: slow {} more time{s}, {} in all", device_name(device), more.len(), time(ns)));
        }
    }
    lines.extend(end.gpu_clocks.reasons_without().iter().filter_map(|of| why_without(of, end)));
    lines
}

/// One line with the clocks of all GPUs that worked, for a report of times on the GPU. None where none was seen at
/// work.
pub fn clocks_line(ends: &[&End]) -> Option<String> {
    let mut listed: Vec<String> = Vec::new();
    for device in ends.iter().flat_map(|end| end.gpu_clocks.own_devices()) {
        let Some(of) = device.work_clocks() else { continue };
        let clock = clock_text(of.mhz, device.max_mhz);
        let slow = match of.slow_ns {
            0 => String::new(),
            ns => format!(" ({} slow: {})", time(ns), reasons_text(of.reasons)),
        };
        let text = format!("{} {clock}{slow}", device_name(device));
        if !listed.contains(&text) {
            listed.push(text);
        }
    }
    (!listed.is_empty()).then(|| format!("SM clocks at work: {}", listed.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_trace::{ClockMoment, GpuClocks};
    use cutap_wire::gpu_clocks::ClockSample;

    const SECOND: u64 = 1_000_000_000;

    fn end(samples: &[(u64, u16, u32)], states: &[(Option<u16>, u16, u64)]) -> End {
        let moment = |(second, mhz, reasons): &(u64, u16, u32)| ClockMoment {
            ns: second * SECOND,
            sample: ClockSample { mhz: *mhz, reasons: *reasons, busy_percent: 100, ..Default::default() },
        };
        let device = ClockedDevice {
            cuda_device: Some(0),
            max_mhz: 1980,
            name: "NVIDIA H200".to_owned(),
            samples: samples.iter().map(moment).collect(),
            ..Default::default()
        };
        let state = |(device, state, result): &(Option<u16>, u16, u64)| ClockState {
            ns: 0,
            device: *device,
            state: *state,
            result: *result,
        };
        let gpu_clocks = GpuClocks { devices: vec![device], states: states.iter().map(state).collect() };
        End { gpu_clocks, ..End::default() }
    }

    #[test]
    fn slow_times() {
        let mut of = end(&[(1, 1980, 0), (2, 1395, 4), (3, 1410, 0x24), (4, 1980, 0), (5, 1000, 0)], &[]);
        let lines = clock_lines(&of);
        assert_eq!(
            lines,
            [
                "device 0: SM clock 1395 to 1410 MHz of 1980 for 2s: power cap, temperature (driver)",
                "device 0: SM clock 1000 MHz of 1980 for 1s: NVML gives no reason",
            ]
        );
        let line = "SM clocks at work: device 0 1000 to 1980 MHz of 1980 (3s slow: power cap, temperature (driver))";
        assert_eq!(clocks_line(&[&of, &of]).as_deref(), Some(line));
        of.gpu_clocks.devices[0].cuda_device = None;
        let lines = clock_lines(&of);
        assert!(lines[0].starts_with("NVML device 0 (NVIDIA H200): SM clock 1395 to"), "{lines:?}");
        assert_eq!(lines[1..], ["NVML device 0 (NVIDIA H200): slow 1 more time, 1s in all"]);
        of.gpu_clocks.devices[0].is_foreign = true;
        assert_eq!((clock_lines(&of), clocks_line(&[&of])), (Vec::new(), None));
    }

    #[test]
    fn many_slow_times_are_not_all_listed() {
        let samples: Vec<(u64, u16, u32)> = (0..14).map(|n| (n, if n % 2 == 0 { 1000 } else { 1980 }, 0)).collect();
        let lines = clock_lines(&end(&samples, &[]));
        assert_eq!((lines.len(), &*lines[LISTED]), (6, "device 0: slow 2 more times, 2s in all"));
    }

    #[test]
    fn nothing_to_say() {
        assert_eq!(clock_lines(&end(&[(1, 345, 1), (2, 1980, 0)], &[])), [""; 0]);
        assert_eq!(clocks_line(&[&end(&[(1, 345, 1)], &[])]), None);
    }

    #[test]
    fn why_there_are_none() {
        let states = [(None, state::NO_LIBRARY, 0), (None, state::REFUSED, 9), (Some(0), state::NOT_SUPPORTED, 3)];
        assert_eq!(
            clock_lines(&end(&[], &states)),
            [
                "no clocks of the GPUs: there is no libnvidia-ml.so.1, which comes with the driver",
                "no clocks of the GPUs: NVML did not start (the kernel driver is not loaded)",
                "no clocks of device 0: NVML does not tell them (not supported)",
            ]
        );
    }
}
