//! Clocks of the GPUs while a program ran: the samples of each second, and the times in which a GPU was slow.
//!
//! NVML numbers the devices of the machine, and CUDA those that a process sees. The number of CUDA is known where the
//! process asked the driver for a UUID or a PCI address, or where NVML has one device.

use crate::event::call::Exit;
use crate::event::value::Value;
use cutap_calls::Layer;
use cutap_calls::generated::gpu_clocks::IDLE;
use cutap_calls::gpu_clocks::identifies_device;
use cutap_wire::gpu_clocks::{ALL_DEVICES, ClockContent, ClockRecords, ClockSample, UNKNOWN, UNKNOWN_REASONS, state};
use std::collections::BTreeSet;

/// A clock below this part of the highest one is slow, in percent.
pub const SLOW_PERCENT: u32 = 90;
/// A sample stands for the time until the next one, at most so long.
const LONGEST_NS: u64 = 2_000_000_000;
/// A sample without a next one stands for this.
const PERIOD_NS: u64 = 1_000_000_000;

/// The clocks of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GpuClocks {
    /// By NVML's number.
    pub devices: Vec<ClockedDevice>,
    /// Why samples are missing.
    pub states: Vec<ClockState>,
}

/// A device of NVML.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClockedDevice {
    /// NVML's number.
    pub index: u16,
    /// The number by which the program's processes know it, if that is one number and known.
    pub cuda_device: Option<u32>,
    /// The program's processes did not see it, or had no work on it.
    pub is_foreign: bool,
    /// The highest SM clock, MHz; 0: not known.
    pub max_mhz: u16,
    /// `GPU-` and the UUID.
    pub uuid: String,
    /// PCI address.
    pub pci: String,
    /// Name of the product.
    pub name: String,
    /// In the order of time.
    pub samples: Vec<ClockMoment>,
}

/// A sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClockMoment {
    /// CLOCK_MONOTONIC.
    pub ns: u64,
    /// The clock then.
    pub sample: ClockSample,
}

/// Why samples are missing, of one device or of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockState {
    /// CLOCK_MONOTONIC.
    pub ns: u64,
    /// NVML's number of the device; none: all.
    pub device: Option<u16>,
    /// One of `cutap_wire::gpu_clocks::state`.
    pub state: u16,
    /// NVML's result, or another number.
    pub result: u64,
}

/// A time in which a GPU was slow while it worked, or in which something held its clock down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlowTime {
    /// CLOCK_MONOTONIC.
    pub from_ns: u64,
    /// CLOCK_MONOTONIC.
    pub until_ns: u64,
    /// Lowest and highest SM clock, MHz.
    pub mhz: (u16, u16),
    /// All reasons of its samples (nvmlClocksEventReasons), without that of an idle GPU.
    pub reasons: u32,
}

/// The clocks of a device while it worked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkClocks {
    /// Lowest and highest SM clock, MHz.
    pub mhz: (u16, u16),
    /// Nanoseconds of slow times.
    pub slow_ns: u64,
    /// All reasons of slow times.
    pub reasons: u32,
}

/// What a process asked of the driver: its number of a device, and the device's UUID or PCI address.
pub type DeviceIdentity = (u32, String);

impl GpuClocks {
    /// From the file of a run. Moments are those of its machine.
    pub(crate) fn parse(bytes: &[u8]) -> GpuClocks {
        let mut clocks = GpuClocks::default();
        for record in ClockRecords(bytes) {
            let (index, ns) = (record.device, record.ns);
            match record.content {
                ClockContent::Device { max_mhz, uuid, pci, name } => {
                    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
                    let (uuid, pci, name) = (text(uuid), text(pci), text(name));
                    // A collector after one that was killed lists them again.
                    if !clocks.devices.iter().any(|of| of.index == index && of.uuid == uuid) {
                        clocks.devices.push(ClockedDevice { index, max_mhz, uuid, pci, name, ..Default::default() });
                    }
                }
                ClockContent::Sample(sample) => {
                    let device = clocks.devices.iter_mut().rev().find(|of| of.index == index);
                    device.into_iter().for_each(|of| of.samples.push(ClockMoment { ns, sample }));
                }
                ClockContent::State { state, result } => {
                    let device = (index != ALL_DEVICES).then_some(index);
                    clocks.states.push(ClockState { ns, device, state, result });
                }
            }
        }
        if let [only] = &mut clocks.devices[..] {
            only.cuda_device = Some(0);
        }
        clocks
    }

    /// Moments on another clock, which is so far ahead.
    pub(crate) fn shift(&mut self, by_ns: i64) {
        let samples = self.devices.iter_mut().flat_map(|of| &mut of.samples).map(|moment| &mut moment.ns);
        samples.chain(self.states.iter_mut().map(|state| &mut state.ns)).for_each(|ns| {
            *ns = ns.saturating_add_signed(by_ns);
        });
    }

    /// Takes over what the processes of the run asked, and on which of their numbers work ran. A number that two
    /// devices have in different processes is none.
    pub(crate) fn identify(&mut self, identities: &BTreeSet<DeviceIdentity>, used_numbers: &BTreeSet<u32>) {
        let is_of = |device: &ClockedDevice, identity: &str| {
            let same_end = |whole: &str, end: &str| whole.to_lowercase().ends_with(&end.to_lowercase());
            !identity.is_empty() && (same_end(&device.uuid, identity) || same_end(&device.pci, identity))
        };
        let numbers: Vec<BTreeSet<u32>> = self
            .devices
            .iter()
            .map(|device| identities.iter().filter(|(_, id)| is_of(device, id)).map(|(n, _)| *n).collect())
            .collect();
        for (n, device) in self.devices.iter_mut().enumerate() {
            let mut own = numbers[n].iter();
            if let (Some(number), None) = (own.next(), own.next()) {
                let is_elsewhere = numbers.iter().enumerate().any(|(other, of)| other != n && of.contains(number));
                device.cuda_device = (!is_elsewhere).then_some(*number);
            } else if !numbers[n].is_empty() {
                device.cuda_device = None;
            }
        }
        let is_known = numbers.iter().any(|of| !of.is_empty());
        for (device, own) in self.devices.iter_mut().zip(&numbers).filter(|_| is_known) {
            device.is_foreign = own.is_empty() || !used_numbers.is_empty() && own.is_disjoint(used_numbers);
        }
    }

    /// The devices that the program may have used.
    pub fn own_devices(&self) -> impl Iterator<Item = &ClockedDevice> {
        self.devices.iter().filter(|device| !device.is_foreign)
    }

    /// States that say why samples are missing, each kind once.
    pub fn reasons_without(&self) -> Vec<ClockState> {
        let mut listed: Vec<ClockState> = Vec::new();
        for state in &self.states {
            // It has answered later.
            let is_over = state.state == state::NO_ANSWER
                && self.devices.iter().flat_map(|of| of.samples.last()).any(|last| last.ns > state.ns);
            if !is_over && !listed.iter().any(|of| (of.state, of.result) == (state.state, state.result)) {
                listed.push(*state);
            }
        }
        listed
    }
}

impl ClockedDevice {
    /// Whether the GPU worked at a sample. The clock of an idle GPU is low, and says nothing.
    fn is_at_work(sample: &ClockSample) -> bool {
        match sample.reasons {
            UNKNOWN_REASONS => !matches!(sample.busy_percent, 0 | UNKNOWN),
            reasons => u64::from(reasons) & IDLE == 0,
        }
    }

    /// What holds the clock down; nothing if that is not known.
    fn held_by(sample: &ClockSample) -> u32 {
        match sample.reasons {
            UNKNOWN_REASONS => 0,
            reasons => reasons & !(IDLE as u32),
        }
    }

    fn is_slow(&self, sample: &ClockSample) -> bool {
        let is_low = u32::from(sample.mhz) * 100 < u32::from(self.max_mhz) * SLOW_PERCENT && sample.busy_percent != 0;
        ClockedDevice::is_at_work(sample) && (is_low || ClockedDevice::held_by(sample) != 0)
    }

    /// The samples, each with the end of the time for which it stands.
    fn stretches(&self) -> impl Iterator<Item = (&ClockMoment, u64)> {
        self.samples.iter().enumerate().map(|(n, moment)| {
            let next = self.samples.get(n + 1).map_or(moment.ns.saturating_add(PERIOD_NS), |next| next.ns);
            (moment, next.clamp(moment.ns, moment.ns.saturating_add(LONGEST_NS)))
        })
    }

    /// The times in which it was slow, in their order.
    pub fn slow_times(&self) -> Vec<SlowTime> {
        let mut times: Vec<SlowTime> = Vec::new();
        for (ClockMoment { ns, sample }, until_ns) in self.stretches() {
            if !self.is_slow(sample) {
                continue;
            }
            let (mhz, reasons) = (sample.mhz, ClockedDevice::held_by(sample));
            match times.last_mut().filter(|last| last.until_ns == *ns) {
                Some(last) => {
                    last.until_ns = until_ns;
                    last.mhz = (last.mhz.0.min(mhz), last.mhz.1.max(mhz));
                    last.reasons |= reasons;
                }
                None => times.push(SlowTime { from_ns: *ns, until_ns, mhz: (mhz, mhz), reasons }),
            }
        }
        times
    }

    /// Its clocks while it worked; none if it never did at a sample.
    pub fn work_clocks(&self) -> Option<WorkClocks> {
        let at_work = || self.samples.iter().map(|of| &of.sample).filter(|sample| ClockedDevice::is_at_work(sample));
        let (least, most) = (at_work().map(|of| of.mhz).min()?, at_work().map(|of| of.mhz).max()?);
        let times = self.slow_times();
        Some(WorkClocks {
            mhz: (least, most),
            slow_ns: times.iter().map(|time| time.until_ns - time.from_ns).sum(),
            reasons: times.iter().fold(0, |all, time| all | time.reasons),
        })
    }
}

/// The number of a device and its UUID or PCI address, as a call of the driver has returned them.
pub(crate) fn device_identity(exit: &Exit) -> Option<DeviceIdentity> {
    let call = &exit.call;
    if call.function.layer != Layer::DRIVER || exit.is_error() || !identifies_device(&call.function.name) {
        return None;
    }
    let device = call.inputs().iter().find_map(|value| match value {
        Value::Handle { value, kind, .. } if kind.short == "device" => u32::try_from(*value).ok(),
        _ => None,
    })?;
    let text = exit.outputs.iter().find_map(|(_, value)| match value.target() {
        Value::Uuid(bytes) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| hex.get(part).unwrap_or(""));
            Some(parts.join("-"))
        }
        Value::Text(text) => Some(text.text.clone()),
        _ => None,
    })?;
    Some((device, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_wire::gpu_clocks::ClockRecord;

    const SECOND: u64 = 1_000_000_000;
    const IDLE_BIT: u32 = IDLE as u32;
    const POWER: u32 = 4;
    const HEAT: u32 = 64;

    /// A device with samples at these seconds: clock, reasons, percent of work.
    fn device(samples: &[(u64, u16, u32, u8)]) -> ClockedDevice {
        let moment = |(second, mhz, reasons, busy_percent): &(u64, u16, u32, u8)| ClockMoment {
            ns: second * SECOND,
            sample: ClockSample { mhz: *mhz, reasons: *reasons, busy_percent: *busy_percent, ..Default::default() },
        };
        ClockedDevice { max_mhz: 1980, samples: samples.iter().map(moment).collect(), ..Default::default() }
    }

    fn slow(of: &ClockedDevice) -> Vec<(u64, u64, (u16, u16), u32)> {
        let times = of.slow_times();
        times.iter().map(|of| (of.from_ns / SECOND, of.until_ns / SECOND, of.mhz, of.reasons)).collect()
    }

    #[test]
    fn slow_seconds_that_follow_each_other_are_one_time() {
        let of = device(&[
            (1, 345, IDLE_BIT, 0),
            (2, 1980, 0, 100),
            (3, 1395, POWER, 100),
            (4, 1200, HEAT, 100),
            (5, 1980, 0, 100),
            (6, 1500, 0, 100),
            (7, 345, IDLE_BIT, 60),
        ]);
        assert_eq!(slow(&of), [(3, 5, (1200, 1395), POWER | HEAT), (6, 7, (1500, 1500), 0)]);
        let expected = WorkClocks { mhz: (1200, 1980), slow_ns: 3 * SECOND, reasons: POWER | HEAT };
        assert_eq!(of.work_clocks(), Some(expected));
    }

    #[test]
    fn a_sample_stands_for_two_seconds_at_most() {
        let of = device(&[(1, 1000, 0, 50), (9, 1000, 0, 50)]);
        assert_eq!(slow(&of), [(1, 3, (1000, 1000), 0), (9, 10, (1000, 1000), 0)]);
    }

    #[test]
    fn what_is_not_slow() {
        // 90 % of 1980 is 1782.
        assert_eq!(slow(&device(&[(1, 1782, 0, 100), (2, 1781, 0, 100)])), [(2, 3, (1781, 1781), 0)]);
        // No work, though nothing says that the GPU is idle.
        assert_eq!(slow(&device(&[(1, 345, 0, 0)])), []);
        // At the highest clock, with a reason to hold it down.
        assert_eq!(slow(&device(&[(1, 1980, POWER, 0)])), [(1, 2, (1980, 1980), POWER)]);
        // Reasons are not known: percents alone show work.
        let of =
            device(&[(1, 345, UNKNOWN_REASONS, 0), (2, 345, UNKNOWN_REASONS, 9), (3, 345, UNKNOWN_REASONS, UNKNOWN)]);
        assert_eq!(slow(&of), [(2, 3, (345, 345), 0)]);
        let unknown_most = ClockedDevice { max_mhz: 0, ..device(&[(1, 345, 0, 100)]) };
        assert_eq!(slow(&unknown_most), []);
        assert_eq!(device(&[(1, 345, IDLE_BIT, 0)]).work_clocks(), None);
    }

    fn two_devices() -> GpuClocks {
        let uuids = ["GPU-8c7d39cb-0000-0000-0000-000000000001", "GPU-9c7d39cb-0000-0000-0000-000000000002"];
        let device = |index: u16| {
            let (uuid, pci) = (uuids[usize::from(index)].as_bytes(), [&b"00000000:61:00.0"[..], b"00000000:62:00.0"]);
            let pci = pci[usize::from(index)];
            ClockRecord {
                device: index,
                ns: 1,
                content: ClockContent::Device { max_mhz: 1980, uuid, pci, name: b"H200" },
            }
        };
        let sample = ClockContent::Sample(ClockSample { mhz: 345, ..Default::default() });
        let records = [device(0), device(1), device(0), ClockRecord { device: 1, ns: 5, content: sample }];
        let bytes: Vec<u8> = records.iter().flat_map(|record| record.pack().bytes().to_vec()).collect();
        GpuClocks::parse(&bytes)
    }

    fn numbers(identities: &[(u32, &str)]) -> Vec<Option<u32>> {
        let mut clocks = two_devices();
        assert_eq!((clocks.devices.len(), clocks.devices[1].samples.len()), (2, 1));
        clocks.identify(&identities.iter().map(|(n, id)| (*n, (*id).to_owned())).collect(), &BTreeSet::new());
        clocks.devices.iter().map(|of| of.cuda_device).collect()
    }

    #[test]
    fn devices_of_others() {
        let own = |identities: &[(u32, &str)], used: &[u32]| {
            let mut clocks = two_devices();
            let identities = identities.iter().map(|(n, id)| (*n, (*id).to_owned())).collect();
            clocks.identify(&identities, &used.iter().copied().collect());
            clocks.own_devices().map(|of| of.index).collect::<Vec<_>>()
        };
        let both = [(0, "0000:61:00.0"), (1, "0000:62:00.0")];
        assert_eq!((own(&[], &[0]), own(&both, &[])), (vec![0, 1], vec![0, 1]));
        assert_eq!((own(&both, &[1]), own(&both[..1], &[])), (vec![1], vec![0]));
        // Two processes that see one device each.
        assert_eq!(own(&[(0, "0000:61:00.0"), (0, "0000:62:00.0")], &[0]), [0, 1]);
    }

    #[test]
    fn numbers_of_cuda() {
        assert_eq!(numbers(&[]), [None, None]);
        // CUDA_VISIBLE_DEVICES=1,0
        let swapped = [(1, "8c7d39cb-0000-0000-0000-000000000001"), (0, "9C7D39CB-0000-0000-0000-000000000002")];
        assert_eq!(numbers(&swapped), [Some(1), Some(0)]);
        assert_eq!(numbers(&[(0, "0000:62:00.0")]), [None, Some(0)]);
        // Two processes that see one device each.
        assert_eq!(numbers(&[(0, "0000:61:00.0"), (0, "0000:62:00.0")]), [None, None]);
        assert_eq!(numbers(&[(0, "0000:61:00.0"), (1, "0000:61:00.0")]), [None, None]);
    }

    #[test]
    fn states_are_listed_once() {
        let of = |ns, state| ClockState { ns, device: None, state, result: 0 };
        let mut clocks = two_devices();
        clocks.states = vec![of(9, state::REFUSED), of(10, state::REFUSED), of(4, state::NO_ANSWER)];
        assert_eq!(clocks.reasons_without(), [of(9, state::REFUSED)]);
        clocks.shift(-2);
        assert_eq!((clocks.states[0].ns, clocks.devices[1].samples[0].ns), (7, 3));
    }
}
