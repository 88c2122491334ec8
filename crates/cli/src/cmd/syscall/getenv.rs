//! `cutap syscall getenv`: which variables of the environment CUDA's libraries read, in a run or by the
//! names in a file.

use super::{named, own, trace::FILTER};
use crate::args::JsonArgs;
use crate::embedded::LIBRARIES;
use crate::stdout::print;
use cutap_collect::{Result, TraceOptions};
use cutap_kernel::scan::{Binary, env};
use cutap_report::KernelStyle;
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Getenv {
    #[command(flatten)]
    json: JsonArgs,
    /// Run nothing: print the names of variables in this library, such as libcuda.so.1
    #[arg(long, value_name = "LIBRARY", conflicts_with_all = ["file", "program"])]
    scan: Vec<PathBuf>,
    /// Write to FILE, not to standard error
    #[arg(short = 'o', value_name = "FILE")]
    file: Option<PathBuf>,
    /// The program and its arguments
    #[arg(required_unless_present = "scan", trailing_var_arg = true, value_name = "PROG")]
    program: Vec<OsString>,
}

impl Getenv {
    pub fn run(self) -> Result<()> {
        if !self.scan.is_empty() {
            return self.scan();
        }
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

    fn scan(&self) -> Result<()> {
        for file in &self.scan {
            let variables = env::variables(&Binary::read(&named(file)).map_err(own)?);
            let name = file.to_string_lossy();
            print(&if self.json.json { env::json(&name, &variables) } else { env::text(&name, &variables) })?;
        }
        Ok(())
    }
}
