//! `cutap trace`: runs a program and prints its calls while it runs.

use crate::args::{CaptureArgs, FilterArgs, LossyArgs, OutputArgs, ProgramArgs};
use crate::embedded::LIBRARIES;
use crate::heading;
use crate::topics::filters_short;
use cutap_collect::{Result, TraceOptions};
use std::ffi::OsStr;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = filters_short())]
pub struct Trace {
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    output: OutputArgs,
    /// Write to FILE, not to standard error; %p, %h, %q{NAME} as in record
    #[arg(short = 'o', value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    capture: CaptureArgs,
    /// Keep each cubin, PTX and fat binary that the program loads in DIR
    #[arg(long, value_name = "DIR", help_heading = heading::RECORDED)]
    dump_modules: Option<PathBuf>,
    #[command(flatten)]
    lossy: LossyArgs,
    #[command(flatten)]
    program: ProgramArgs,
}

impl Trace {
    /// The name of the program.
    pub fn program(&self) -> &OsStr {
        self.program.program()
    }

    pub fn run(mut self) -> Result<()> {
        let rules = self.filter.take_rules();
        let options = TraceOptions {
            form: self.output.format(),
            filter: self.filter.text(),
            output: self.file,
            dump_modules: self.dump_modules,
            full: self.lossy.policy(),
            ..self.capture.add_to(self.program.options_with(&rules)?)?
        };
        cutap_collect::trace(LIBRARIES, &options)?.exit_like()
    }
}
