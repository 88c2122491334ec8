//! The words of `cutap record`, and what they turn into.

use crate::stack_words::StackArgs;
use crate::when_words::{OverflowArgs, Range};
use clap::Args;
use cutap_collect::{OutputFormat, TraceOptions};
use std::ffi::OsString;
use std::path::PathBuf;

/// `cutap record`.
#[derive(Debug, Args)]
pub struct Record {
    /// The file to write, run.cutap if nothing is said (one that is there becomes run.cutap.old); in its name %p is cutap's process
    /// id, %h the host's name, %q{NAME} an environment variable, %% a percent sign
    #[arg(short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write over a FILE that is no recording
    #[arg(long)]
    force: bool,
    /// Record only these; as in trace (what is asked of results and durations is asked again at show)
    #[arg(short = 'e', long = "only", value_name = "FILTER")]
    filter: Option<String>,
    /// Run on the simulated driver: launches are accepted and not executed
    #[arg(long)]
    sim: bool,
    /// Leave child processes alone
    #[arg(long)]
    no_follow: bool,
    #[command(flatten)]
    when_full: OverflowArgs,
    /// When to record: profiler, from cuProfilerStart to cuProfilerStop in each process (of the runtime too)
    #[arg(long, value_name = "WHEN")]
    range: Option<Range>,
    #[command(flatten)]
    stack: StackArgs,
    /// Use and keep this run directory
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,
    /// Load this hook library, which may change calls; several work in this order
    #[arg(long = "hook", value_name = "FILE")]
    hooks: Vec<PathBuf>,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROG")]
    program: Vec<OsString>,
}

impl From<Record> for TraceOptions {
    fn from(words: Record) -> TraceOptions {
        let mut program = words.program;
        let args = program.split_off(1);
        TraceOptions {
            form: OutputFormat::default(),
            record: true,
            filter: words.filter,
            output: words.output,
            force: words.force,
            sim: words.sim,
            no_follow: words.no_follow,
            range: words.range.is_some(),
            stacks: words.stack.stacks(),
            dump_modules: None,
            full: words.when_full.full(),
            run: words.run,
            hooks: words.hooks,
            program: program.remove(0),
            args,
        }
    }
}
