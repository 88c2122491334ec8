//! Starts the traced program and owns its run directory: launch, collector, control page, environment.
//!
//! [`trace()`] makes the run directory, unpacks the libraries, starts the collector in a session of its own and the
//! program in the caller's session, waits in the foreground for the shell, and ends as the program ended.
//! [`env`](fn@env) prepares the same for a program that is started without cutap. Nothing here knows a CUDA function or
//! formats an event.

mod collector;
mod collector_options;
mod control;
mod default_name;
mod detach_notices;
mod drain;
mod driver;
mod ended_folders;
mod env;
mod environment;
mod error;
mod filter;
mod folder;
mod foreground;
mod foreground_channel;
pub mod hooks;
mod inherited_timers;
mod launch;
mod lease;
mod lingering_processes;
mod live_trace;
mod member;
mod nearest;
mod omission_notes;
mod outer_run;
mod output;
pub mod output_file;
mod output_name;
mod outside;
mod overflow_policy;
mod pack;
mod pack_progress;
mod previous;
mod program;
mod quota;
pub mod record;
mod record_summary;
mod replayable_pipe;
mod retention;
mod signals;
mod simulated;
mod stacks;
mod startup_state;
mod summary_checkpoint;
mod supervisor;
mod switching;
mod text_options;
mod trace;
mod trusted;
pub mod unpack;
mod user;
mod window;

pub use collector::collect;
pub use collector_options::CollectorOptions;
pub use control::{Page, ahead, fits};
pub use default_name::of_ranks;
pub use driver::{has_driver_library, library};
pub use env::{EnvOptions, env};
pub use error::{Error, NOT_EXECUTABLE, NOT_FOUND, OWN_FAILURE, Result, cannot, not_ours, print_notice, reason};
pub use filter::{filter, reader_filter};
pub use folder::fresh as fresh_run_directory;
pub use foreground::ExitKind;
pub use lingering_processes::{LingeringProcesses, started};
pub use member::Members;
pub use output::{OutputFormat, colour, keep_terminal, output, scan_executables, summary};
pub use outside::{forward_signals, start_outside};
pub use overflow_policy::{FlightRecorderSize, OverflowPolicy};
pub use pack::pack_file;
pub use program::find_on_path;
pub use record_summary::{file_size, record_summary};
pub use stacks::{StackSize, Stacks};
pub use startup_state::{file_size_limit_is_an_error, raise_file_limit};
pub use switching::{each_page, put_state, switch_flags};
pub use text_options::{ColourChoice, TextOptions};
pub use trace::{TraceOptions, trace};
pub use trusted::random_name;
pub use unpack::Embedded;
pub use user::own_uid;
pub use window::Window;
