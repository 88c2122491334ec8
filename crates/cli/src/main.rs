//! `cutap`: words in, exit code out. What a command does stands in `cutap-collect`.

mod api;
mod export_words;
mod record_words;
mod refusal;
mod report_words;
mod run_words;
mod stack_words;
mod when_words;
mod words;

/// Reading makes and drops a few small things for each call, on two threads; the C library's allocator takes a quarter of its time.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

use clap::{CommandFactory, Parser};
use cutap_collect::{DumpOptions, Embedded, Error, OWN_FAILURE, Switch};
use std::io::{ErrorKind, Write};
use std::process::ExitCode;
use words::{Cli, Command, Inspect, What};

/// Built and embedded by build.rs.
const EMBEDDED: Embedded = Embedded {
    name: env!("CUTAP_INSIDE"),
    preload: include_bytes!(env!("CUTAP_PRELOAD")),
    sim: include_bytes!(env!("CUTAP_SIM")),
    nvml: include_bytes!(env!("CUTAP_NVML")),
};

/// What a hook library in C is written with.
const HOOK_HEADER: &str = include_str!("../../hook/include/cutap_hook.h");

fn main() -> ExitCode {
    cutap_collect::file_size_limit_is_an_error();
    cutap_collect::raise_file_limit();
    let words = match Cli::try_parse() {
        Ok(words) => words,
        Err(e) => {
            let arguments: Vec<String> =
                std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
            let command = arguments.first().filter(|c| Cli::command().find_subcommand(c).is_some());
            match refusal::sentence(&e, command.map(String::as_str), &arguments) {
                Some(sentence) => say(&sentence),
                None if e.use_stderr() => {
                    let _ = e.print();
                }
                None => {
                    if let Err(e) = e.print().and_then(|()| std::io::stdout().flush()).map_or_else(unwritten, Ok) {
                        say(&e.to_string());
                        return e.code.into();
                    }
                }
            }
            return if e.use_stderr() { OWN_FAILURE.into() } else { ExitCode::SUCCESS };
        }
    };
    match run(words.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            say(&e.to_string());
            e.code.into()
        }
    }
}

fn run(command: Command) -> Result<(), Error> {
    match command {
        Command::Trace(words) => cutap_collect::trace(EMBEDDED, &words.into())?.exit_like(),
        Command::Record(words) => cutap_collect::trace(EMBEDDED, &words.into())?.exit_like(),
        Command::Run(words) => cutap_collect::trace(EMBEDDED, &words.into())?.exit_like(),
        Command::HookHeader => print(HOOK_HEADER),
        Command::Env(words) => {
            let exports = cutap_collect::env(EMBEDDED, &words.into())?;
            print(&exports)
        }
        Command::Show(words) => cutap_collect::show(&words.into()),
        Command::Report(words) => cutap_collect::report(&words.try_into()?),
        Command::Export(words) => cutap_collect::export(&words.into()),
        Command::Ctl(words) => {
            let switch = match words.what {
                What::On => Switch::On,
                What::Off => Switch::Off,
                What::Filter { filter } => Switch::Filter(filter),
                What::Status => Switch::Status,
                What::Dump { output } => return cutap_collect::dump(&DumpOptions { who: words.who, output }),
            };
            print(&cutap_collect::switch(&words.who, words.all, &switch)?)
        }
        Command::Recover(words) => cutap_collect::recover(&words.into()),
        Command::Pack(words) => cutap_collect::pack_file(&words.file),
        Command::Inspect(words) => inspect(&words),
        Command::Api(words) => print(&api::run(&words)?),
        Command::Collect(words) => cutap_collect::collect(&words.into()),
    }
}

/// Says why on standard error; nobody there to read it changes nothing.
fn say(sentence: &str) {
    let _ = writeln!(std::io::stderr(), "cutap: {}", cutap_printable::printable(sentence));
}

/// Writes to standard output; a reader that has left is no failure.
fn print(text: &str) -> Result<(), Error> {
    let mut out = std::io::stdout();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_or_else(unwritten, Ok)
}

fn unwritten(error: std::io::Error) -> Result<(), Error> {
    if error.kind() == ErrorKind::BrokenPipe {
        return Ok(());
    }
    Err(Error::own(format!("cannot write to standard output: {}; write elsewhere", cutap_collect::reason(&error))))
}

/// A file that cannot be looked at does not hide the others; the last one's sentence comes back.
fn inspect(words: &Inspect) -> Result<(), Error> {
    let mut refused: Option<Error> = None;
    for file in &words.files {
        match cutap_inspect::inspect(file) {
            Ok(report) => print(&if words.json { report.json() + "\n" } else { report.to_string() })?,
            Err(e) => {
                if let Some(before) = refused.replace(Error::own(e.to_string())) {
                    say(&before.to_string());
                }
            }
        }
    }
    refused.map_or(Ok(()), Err)
}
