//! The subcommands, one in each file: its flags and what it does.

mod api;
mod collector;
mod completions;
pub mod ctl;
mod demo;
mod devices;
mod diff;
mod doctor;
mod env;
mod explain;
mod export;
mod help;
mod hook_header;
mod inspect;
mod kernel;
mod man;
mod pack;
mod record;
mod recover;
mod reference;
mod report;
mod run;
mod show;
pub mod trace;

use clap::Subcommand;
use cutap_collect::Result;

/// A subcommand with its flags.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a program and print its calls while it runs
    Trace(trace::Trace),
    /// Run a program and write its calls to a file, at least cost; cutap show FILE prints them
    Record(record::Record),
    /// Run a program under hook libraries that change its calls, and record nothing
    Run(run::Run),
    /// Print the environment in which any program is traced: eval "$(cutap env -o DIR)"
    Env(env::Env),
    /// Print the calls of a recording or a run directory, while the program runs or later
    Show(show::Show),
    /// Add up the calls of a recording or a run directory: tables, the call tree, errors, leaks, waits
    Report(report::Report),
    /// Look for likely problems in a recording or a run directory: the worst first, with evidence and advice
    Explain(explain::ExplainArgs),
    /// Compare the calls of two recordings or run directories
    Diff(diff::DiffArgs),
    /// Write a recording or a run directory in the format of Perfetto, Chrome or other programs
    Export(export::Export),
    /// Add what a run directory still holds to a recording, when a collector was killed
    Recover(recover::Recover),
    /// Switch what a program that runs under cutap records, or ask about it, without stopping it
    Ctl(ctl::Ctl),
    /// Pack a recording more tightly, as record does at its end; for one that was recovered
    Pack(pack::Pack),
    /// Say how a program or library reaches CUDA, and which of its calls a trace will see
    Inspect(inspect::Inspect),
    /// Say what is known of a function, or which functions a library has
    Api(api::Api),
    /// Say what the kernel driver knows of the GPUs, without libcuda, and what is missing
    Devices(devices::Devices),
    /// Trace, decode and compare what a program sends to the kernel driver
    #[command(subcommand)]
    Kernel(kernel::Kernel),
    /// Print cutap_hook.h, with which a hook library is written in C
    HookHeader,
    /// Trace a small program that cutap brings along; no GPU is needed
    Demo(demo::Demo),
    /// Say what works on this machine, what does not, and what to do
    Doctor(doctor::Doctor),
    /// Explain a command or a topic: filters, output, files, hooks, environment, strace
    Help(help::Help),
    /// Write man pages into a directory
    Man(man::Man),
    /// Print shell completions: source <(cutap completions bash)
    Completions(completions::Completions),
    #[command(name = "__reference", hide = true)]
    Reference(reference::Reference),
    #[command(name = "__demo-program", hide = true)]
    DemoProgram,
    #[command(name = "__collect", hide = true)]
    Collector(collector::Collector),
}

impl Command {
    pub fn run(self) -> Result<()> {
        match self {
            Command::Trace(args) => args.run(),
            Command::Record(args) => args.run(),
            Command::Run(args) => args.run(),
            Command::Env(args) => args.run(),
            Command::Show(args) => args.run(),
            Command::Report(args) => args.run(),
            Command::Export(args) => args.run(),
            Command::Recover(args) => args.run(),
            Command::Ctl(args) => args.run(),
            Command::Pack(args) => args.run(),
            Command::Inspect(args) => args.run(),
            Command::Api(args) => args.run(),
            Command::Devices(args) => args.run(),
            Command::Kernel(command) => command.run(),
            Command::HookHeader => hook_header::run(),
            Command::Help(args) => args.run(),
            Command::Explain(args) => args.run(),
            Command::Diff(args) => args.run(),
            Command::Demo(args) => args.run(),
            Command::Reference(args) => args.run(),
            Command::DemoProgram => demo::program(),
            Command::Doctor(args) => args.run(),
            Command::Man(args) => args.run(),
            Command::Completions(args) => args.run(),
            Command::Collector(args) => args.run(),
        }
    }
}
