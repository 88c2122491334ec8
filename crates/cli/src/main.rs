//! `cutap`: words in, exit code out. What a command does stands in `cutap-collect`.

mod words;

use clap::Parser;
use cutap_collect::{Embedded, Error, OWN_FAILURE};
use std::io::Write;
use std::process::ExitCode;
use words::{Command, Words};

/// Built and embedded by build.rs.
const EMBEDDED: Embedded =
    Embedded { preload: include_bytes!(env!("CUTAP_PRELOAD")), sim: include_bytes!(env!("CUTAP_SIM")) };

fn main() -> ExitCode {
    let words = match Words::try_parse() {
        Ok(words) => words,
        Err(e) => {
            let _ = e.print();
            return if e.use_stderr() { OWN_FAILURE.into() } else { ExitCode::SUCCESS };
        }
    };
    match run(words.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            let _ = writeln!(std::io::stderr(), "cutap: {e}");
            e.code.into()
        }
    }
}

fn run(command: Command) -> Result<(), Error> {
    match command {
        Command::Trace(words) => cutap_collect::trace(EMBEDDED, &words.into())?.mirror(),
        Command::Env(words) => {
            let exports = cutap_collect::env(EMBEDDED, &words.into())?;
            write!(std::io::stdout(), "{exports}").map_err(|e| Error::own(format!("cannot write the exports: {e}")))
        }
        Command::Show(words) => cutap_collect::show(&words.into()),
        Command::Collect(words) => cutap_collect::collect(&words.into()),
    }
}
