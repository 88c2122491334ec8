//! `cutap record`: runs a program and writes its calls to a recording.

use crate::args::{CaptureArgs, ChatterArgs, FilterArgs, OverflowArgs, ProgramArgs};
use crate::embedded::LIBRARIES;
use cutap_collect::{Result, TraceOptions};
use std::path::PathBuf;

/// How the ranks of a job are recorded, at the end of the help.
const RANKS: &str = "Ranks of a job, each into run.RANK.cutap (docs/how-to/containers-and-slurm.md):\n  \
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
    pub fn run(self) -> Result<()> {
        let options = TraceOptions {
            record: true,
            filter: self.filter.text(),
            output: self.file,
            force: self.force,
            full: self.overflow.policy(),
            count_chatter: self.chatter.counts(),
            ..self.capture.add_to(self.program.options()?)?
        };
        cutap_collect::trace(LIBRARIES, &options)?.exit_like()
    }
}
