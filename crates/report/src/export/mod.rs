//! Formats of other programs: one file for each, with one [`crate::Output`]. They write each event when it arrives
//! and keep nothing about finished calls.

mod chrome;
mod clock_tracks;
mod flows;
mod gpu_tracks;
mod memory_tracks;
mod perfetto;
mod perfetto_counters;
mod perfetto_fields;
mod perfetto_tracks;
mod pids;
mod proto;
mod range_tracks;

pub use chrome::Chrome;
pub use gpu_tracks::{GpuSlice, GpuTracks};
pub use perfetto::Perfetto;
pub use range_tracks::{OpenRange, RangeTracks};
