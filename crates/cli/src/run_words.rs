//! The words of `cutap run`, and what they turn into.

use clap::Args;
use cutap_collect::{OutputFormat, OverflowPolicy, TraceOptions};
use std::ffi::OsString;
use std::path::PathBuf;

/// `cutap run`.
#[derive(Debug, Args)]
pub struct Run {
    /// Load this hook library, which may change calls; several work in this order
    #[arg(long = "hook", value_name = "FILE", required = true)]
    hooks: Vec<PathBuf>,
    /// Run on the simulated driver: launches are accepted and not executed
    #[arg(long)]
    sim: bool,
    /// Leave child processes alone
    #[arg(long)]
    no_follow: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROG")]
    program: Vec<OsString>,
}

impl From<Run> for TraceOptions {
    fn from(words: Run) -> TraceOptions {
        let mut program = words.program;
        let args = program.split_off(1);
        TraceOptions {
            form: OutputFormat { quiet: true, ..OutputFormat::default() },
            record: false,
            filter: None,
            output: None,
            force: false,
            sim: words.sim,
            no_follow: words.no_follow,
            range: false,
            stacks: None,
            full: OverflowPolicy::default(),
            dump_modules: None,
            run: None,
            hooks: words.hooks,
            program: program.remove(0),
            args,
        }
    }
}
