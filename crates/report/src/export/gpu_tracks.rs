//! The tracks of the GPU's work in a file for a viewer: one a stream. There are more where nodes of a graph run at the
//! same time, for slices of one track must not overlap.

use crate::format::kernel_name::plain;
use crate::format::units::bytes;
use cutap_calls::generated::gpu_time::COPY_KINDS;
use cutap_trace::GpuRow;
use cutap_wire::rows::RowContent;
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
        let name = match row.row.content {
            RowContent::Kernel(_) => row.kernel.as_deref().map_or("?", plain).to_owned(),
            RowContent::Copy(copied) => {
                let kind = COPY_KINDS.get(usize::from(copied.kind)).copied().unwrap_or("unknown");
                format!("copy {kind} of {}", bytes(copied.bytes))
            }
            RowContent::Set { bytes: size, .. } => format!("set of {}", bytes(size)),
            RowContent::DriverCall { .. } | RowContent::Clock { .. } | RowContent::State(_) => return None,
        };
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
