//! `cutap kernel env`: which variables of the environment CUDA's libraries read.

use super::trace::FILTER;
use crate::args::JsonArgs;
use crate::embedded::LIBRARIES;
use cutap_collect::{Result, TraceOptions};
use cutap_report::KernelStyle;
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Env {
    #[command(flatten)]
    json: JsonArgs,
    /// Write to FILE, not to standard error
    #[arg(short = 'o', value_name = "FILE")]
    file: Option<PathBuf>,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROG")]
    program: Vec<OsString>,
}

impl Env {
    pub fn run(self) -> Result<()> {
        let mut words = self.program.into_iter();
        let options = TraceOptions {
            kernel: Some(KernelStyle { json: self.json.json, environment: true, ..KernelStyle::default() }),
            filter: Some(FILTER.into()),
            output: self.file,
            program: words.next().unwrap_or_default(),
            args: words.collect(),
            ..TraceOptions::default()
        };
        cutap_collect::trace(LIBRARIES, &options)?.exit_like()
    }
}
