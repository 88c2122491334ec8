//! `cutap ctl PID ...`: switches what a running program records, or asks about it. Without a process it lists those
//! that run.

mod dump;
mod gpu_time;
mod list;
mod per_process_control;
mod rules;
mod status;
mod switch;
mod target;
mod threads;

pub use target::{run_of, running};

use crate::stdout::print;
use clap::Subcommand;
use cutap_collect::{Error, Result};
use std::ffi::OsString;
use std::path::PathBuf;
use switch::{Switch, switch};
use target::Target;

#[derive(Debug, clap::Args)]
pub struct Ctl {
    /// The process to switch; or a run directory, for all its processes. Without it, running programs are listed
    #[arg(value_name = "PID")]
    process: Option<String>,
    /// Switch all processes of its run
    #[arg(long)]
    all: bool,
    #[command(subcommand)]
    command: Option<CtlCommand>,
}

#[derive(Debug, Subcommand)]
enum CtlCommand {
    /// Record calls, but only of functions that the filter at the start wanted
    On,
    /// Let all calls pass, at next to no cost
    Off,
    /// Record only these calls, of those that the filter at the start wanted; as in trace -e
    Filter {
        /// The filter; all undoes it
        #[arg(value_name = "FILTER")]
        filter: String,
    },
    /// Switch the rows of GPU time alone, in a run that was started with --gpu-time
    GpuTime {
        /// on or off; the program notices it within a second
        #[arg(value_name = "on|off")]
        state: gpu_time::GpuTimeState,
    },
    /// Put the rules of FILE in the place of those that hold, or end them all
    Rules {
        /// A file as of --rules, or off
        #[arg(value_name = "FILE|off")]
        rules: PathBuf,
    },
    /// Say what is recorded, of which processes, and in which call each thread is
    Status,
    /// Write what a flight recorder holds now to a new file
    Dump {
        /// The file to make
        #[arg(short = 'o', value_name = "FILE", default_value = "dump.cutap")]
        output: PathBuf,
    },
}

impl CtlCommand {
    /// The word on the command line.
    fn name(&self) -> &'static str {
        match self {
            CtlCommand::On => "on",
            CtlCommand::Off => "off",
            CtlCommand::Filter { .. } => "filter FILTER",
            CtlCommand::GpuTime { .. } => "gpu-time on",
            CtlCommand::Rules { .. } => "rules FILE",
            CtlCommand::Status => "status",
            CtlCommand::Dump { .. } => "dump",
        }
    }
}

impl Ctl {
    pub fn run(self) -> Result<()> {
        let process = match (self.process, &self.command) {
            (Some(who), _) => who,
            (None, None) => return print(&list::list()),
            (None, Some(what)) => {
                let name = what.name();
                return Err(Error::own(format!(
                    "the process is missing; write cutap ctl PID {name}; a plain cutap ctl lists running programs"
                )));
            }
        };
        let change = match self.command {
            Some(CtlCommand::Dump { output }) => return dump::dump(&process, &output),
            Some(CtlCommand::Status) | None => return print(&status::status(&Target::find(&process, self.all)?)),
            Some(CtlCommand::GpuTime { state }) => {
                return print(&gpu_time::switch(&Target::find(&process, self.all)?, &process, self.all, state)?);
            }
            Some(CtlCommand::Rules { rules }) => return print(&rules::replace(&process, &rules)?),
            Some(CtlCommand::On) => Switch::On,
            Some(CtlCommand::Off) => Switch::Off,
            Some(CtlCommand::Filter { filter }) => Switch::Filter(filter),
        };
        print(&switch(&Target::find(&process, self.all)?, &process, self.all, &change)?)
    }
}

/// What is wrong with `cutap ctl COMMAND PID`; none for other words.
pub fn reversed(words: &[OsString]) -> Option<String> {
    let words: Vec<&str> =
        words.iter().filter_map(|word| word.to_str()).filter(|word| !word.starts_with('-')).collect();
    match words[..] {
        ["ctl", command, who, ..] if CtlCommand::has_subcommand(command) && !CtlCommand::has_subcommand(who) => {
            Some(format!("the process comes first: cutap ctl {who} {command}"))
        }
        _ => None,
    }
}
