//! Counter tracks of the clocks of the GPUs in a file for a viewer: one a device.

use crate::notes::gpu_clocks::device_name;
use cutap_trace::{ClockedDevice, End};

/// A track, and its values with their moments, CLOCK_MONOTONIC.
#[derive(Debug)]
pub struct ClockTrack<'a> {
    /// The number of the track, from 1.
    pub track: u32,
    /// Its name.
    pub name: String,
    device: &'a ClockedDevice,
}

impl ClockTrack<'_> {
    /// Moments and clocks in MHz. A clock that stays is written at its beginning and its end.
    pub fn values(&self) -> impl Iterator<Item = (u64, u16)> {
        let samples = &self.device.samples;
        let is_inside = move |n: usize| {
            let mhz = |n: usize| samples.get(n).map(|of| of.sample.mhz);
            n > 0 && mhz(n - 1) == mhz(n) && mhz(n + 1) == mhz(n)
        };
        let written = samples.iter().enumerate().filter(move |(n, _)| !is_inside(*n));
        written.map(|(_, of)| (of.ns, of.sample.mhz))
    }
}

/// The tracks of a run; none where no clock was taken.
pub fn clock_tracks(end: &End) -> impl Iterator<Item = ClockTrack<'_>> {
    let devices = end.gpu_clocks.own_devices().filter(|device| !device.samples.is_empty());
    (1..).zip(devices).map(|(track, device)| {
        let name = format!("SM clock MHz, {}", device_name(device));
        ClockTrack { track, name, device }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_trace::{ClockMoment, GpuClocks};
    use cutap_wire::gpu_clocks::ClockSample;

    #[test]
    fn clocks_that_stay_are_written_twice() {
        let moment = |(ns, mhz)| ClockMoment { ns, sample: ClockSample { mhz, ..Default::default() } };
        let samples = [(1, 345), (2, 1980), (3, 1980), (4, 1980), (5, 1395)].map(moment).to_vec();
        let device = ClockedDevice { samples, cuda_device: Some(1), ..Default::default() };
        let devices = vec![ClockedDevice::default(), device];
        let end = End { gpu_clocks: GpuClocks { devices, states: Vec::new() }, ..End::default() };
        let tracks: Vec<_> = clock_tracks(&end).collect();
        assert_eq!((tracks.len(), &*tracks[0].name), (1, "SM clock MHz, device 1"));
        assert_eq!(tracks[0].values().collect::<Vec<_>>(), [(1, 345), (2, 1980), (4, 1980), (5, 1395)]);
    }
}
