//! The run directory and its processes: the folder, the control page, switches by time, and who still uses it.

pub mod control;
pub mod folder;
pub mod lease;
pub mod lingering_processes;
pub mod live_threads;
pub mod member;
pub mod outer_run;
pub mod quota;
pub mod switching;
pub mod window;
