//! What a program does now. This crate follows a run directory, adds up each interval, and shows the sums as text or on
//! a terminal. It knows no command line.
//!
//! [`LiveRun`] reads events. [`Activity`] adds them up, and a [`Snapshot`] is one interval. [`text::write_snapshot`]
//! and [`Screen`] show it.

mod activity;
mod devices;
mod function_sums;
mod live_run;
mod open_calls;
mod screen;
mod snapshot;
pub mod text;
mod view;

pub use activity::Activity;
pub use live_run::LiveRun;
pub use screen::Screen;
pub use snapshot::{DeviceShare, MemoryHeld, OpenCall, Snapshot, SumsRow};
pub use view::{Grouping, Key, SortColumn, View};
