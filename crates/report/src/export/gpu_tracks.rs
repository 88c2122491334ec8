//! The tracks of the GPU's work in a file for a viewer: one a stream. There are more where nodes of a graph run at the
//! same time, for slices of one track must not overlap.

use crate::call::gpu_work::work_text;
use crate::format::kernel_name::plain;
use cutap_trace::GpuRow;
use std::collections::HashMap;

/// Device, context and stream of a process.
type StreamKey = (u32, u32, u32, u32);

/// The tracks so far.
#[derive(Debug, Default)]
pub struct GpuTracks {
    /// For each stream its tracks: the number of each, and where its last slice ends.
    streams: HashMap<StreamKey, Vec<(u32, u64)>>,
    count: u32,
}

/// A slice of the GPU's work.
#[derive(Debug)]
pub struct GpuSlice {
    /// The number of its track, from 1.
    pub track: u32,
    /// The name of the track, if it is new.
    pub new_track: Option<String>,
    /// What the GPU did.
    pub name: String,
    /// CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// See `start_ns`.
    pub end_ns: u64,
}

impl GpuTracks {
    /// The slice of a row; none for rows on the collection, and where the times cannot be.
    pub fn slice(&mut self, row: &GpuRow) -> Option<GpuSlice> {
        let name = work_text(&row.row.content, || row.kernel.as_deref().map_or("?", plain).to_owned())?;
        let place = &row.row.place;
        let (start_ns, end_ns) = row.times.filter(|(start, end)| place.start != 0 && start <= end)?;
        let tracks = self.streams.entry((row.process.key, place.device, place.context, place.stream)).or_default();
        let free = tracks.iter_mut().find(|(_, last_end)| *last_end <= start_ns);
        let (track, new_track) = match free {
            Some((track, last_end)) => {
                *last_end = end_ns;
                (*track, None)
            }
            None => {
                self.count += 1;
                let more = if tracks.is_empty() { String::new() } else { format!(" ({})", tracks.len() + 1) };
                tracks.push((self.count, end_ns));
                (self.count, Some(format!("GPU {} stream {}{more}", place.device, place.stream)))
            }
        };
        Some(GpuSlice { track, new_track, name, start_ns, end_ns })
    }
}
