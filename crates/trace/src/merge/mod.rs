//! The events of all threads of a run as one stream in the order of their time.

pub mod active_sources;
pub mod end;
pub mod event_reader;
mod ranks;
pub mod reader_options;
mod retired;
pub mod runs;
