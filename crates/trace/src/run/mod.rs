//! The files of one run, in a run directory or a recording: its processes, rings and names, and facts about the run.

pub mod chunk_index;
pub mod disk;
pub mod error;
pub mod facts;
pub mod listing;
pub mod liveness;
pub mod names_complete;
pub mod names_file;
pub mod prefetch;
pub mod process_dir;
pub mod recording;
pub mod run_reader;
