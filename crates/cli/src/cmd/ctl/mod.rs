//! `cutap ctl PID ...`: switches what a running program records, or asks about it.

mod dump;
mod per_process_control;
mod status;
mod switch;
mod target;

use crate::stdout::print;
use clap::Subcommand;
use cutap_collect::Result;
use std::ffi::OsString;
use std::path::PathBuf;
use switch::{Switch, switch};
use target::Target;

#[derive(Debug, clap::Args)]
pub struct Ctl {
    /// The process to switch; or a run directory, for all its processes
    #[arg(value_name = "PID")]
    who: String,
    /// Switch all processes of its run
    #[arg(long)]
    all: bool,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Record what was armed when the program fetched its functions
    On,
    /// Let all calls pass, at next to no cost
    Off,
    /// Record only these calls of what was armed; as in trace -e
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

impl Ctl {
    pub fn run(self) -> Result<()> {
        let change = match self.what {
            What::Dump { output } => return dump::dump(&self.who, &output),
            What::Status => return print(&status::status(&Target::find(&self.who, self.all)?)),
            What::On => Switch::On,
            What::Off => Switch::Off,
            What::Filter { filter } => Switch::Filter(filter),
        };
        print(&switch(&Target::find(&self.who, self.all)?, &self.who, self.all, &change)?)
    }
}

/// What is wrong with `cutap ctl COMMAND PID`; none for other words.
pub fn reversed(words: &[OsString]) -> Option<String> {
    let words: Vec<&str> =
        words.iter().filter_map(|word| word.to_str()).filter(|word| !word.starts_with('-')).collect();
    match words[..] {
        ["ctl", command, who, ..] if What::has_subcommand(command) && !What::has_subcommand(who) => {
            Some(format!("the process comes first: cutap ctl {who} {command}"))
        }
        _ => None,
    }
}
