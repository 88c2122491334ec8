//! Sentences about the run: what is missing in it, and why.

pub mod footer;
pub mod gpu_clocks;
pub mod gpu_time;
pub mod gpu_totals;
pub mod messages;
pub mod messages_page;
pub mod missing_calls;
pub mod note_limit;
pub mod run_notes;
pub mod switched;
pub mod undecoded;
pub mod unseen;
