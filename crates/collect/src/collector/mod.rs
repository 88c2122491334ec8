//! The process that drains the rings while the program runs.

pub mod clock_sampler;
pub mod collect;
pub mod collector_options;
pub mod detach_notices;
pub mod drain;
pub mod ended_folders;
pub mod foreground_channel;
pub mod hang_watch;
pub mod kept_calls;
pub mod live_trace;
pub mod replayable_pipe;
pub mod retention;
pub mod summary_checkpoint;
