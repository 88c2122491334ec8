//! `cutap record`: runs a program and writes its calls to a recording.

use crate::args::{CaptureArgs, ChatterArgs, FilterArgs, OverflowArgs, ProgramArgs, time};
use crate::embedded::LIBRARIES;
use cutap_collect::{Error, OverflowPolicy, Result, TraceOptions};
use std::path::PathBuf;
use std::time::Duration;

/// How the ranks of a job are recorded, at the end of the help.
const RANKS: &str = "Ranks of a job, each into run.RANK.cutap (docs/how-to/launchers.md):\n  \
    torchrun --no-python cutap record -- python3 train.py\n";

#[derive(Debug, clap::Args)]
#[command(after_help = RANKS)]
pub struct Record {
    #[command(flatten)]
    filter: FilterArgs,
    /// The file to write, by default run.cutap, of a rank run.RANK.cutap; %p, %h, %q{NAME}: process, host, environment
    #[arg(short = 'o', value_name = "FILE")]
    file: Option<PathBuf>,
    /// Write over a FILE that is no recording
    #[arg(long)]
    force: bool,
    /// Save what cutap where says when the program has waited in a call for so long and done nothing else: 60, 5m
    #[arg(long, value_name = "TIME", value_parser = time)]
    on_hang: Option<Duration>,
    #[command(flatten)]
    overflow: OverflowArgs,
    #[command(flatten)]
    capture: CaptureArgs,
    #[command(flatten)]
    chatter: ChatterArgs,
    #[command(flatten)]
    program: ProgramArgs,
}

impl Record {
    pub fn run(mut self) -> Result<()> {
        if self.on_hang.is_some() && matches!(self.overflow.policy(), OverflowPolicy::Overwrite(_)) {
            return Err(Error::own(
                "--on-hang reads the recording while the program runs, and a flight recorder writes it at the end; \
                 leave one of them out",
            ));
        }
        let rules = self.filter.take_rules();
        let options = TraceOptions {
            record: true,
            on_hang: self.on_hang,
            filter: self.filter.text(),
            output: self.file,
            force: self.force,
            full: self.overflow.policy(),
            count_chatter: self.chatter.counts(),
            ..self.capture.add_to(self.program.options_with(&rules)?)?
        };
        cutap_collect::trace(LIBRARIES, &options)?.exit_like()
    }
}
