//! Formats of other programs: one file for each, with one [`crate::Output`]. They write each event when it arrives
//! and keep nothing about finished calls.

mod chrome;
mod flows;
mod gpu_tracks;
mod perfetto;
mod perfetto_fields;
mod pids;
mod proto;
mod range_tracks;

pub use chrome::Chrome;
pub use perfetto::Perfetto;
