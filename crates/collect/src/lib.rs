//! Owns the traced child and the run directory: launch, environment, signals, draining.
//!
//! [`trace()`] is `cutap trace`: it makes the run directory, unpacks the libraries, starts the collector
//! in a session of its own and the program in ours, stands in front of the program for the shell, and
//! ends as the program ended. [`env`](fn@env) prepares the same for a program that starts without us,
//! [`show`](fn@show) reads what a run left, [`recover`](fn@recover) puts it into a recording, [`report`](fn@report) adds it up. Nothing here knows a CUDA function or formats an event.

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
mod foreground;
mod foreground_channel;
mod hooks;
mod inherited_timers;
mod launch;
mod lease;
mod lingering;
mod nearest;
mod not_recorded;
mod output;
mod output_file;
mod output_name;
mod overflow_policy;
mod pack;
mod per_process_control;
mod previous;
mod program;
mod quota;
mod reader_thread;
mod record;
mod recover;
mod replayable_pipe;
mod report;
mod retention;
mod show;
mod signals;
mod simulated;
mod stacks;
mod startup_state;
mod stays;
mod summary_checkpoint;
mod supervisor;
mod switch;
mod trace;
pub mod unpack;
mod unseen;

pub use collector::{CollectorOptions, collect};
pub use ctl::{DumpOptions, dump};
pub use env::{EnvOptions, env};
pub use error::{Error, NOT_EXECUTABLE, NOT_FOUND, OWN_FAILURE, Result, reason};
pub use export::{ExportOptions, Format, export};
pub use foreground::ExitKind;
pub use output::OutputFormat;
pub use overflow_policy::{FlightRecorderSize, OverflowPolicy};
pub use pack::pack_file;
pub use recover::{RecoverOptions, recover};
pub use report::{Ask, ReportOptions, report};
pub use show::{ShowOptions, show};
pub use stacks::{StackSize, Stacks};
pub use startup_state::{file_size_limit_is_an_error, raise_file_limit};
pub use switch::{Switch, switch};
pub use trace::{TraceOptions, trace};
pub use unpack::Embedded;
