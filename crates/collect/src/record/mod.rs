//! Copies a run directory into a recording: pages, names and whole chunks, all unchanged. Names go before the chunks
//! that refer to them. A chunk is given back to its writer when the file has it.

mod batch;
mod clock_copy;
#[cfg(test)]
mod damage;
mod folder_scan;
#[cfg(test)]
mod many;
mod missing_parts;
mod names;
pub mod pack;
mod pack_progress;
mod process;
mod recorder;
mod retire;
mod retired;
mod ring;
#[cfg(test)]
mod tests;

pub use folder_scan::FolderScan;
pub use missing_parts::{damaged_parts, read_by_another, without_end};
pub(crate) use process::MOST_RINGS;
pub use recorder::Recorder;
