//! What a run directory holds, put into a recording: pages, names and whole chunks as they are, nothing
//! understood. Names go before the chunks that refer to them, and a chunk is given back to its writer
//! only when it stands in the file.

mod batch;
#[cfg(test)]
mod damage;
mod look;
#[cfg(test)]
mod many;
mod missing_parts;
mod names;
mod process;
mod recorder;
mod ring;
#[cfg(test)]
mod tests;

pub use look::Look;
pub use missing_parts::{damaged_parts, read_by_another, without_end};
pub(crate) use process::MOST_RINGS;
pub use recorder::Recorder;
