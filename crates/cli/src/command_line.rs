//! Parses the command line. Errors are clap's own. Two cases say more than clap does: a flag that has a new name, and
//! `cutap ctl COMMAND PID` in the wrong order.

use crate::cmd::{Command, ctl};
use clap::builder::UnknownArgumentValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, CommandFactory, FromArgMatches, Parser};
use std::ffi::OsString;

const EXIT_CODES: &str = "Exit code of trace, record and run: the program's own (or death by the same signal); \
    125 cutap itself failed or could not write the trace, 126 the program cannot be run, 127 there is no such program.";

/// strace + ltrace for CUDA: every call of toolkit libraries, runtimes and driver of an unmodified program.
#[derive(Debug, Parser)]
#[command(name = "cutap", version, disable_help_subcommand = true, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Former names of flags whose new names are not similar enough for clap to suggest them.
const RENAMED: [(&str, &str); 5] = [
    ("only", "--filter"),
    ("only-hooks", "--no-record"),
    ("range", "--capture-range"),
    ("sync", "--blocking"),
    ("raw", "--undecoded"),
];

/// The subcommand that the words after `cutap` ask for.
pub fn parse(words: &[OsString]) -> Result<Command, clap::Error> {
    let mut command = command();
    let all = std::iter::once(OsString::from("cutap")).chain(words.iter().cloned());
    let parsed = command.try_get_matches_from_mut(all).and_then(|matches| Cli::from_arg_matches(&matches));
    parsed.map(|cli| cli.command).map_err(|error| match ctl::reversed(words) {
        Some(sentence) if error.kind() == ErrorKind::UnknownArgument => subcommand(&mut command, "ctl", &sentence),
        _ => error.format(&mut command),
    })
}

/// An error that clap does not know, in clap's form.
fn subcommand(command: &mut clap::Command, name: &str, sentence: &str) -> clap::Error {
    command.build();
    let of = command.find_subcommand_mut(name);
    of.map_or_else(
        || clap::Error::new(ErrorKind::InvalidSubcommand),
        |of| of.error(ErrorKind::InvalidSubcommand, sentence),
    )
}

fn command() -> clap::Command {
    Cli::command().mut_subcommands(|mut subcommand| {
        for (old, new) in RENAMED {
            if subcommand.get_arguments().any(|arg| arg.get_long() == new.strip_prefix("--")) {
                let suggestion = UnknownArgumentValueParser::suggest_arg(new);
                let old = Arg::new(old).long(old).hide(true).action(ArgAction::SetTrue).value_parser(suggestion);
                subcommand = subcommand.arg(old);
            }
        }
        subcommand
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations() {
        command().debug_assert();
    }
}
