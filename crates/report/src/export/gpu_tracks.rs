//! The tracks of the GPU's work in a file for a viewer: one a stream. There are more where nodes of a graph run at the
//! same time, for slices of one track must not overlap.
//!
//! An arrow leads from a call to its work. A launch of a graph has one arrow, to the first node that was reported.
//! Hundreds of arrows from one call would tell no more, and take most of the file.

use crate::call::gpu_work::work_text;
use crate::format::kernel_name::plain;
use cutap_trace::GpuRow;
use std::collections::{HashMap, VecDeque};

/// Launches of graphs that are remembered. Their nodes come together, but for those of other streams.
const RECENT_LAUNCHES: usize = 64;

/// Device, context and stream of a process.
type StreamKey = (u32, u32, u32, u32);

/// The tracks so far.
#[derive(Debug, Default)]
pub struct GpuTracks {
    /// For each stream its tracks: the number of each, and where its last slice ends.
    streams: HashMap<StreamKey, Vec<(u32, u64)>>,
    count: u32,
    /// Process and correlation id of the last launches of graphs that have their arrow.
    recent_launches: VecDeque<(u32, u32)>,
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
    /// The thread and the beginning of the call that an arrow leads from, if there is one.
    pub arrow_from: Option<(u32, u64)>,
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
        let arrow_from = row.submitted_by.filter(|_| self.has_arrow(row));
        Some(GpuSlice { track, new_track, name, start_ns, end_ns, arrow_from })
    }

    /// Whether an arrow leads to this row: of the nodes of a launched graph, to the first one.
    fn has_arrow(&mut self, row: &GpuRow) -> bool {
        let launch = (row.process.key, row.row.place.correlation);
        if row.row.graph_node().graph == 0 {
            return true;
        }
        if self.recent_launches.contains(&launch) {
            return false;
        }
        if self.recent_launches.len() == RECENT_LAUNCHES {
            self.recent_launches.pop_front();
        }
        self.recent_launches.push_back(launch);
        true
    }
}
