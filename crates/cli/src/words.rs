//! The words of the command line, each declared once, and what they turn into. No decision is made
//! here.

use crate::export_words::Export;
use crate::report_words::Report;
use crate::stack_words::StackArgs;
use crate::when_words::{OverflowArgs, Range};
use clap::{Args, Parser, Subcommand};
use cutap_collect::{
    CollectorOptions, EnvOptions, OutputFormat, OverflowPolicy, RecoverOptions, ShowOptions, TraceOptions,
};
use std::ffi::OsString;
use std::path::PathBuf;

/// strace + ltrace for CUDA: every call of toolkit libraries, runtimes and driver of an unmodified program.
#[derive(Debug, Parser)]
#[command(name = "cutap", version, disable_help_subcommand = true, after_help = EXIT_CODES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "Exit code of trace and record: the program's own (or death by the same signal); \
    125 cutap itself failed or could not write the trace, 126 the program cannot be run, 127 there is no such program.";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a program and print its calls while it runs
    Trace(Trace),
    /// Run a program and put its calls into a file, at least cost; cutap show FILE prints them
    Record(crate::record_words::Record),
    /// Run a program under hook libraries that change its calls, and record nothing
    Run(crate::run_words::Run),
    /// Print the environment that traces without us: eval "$(cutap env -o DIR)"
    Env(Env),
    /// Print what a recording or a run directory holds, while the program runs or after
    Show(Show),
    /// Add up what a recording or a run directory holds: tables, the call tree, errors, leaks, waits
    Report(Report),
    /// Write a recording or a run directory for Perfetto, Chrome or other programs
    Export(Export),
    /// Take what a run directory still holds into a recording, when a collector was killed
    Recover(Recover),
    /// Switch what a program that runs under cutap records, or ask something of it, without stopping it
    Ctl(Ctl),
    /// Pack a recording more tightly, as record does at its end; for one that was recovered
    Pack(Pack),
    /// Say how a program or library reaches CUDA, and which of its calls a trace will see
    Inspect(Inspect),
    /// Say what is known of a function, or which functions a library has
    Api(Api),
    /// Print cutap_hook.h, with which a hook library is written in C
    HookHeader,
    /// The collector process of trace
    #[command(name = "__collect", hide = true)]
    Collect(Collect),
}

/// Which events, in which form.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// Print only these: names with *, layers (library, runtime, driver, lookup), libraries, ! for not
    #[arg(short = 'e', long = "only", value_name = "FILTER")]
    filter: Option<String>,
    /// Count calls, errors and times a function instead of printing each call
    #[arg(short = 'c')]
    summary: bool,
    /// Only count calls, at least cost: no times, no errors
    #[arg(short = 'C', long = "count", conflicts_with = "summary")]
    counts: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

impl OutputArgs {
    fn form(&self) -> OutputFormat {
        OutputFormat { json: self.json, summary: self.summary, quiet: false, counts: self.counts }
    }
}

/// `cutap trace`.
#[derive(Debug, Args)]
pub struct Trace {
    #[command(flatten)]
    looks: OutputArgs,
    /// Write to FILE, not to standard error; %p, %h, %q{NAME} in it as in record
    #[arg(short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,
    /// Run on the simulated driver: launches are accepted and not executed
    #[arg(long)]
    sim: bool,
    /// Leave child processes alone
    #[arg(long)]
    no_follow: bool,
    /// When to record: profiler, from cuProfilerStart to cuProfilerStop in each process (of the runtime too)
    #[arg(long, value_name = "WHEN")]
    range: Option<Range>,
    #[command(flatten)]
    stack: StackArgs,
    /// Keep each cubin, PTX and fatbin that the program loads in DIR
    #[arg(long, value_name = "DIR")]
    dump_modules: Option<PathBuf>,
    /// Never wait: drop calls that are made faster than they can be printed, and count them
    #[arg(long)]
    lossy: bool,
    /// Use and keep this run directory (for cutap show)
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,
    /// Load this hook library, which may change calls; several work in this order
    #[arg(long = "hook", value_name = "FILE")]
    hooks: Vec<PathBuf>,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROG")]
    program: Vec<OsString>,
}

impl From<Trace> for TraceOptions {
    fn from(words: Trace) -> TraceOptions {
        let mut program = words.program;
        let args = program.split_off(1);
        TraceOptions {
            form: words.looks.form(),
            record: false,
            filter: words.looks.filter,
            output: words.output,
            force: false,
            sim: words.sim,
            no_follow: words.no_follow,
            range: words.range.is_some(),
            stacks: words.stack.stacks(),
            dump_modules: words.dump_modules,
            full: OverflowPolicy::from_words(words.lossy, None),
            run: words.run,
            hooks: words.hooks,
            program: program.remove(0),
            args,
        }
    }
}

/// `cutap env`.
#[derive(Debug, Args)]
pub struct Env {
    /// The run directory to make; cutap show DIR reads it
    #[arg(short = 'o', value_name = "DIR")]
    run: PathBuf,
    /// Record only these; as in trace
    #[arg(short = 'e', long = "only", value_name = "FILTER")]
    filter: Option<String>,
    /// Use the simulated driver
    #[arg(long)]
    sim: bool,
    #[command(flatten)]
    when_full: OverflowArgs,
    #[command(flatten)]
    stack: StackArgs,
    /// Load this hook library, which may change calls; several work in this order
    #[arg(long = "hook", value_name = "FILE")]
    hooks: Vec<PathBuf>,
    /// Record nothing: only the hooks work
    #[arg(long, requires = "hooks", conflicts_with = "filter")]
    only_hooks: bool,
}

impl From<Env> for EnvOptions {
    fn from(words: Env) -> EnvOptions {
        EnvOptions {
            full: words.when_full.full(),
            run: words.run,
            filter: words.filter,
            sim: words.sim,
            stacks: words.stack.stacks(),
            hooks: words.hooks,
            only_hooks: words.only_hooks,
        }
    }
}

/// `cutap show`.
#[derive(Debug, Args)]
pub struct Show {
    #[command(flatten)]
    looks: OutputArgs,
    /// The run directory, or a recording
    #[arg(value_name = "DIR")]
    run: PathBuf,
}

impl From<Show> for ShowOptions {
    fn from(words: Show) -> ShowOptions {
        ShowOptions { form: words.looks.form(), filter: words.looks.filter, run: words.run }
    }
}

/// `cutap recover`.
#[derive(Debug, Args)]
pub struct Recover {
    /// The recording to add to, or to make
    #[arg(short = 'o', value_name = "FILE")]
    output: PathBuf,
    /// The run directory
    #[arg(value_name = "DIR")]
    run: PathBuf,
}

impl From<Recover> for RecoverOptions {
    fn from(words: Recover) -> RecoverOptions {
        RecoverOptions { run: words.run, output: words.output }
    }
}

/// `cutap ctl`.
#[derive(Debug, Args)]
pub struct Ctl {
    /// The process that is switched; or the run directory, for all
    #[arg(value_name = "PID")]
    pub who: String,
    /// Switch all processes of its run
    #[arg(long)]
    pub all: bool,
    /// What to do.
    #[command(subcommand)]
    pub what: What,
}

/// What `cutap ctl` can do.
#[derive(Debug, Subcommand)]
pub enum What {
    /// Record what was armed when the program fetched its functions
    On,
    /// Let all calls pass, at next to no cost
    Off,
    /// Record only these of what was armed; as in trace -e
    Filter {
        /// The filter; all undoes it
        #[arg(value_name = "FILTER")]
        filter: String,
    },
    /// Say what is recorded, and of which processes
    Status,
    /// Write what a flight recorder holds now to a new file
    Dump {
        /// The file to make
        #[arg(short = 'o', value_name = "FILE", default_value = "dump.cutap")]
        output: PathBuf,
    },
}

/// `cutap pack`.
#[derive(Debug, Args)]
pub struct Pack {
    /// The recording
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// `cutap inspect`.
#[derive(Debug, Args)]
pub struct Inspect {
    /// One JSON object a file
    #[arg(long)]
    pub json: bool,
    /// Programs and libraries
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// `cutap api`.
#[derive(Debug, Args)]
pub struct Api {
    /// The names of all functions of driver, runtime, cublas, ..., one a line
    #[arg(long, value_name = "LIBRARY")]
    pub list: Option<String>,
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
    /// Exported names (cuMemAlloc_v2), or patterns ('cuMem*'): those one a line
    #[arg(required_unless_present = "list", conflicts_with = "list", value_name = "NAME")]
    pub names: Vec<String>,
}

/// The collector.
#[derive(Debug, Args)]
pub struct Collect {
    #[command(flatten)]
    looks: OutputArgs,
    #[arg(long)]
    run: PathBuf,
    #[arg(long)]
    record: bool,
    #[arg(long)]
    quiet: bool,
    #[arg(long)]
    temporary: bool,
    #[arg(long)]
    again: bool,
    #[arg(long)]
    own_file: bool,
    #[arg(long)]
    spool: Option<i32>,
    #[arg(long, default_value_t = 0)]
    total: u64,
}

impl From<Collect> for CollectorOptions {
    fn from(words: Collect) -> CollectorOptions {
        CollectorOptions {
            form: OutputFormat { quiet: words.quiet, ..words.looks.form() },
            filter: words.looks.filter,
            run: words.run,
            record: words.record,
            temporary: words.temporary,
            again: words.again,
            own_file: words.own_file,
            spool: words.spool,
            total: words.total,
        }
    }
}
