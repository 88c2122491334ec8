//! The options of `cutap trace` and `cutap record`.

use crate::inject::Injection;
use crate::limit::MemoryLimit;
use crate::options::capture_range::CaptureRange;
use crate::options::driver_choice::DriverChoice;
use crate::options::overflow_policy::OverflowPolicy;
use crate::options::python::Python;
use crate::options::stacks::Stacks;
use crate::output::output_format::OutputFormat;
use crate::run_dir::window::Window;
use cutap_report::KernelStyle;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// What `cutap trace` or `cutap record` was asked.
#[derive(Debug, Default)]
pub struct TraceOptions {
    /// The filter's text; none wants all.
    pub filter: Option<String>,
    /// How to print.
    pub form: OutputFormat,
    /// Print calls to the kernel driver alone, in this style.
    pub kernel: Option<KernelStyle>,
    /// What --deny and --fail ask for, as the target reads it.
    pub kernel_answers: Vec<u8>,
    /// Do not print: put what the rings hold into a recording.
    pub record: bool,
    /// Where to print, if not on standard error; or where to record, if not to the default file. A pattern.
    pub output: Option<PathBuf>,
    /// Record over a file that is no recording.
    pub force: bool,
    /// The driver of the program.
    pub driver: DriverChoice,
    /// Leave children alone.
    pub no_follow: bool,
    /// What a thread does whose ring is full.
    pub full: OverflowPolicy,
    /// Record between cuProfilerStart and cuProfilerStop only.
    pub range: Option<CaptureRange>,
    /// Keep stacks of these.
    pub stacks: Option<Stacks>,
    /// Keep Python frames of these.
    pub python: Option<Python>,
    /// Save what `cutap where` says when the program has hung for so long.
    pub on_hang: Option<Duration>,
    /// Take the GPU time of kernels, copies and sets.
    pub gpu_time: bool,
    /// Count calls of functions that start no work, and record only those of them that fail.
    pub count_chatter: bool,
    /// Where module images go.
    pub dump_modules: Option<PathBuf>,
    /// What rules do to calls.
    pub injection: Injection,
    /// What `--limit-memory` allows.
    pub limits: Vec<MemoryLimit>,
    /// The folder of accounts that several runs share.
    pub accounts: Option<PathBuf>,
    /// Hook libraries, in their order.
    pub hooks: Vec<PathBuf>,
    /// A run directory that stays.
    pub run: Option<PathBuf>,
    /// The part of the run that is recorded.
    pub window: Window,
    /// Variables of the program, and their values; none removes one.
    pub environment: Vec<(OsString, Option<OsString>)>,
    /// Say nothing that is no failure.
    pub silent: bool,
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
}
