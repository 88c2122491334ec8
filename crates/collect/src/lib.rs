//! Starts the traced program and owns its run directory: launch, collector, control page, environment.
//!
//! [`trace()`] makes the run directory and unpacks the libraries. It starts the collector in a separate session and the
//! program in the caller's session. It waits in the foreground for the shell, and ends as the program ended.
//! [`env`](fn@env) prepares the same for a program that is started without cutap. Nothing here knows a CUDA function or
//! formats an event.

mod base;
mod collector;
mod front;
pub mod hooks;
mod inject;
mod limit;
mod options;
mod output;
pub mod record;
mod run_dir;
mod start;

pub use base::default_name::of_ranks;
pub use base::error::{Error, NOT_EXECUTABLE, NOT_FOUND, OWN_FAILURE, Result, cannot, not_ours, print_notice, reason};
pub use base::trusted::random_name;
pub use base::user::own_uid;
pub use collector::collect::collect;
pub use collector::collector_options::CollectorOptions;
pub use front::env::{EnvOptions, env};
pub use front::outside::{forward_signals, start_outside};
pub use front::trace::trace;
pub use front::trace_options::TraceOptions;
pub use inject::{
    CallSite, FunctionName, InjectRule, Injection, Replaced, read_sites, replace_rules, rules_of_file, typical_error,
};
pub use limit::{Gpus, MemoryLimit};
pub use options::capture_range::CaptureRange;
pub use options::driver_choice::DriverChoice;
pub use options::filter::filter;
pub use options::overflow_policy::{FlightRecorderSize, OverflowPolicy};
pub use options::python::Python;
pub use options::stacks::{StackSize, Stacks};
pub use output::output_file;
pub use output::output_format::{OutputFormat, colour, keep_terminal, output, scan_executables, summary};
pub use output::record_summary::{file_size, record_summary};
pub use output::text_options::{ColourChoice, TextOptions};
pub use record::pack::pack_file;
pub use run_dir::control::{Page, ahead, fits};
pub use run_dir::folder::fresh as fresh_run_directory;
pub use run_dir::lingering_processes::{LingeringProcesses, started};
pub use run_dir::live_threads::{has_thread, stopped, system_call};
pub use run_dir::member::Members;
pub use run_dir::switching::{each_page, put_state, switch_flags};
pub use run_dir::window::Window;
pub use start::driver::{has_driver_library, library};
pub use start::exit_kind::ExitKind;
pub use start::program::find_on_path;
pub use start::startup_state::{file_size_limit_is_an_error, raise_file_limit};
pub use start::unpack;
pub use start::unpack::Embedded;
