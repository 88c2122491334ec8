//! Bytes of files, and what is read from them without knowledge of calls: words, fixed pages, times.

pub mod bytes;
pub mod clock;
pub mod file;
pub mod file_cache;
pub mod pages;
pub mod read_progress;
pub mod run_path;
pub mod run_root;
pub mod shared_descriptor;
pub mod store;
pub mod unopened_files;
