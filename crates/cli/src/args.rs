//! Flags that several subcommands share. Each flag is declared once and flattened into the subcommands that have it.

use clap::{Args, ValueEnum};
use cutap_collect::{FlightRecorderSize, OutputFormat, OverflowPolicy, StackSize, Stacks, TraceOptions};
use std::ffi::OsString;
use std::path::PathBuf;

/// Which calls are recorded, shown or added up.
#[derive(Debug, Args)]
pub struct FilterArgs {
    /// Only these calls: names with *, layers (library, runtime, driver, kernel, lookup), libraries, ! for not
    #[arg(short = 'e', long, value_name = "FILTER")]
    pub filter: Option<String>,
}

/// Lines of JSON instead of text.
#[derive(Debug, Args)]
pub struct JsonArgs {
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// How calls are printed.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// Count calls, errors and times of each function instead of printing each call
    #[arg(short = 'c', long)]
    summary: bool,
    /// Only count calls, at least cost: no times, no errors
    #[arg(short = 'C', long = "count", conflicts_with = "summary")]
    counts: bool,
    #[command(flatten)]
    json: JsonArgs,
}

impl OutputArgs {
    pub fn format(&self) -> OutputFormat {
        OutputFormat { json: self.json.json, summary: self.summary, quiet: false, counts: self.counts }
    }
}

/// What a command reads.
#[derive(Debug, Args)]
pub struct InputArgs {
    /// A recording, or a run directory
    #[arg(value_name = "FILE")]
    pub run: PathBuf,
}

/// The simulated driver.
#[derive(Debug, Args)]
pub struct SimArgs {
    /// Run on the simulated driver: launches are accepted and not executed
    #[arg(long)]
    pub sim: bool,
}

/// Hook libraries.
#[derive(Debug, Args)]
pub struct HookArgs {
    /// Load this hook library, which may change calls; several work in this order
    #[arg(long = "hook", value_name = "FILE")]
    pub hooks: Vec<PathBuf>,
}

/// A program and how it is started.
#[derive(Debug, Args)]
pub struct ProgramArgs {
    #[command(flatten)]
    sim: SimArgs,
    /// Leave child processes alone
    #[arg(long)]
    no_follow_children: bool,
    #[command(flatten)]
    hooks: HookArgs,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROG")]
    program: Vec<OsString>,
}

impl ProgramArgs {
    /// The options of this program; everything else is as if no other flag was given.
    pub fn options(self) -> TraceOptions {
        let mut words = self.program.into_iter();
        TraceOptions {
            program: words.next().unwrap_or_default(),
            args: words.collect(),
            sim: self.sim.sim,
            no_follow: self.no_follow_children,
            hooks: self.hooks.hooks,
            ..TraceOptions::default()
        }
    }
}

/// Whether a thread may wait for room in its ring.
#[derive(Debug, Args)]
pub struct LossyArgs {
    /// Never wait: drop calls that do not fit, and count them
    #[arg(long)]
    lossy: bool,
}

impl LossyArgs {
    pub fn policy(&self) -> OverflowPolicy {
        if self.lossy { OverflowPolicy::Drop } else { OverflowPolicy::Wait }
    }
}

/// What happens when a thread makes calls faster than they can be written to the recording.
#[derive(Debug, Args)]
pub struct OverflowArgs {
    #[command(flatten)]
    lossy: LossyArgs,
    /// Keep only the newest calls: SIZE (such as 4M) for each thread, TOTAL (default 1G) for processes that have ended.
    /// They are written at the end, or by cutap ctl PID dump
    #[arg(long, value_name = "SIZE[,TOTAL]", conflicts_with = "lossy")]
    flight_recorder: Option<FlightRecorderSize>,
}

impl OverflowArgs {
    pub fn policy(&self) -> OverflowPolicy {
        self.flight_recorder.map_or_else(|| self.lossy.policy(), OverflowPolicy::Overwrite)
    }
}

/// What `--stack` without a filter stands for. No filter can be this text.
const OUTERMOST: &str = "<outermost>";

/// Of which calls the caller's stack is kept.
#[derive(Debug, Args)]
pub struct StackArgs {
    /// Also keep the caller's stack of these calls (FILTER as in -e: names, layers, libraries); without FILTER, of each
    /// call that the program itself makes
    #[arg(long, value_name = "FILTER", num_args = 0..=1, require_equals = true, default_missing_value = OUTERMOST)]
    stack: Option<String>,
    /// How much of each stack is copied, 512 to 64K
    #[arg(long, value_name = "SIZE", requires = "stack", default_value = "8K")]
    stack_size: StackSize,
}

impl StackArgs {
    pub fn stacks(self) -> Option<Stacks> {
        let size = self.stack_size;
        self.stack.map(|text| Stacks { filter: Some(text).filter(|t| t != OUTERMOST), size })
    }
}

/// When calls are recorded, and where meanwhile.
#[derive(Debug, Args)]
pub struct CaptureArgs {
    /// When to record: cudaProfilerApi, from cuProfilerStart to cuProfilerStop in each process (also those of the
    /// runtime)
    #[arg(long, value_name = "RANGE")]
    capture_range: Option<CaptureRange>,
    #[command(flatten)]
    stack: StackArgs,
    /// Use this run directory and keep it (for cutap show)
    #[arg(long, value_name = "DIR")]
    run_dir: Option<PathBuf>,
}

impl CaptureArgs {
    /// Adds what was asked to the options of a program.
    pub fn add_to(self, options: TraceOptions) -> TraceOptions {
        let range = self.capture_range.is_some();
        TraceOptions { range, stacks: self.stack.stacks(), run: self.run_dir, ..options }
    }
}

/// A part of the program's run, in the words of Nsight Systems.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum CaptureRange {
    #[value(name = "cudaProfilerApi")]
    CudaProfilerApi,
}
