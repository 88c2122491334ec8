//! The subcommands, one in each file: its flags and what it does.

mod api;
mod chaos;
mod check;
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
mod export_tables;
mod gpu_clocks;
mod help;
mod hook_header;
mod inspect;
mod man;
mod pack;
mod query;
mod record;
mod recover;
mod reference;
mod report;
mod run;
mod show;
pub mod syscall;
mod top;
pub mod trace;
mod view;
mod where_threads;

use clap::Subcommand;
use cutap_collect::Result;

/// A subcommand with its flags.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a program and print its calls while it runs
    Trace(trace::Trace),
    /// Run a program and write its calls to a file, at least cost
    Record(record::Record),
    /// Run a program under hook libraries that change its calls
    Run(run::Run),
    /// Print the environment in which any program is traced
    Env(env::Env),
    /// Print the calls of a recording, or of a program that runs
    Show(show::Show),
    /// Add calls up: tables, call tree, errors, leaks, slowest, waits
    Report(report::Report),
    /// Find likely problems, the worst first, with evidence and advice
    Explain(explain::ExplainArgs),
    /// Say where each thread is, and what it waits for: hangs
    Where(where_threads::Where),
    /// Show what a running program does now: calls, times, memory, GPU
    Top(top::Top),
    /// Compare the calls of two recordings
    Diff(diff::DiffArgs),
    /// Check rules on the calls of a program or a recording, for CI
    Check(check::Check),
    /// Make one call after the other fail, and say what the program does
    Chaos(chaos::Chaos),
    /// Draw a recording as one page of HTML that a browser opens
    View(view::View),
    /// Write a recording for Perfetto, Chrome or other programs
    Export(export::Export),
    /// Ask recordings in SQL, or a folder of export --parquet
    Query(query::Query),
    /// Save the calls of a run whose collector was killed
    Recover(recover::Recover),
    /// Switch what a running program records, or ask what it does
    Ctl(ctl::Ctl),
    /// Pack a recovered recording as tightly as record does
    Pack(pack::Pack),
    /// Say how a program reaches CUDA, and which calls a trace sees
    Inspect(inspect::Inspect),
    /// Say what is known of a function, or which functions a library has
    Api(api::Api),
    /// List the GPUs as the kernel driver knows them
    Devices(devices::Devices),
    /// Trace, decode and compare requests to the kernel driver
    #[command(subcommand, alias = "kernel")]
    Syscall(syscall::Syscall),
    /// Print cutap_hook.h, for a hook library in C
    HookHeader,
    /// Show a trace, and a recording of PyTorch; no GPU is needed
    Demo(demo::Demo),
    /// Check this machine, and say what to do
    Doctor(doctor::Doctor),
    /// Explain a command, a layer or a topic
    Help(help::Help),
    /// Write man pages into a directory
    Man(man::Man),
    /// Print shell completions
    Completions(completions::Completions),
    #[command(name = "__reference", hide = true)]
    Reference(reference::Reference),
    #[command(name = "__demo-program", hide = true)]
    DemoProgram,
    #[command(name = "__collect", hide = true)]
    Collector(collector::Collector),
    #[command(name = "__gpu-clocks", hide = true)]
    GpuClocks(gpu_clocks::GpuClocks),
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
            Command::View(args) => args.run(),
            Command::Export(args) => args.run(),
            Command::Query(args) => args.run(),
            Command::Recover(args) => args.run(),
            Command::Ctl(args) => args.run(),
            Command::Pack(args) => args.run(),
            Command::Inspect(args) => args.run(),
            Command::Api(args) => args.run(),
            Command::Devices(args) => args.run(),
            Command::Syscall(command) => command.run(),
            Command::HookHeader => hook_header::run(),
            Command::Help(args) => args.run(),
            Command::Explain(args) => args.run(),
            Command::Where(args) => args.run(),
            Command::Top(args) => args.run(),
            Command::Diff(args) => args.run(),
            Command::Check(args) => args.run(),
            Command::Chaos(args) => args.run(),
            Command::Demo(args) => args.run(),
            Command::Reference(args) => args.run(),
            Command::DemoProgram => demo::program(),
            Command::Doctor(args) => args.run(),
            Command::Man(args) => args.run(),
            Command::Completions(args) => args.run(),
            Command::Collector(args) => args.run(),
            Command::GpuClocks(args) => args.run(),
        }
    }
}
