//! Owns the traced child and the run folder: launch, environment, signals, draining.
//!
//! [`trace()`] is `cutap trace`: it makes the run folder, unpacks the libraries, starts the collector
//! in a session of its own and the program in ours, stands in front of the program for the shell, and
//! ends as the program ended. [`env`](fn@env) prepares the same for a program that starts without us,
//! [`show`](fn@show) reads what a run left, [`recover`](fn@recover) puts it into a recording, [`report`](fn@report) adds it up. Nothing here knows a CUDA function or formats an event.

mod alone;
mod beside;
mod collector;
mod control;
mod ctl;
mod driver;
mod elf;
mod env;
mod environment;
mod error;
mod export;
mod filter;
mod folder;
mod front;
mod full;
mod hooks;
mod inherited;
mod keeper;
mod launch;
mod lease;
mod line;
mod nearest;
mod not_recorded;
mod orders;
mod outlive;
mod output;
mod output_name;
mod pack;
mod previous;
mod program;
mod quota;
mod record;
mod recover;
mod report;
mod show;
mod signals;
mod simulated;
mod spool;
mod stacks;
mod stays;
mod sums;
mod switch;
mod trace;
mod trim;
pub mod unpack;
mod unseen;
mod written;

pub use collector::{CollectorOptions, collect};
pub use ctl::{DumpOptions, dump};
pub use env::{EnvOptions, env};
pub use error::{Error, NOT_EXECUTABLE, NOT_FOUND, OWN_FAILURE, Result, reason};
pub use export::{ExportOptions, Format, export};
pub use front::Ended;
pub use full::{Full, Size};
pub use inherited::{file_size_limit_is_an_error, raise_file_limit};
pub use output::Form;
pub use pack::pack_file;
pub use recover::{RecoverOptions, recover};
pub use report::{Ask, ReportOptions, report};
pub use show::{ShowOptions, show};
pub use stacks::{StackSize, Stacks};
pub use switch::{Switch, switch};
pub use trace::{TraceOptions, trace};
pub use unpack::Embedded;
