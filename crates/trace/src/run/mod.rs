//! The files of one run, in a run directory or a recording: its processes, rings and names, and facts about the run.
//!
//! Memory of a reader: names, what is alive in the program, and two or three bytes for each chunk (a quarter of a
//! MiB for 100 million calls). A file that was made to harm takes at most 16 MiB for each ring, 64 MiB ahead, and 1
//! GiB in all.

pub mod cells;
pub mod chunk_index;
pub mod disk;
pub mod error;
pub mod facts;
pub mod listing;
pub mod liveness;
pub mod names_complete;
pub mod names_file;
pub mod parts;
pub mod prefetch;
pub mod process_dir;
pub mod recorded_ring;
pub mod recording;
pub mod run_reader;
