//! Clocks of the GPUs in JSON: a line for each sample, and the slow times of the last line.

use crate::format::runs::run_fields;
use cutap_calls::gpu_clocks::clock_reasons;
use cutap_trace::{ClockMoment, ClockedDevice, End};
use cutap_wire::gpu_clocks::{UNKNOWN, UNKNOWN_REASONS};
use serde_json::{Value, json};

fn words(reasons: u32) -> Vec<&'static str> {
    clock_reasons(reasons.into()).map(|reason| reason.word).collect()
}

fn sample_json(device: &ClockedDevice, ClockMoment { ns, sample }: &ClockMoment) -> Value {
    let if_known = |value: u8| (value != UNKNOWN).then_some(value);
    let highest = Some(device.max_mhz).filter(|mhz| *mhz != 0);
    json!({
        "type": "gpu_clock", "ns": ns, "device": device.cuda_device, "nvml_device": device.index,
        "name": device.name, "uuid": device.uuid, "pci": device.pci, "sm_mhz": sample.mhz, "max_sm_mhz": highest,
        "reasons": (sample.reasons != UNKNOWN_REASONS).then(|| words(sample.reasons)),
        "busy_percent": if_known(sample.busy_percent), "celsius": if_known(sample.celsius),
        "milliwatts": Some(sample.milliwatts).filter(|power| *power != 0),
    })
}

/// The lines of a run, in the order of time for each device.
pub fn clock_samples(end: &End) -> impl Iterator<Item = Value> {
    let run = end.run.as_ref().map(|run| run_fields(run));
    let samples = end.gpu_clocks.devices.iter().flat_map(|of| of.samples.iter().map(move |sample| (of, sample)));
    samples.map(move |(device, sample)| {
        let mut line = sample_json(device, sample);
        if let (Value::Object(line), Some(fields)) = (&mut line, &run) {
            line.extend(fields.clone());
        }
        line
    })
}

/// The slow times of all devices.
pub fn slow_clocks(end: &End) -> Vec<Value> {
    let times = end.gpu_clocks.own_devices().flat_map(|of| of.slow_times().into_iter().map(move |time| (of, time)));
    let line = |(device, time): (&ClockedDevice, cutap_trace::SlowTime)| {
        json!({
            "device": device.cuda_device, "nvml_device": device.index, "from_ns": time.from_ns,
            "until_ns": time.until_ns, "min_sm_mhz": time.mhz.0, "max_sm_mhz": time.mhz.1,
            "reasons": words(time.reasons),
        })
    };
    times.map(line).collect()
}
