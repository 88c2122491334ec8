//! Parses the command line. Errors are clap's own. Some say more than clap does: an unknown flag (`unknown_flag`), and
//! `cutap ctl COMMAND PID` in the wrong order. Without a command, `trace` is meant.

use crate::cmd::{Command, ctl, syscall, trace};
use crate::first_screen::with_first_screen;
use crate::shorthand::{Meaning, meaning, with_trace};
use crate::strace_args::ATTACH;
use crate::unknown_flag::with_tip;
use crate::{examples, version};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, CommandFactory, FromArgMatches, Parser};
use cutap_trace::did_you_mean;
use std::ffi::OsString;

/// strace + ltrace for CUDA: every call of toolkit libraries, runtimes and driver of an unmodified program.
#[derive(Debug, Parser)]
#[command(name = "cutap", version = version::LONG, disable_help_subcommand = true)]
#[command(override_usage = "cutap [TRACE FLAGS] [--] PROG [ARGS]...\n       cutap COMMAND ...")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The subcommand that the words after `cutap` ask for.
pub fn parse(words: &[OsString]) -> Result<Command, clap::Error> {
    let command = command();
    match meaning(words, |word| command.find_subcommand(word).is_some(), |word| is_similar(&command, word)) {
        Meaning::Plain => parse_command(words, command),
        Meaning::Trace => match parse_command(&with_trace(words), command.clone())? {
            // `cutap --sim trace PROG`: clap says where the flag belongs.
            Command::Trace(trace) if begins_with_flag(words) && names_command(&command, &trace) => {
                parse_command(words, command).and(Ok(Command::Trace(trace)))
            }
            traced => Ok(traced),
        },
    }
}

/// The word is nearly a command.
fn is_similar(command: &clap::Command, word: &str) -> bool {
    let names = command.get_subcommands().filter(|c| !c.is_hide_set()).map(clap::Command::get_name);
    !did_you_mean(word, names).is_empty()
}

/// A flag precedes the first word; after `--` any program may follow.
fn begins_with_flag(words: &[OsString]) -> bool {
    words.iter().all(|word| word != "--") && words.first().is_some_and(|word| word.to_string_lossy().starts_with('-'))
}

/// The program is named like a command.
fn names_command(command: &clap::Command, trace: &trace::Trace) -> bool {
    trace.program().to_str().is_some_and(|name| command.find_subcommand(name).is_some())
}

fn parse_command(words: &[OsString], mut command: clap::Command) -> Result<Command, clap::Error> {
    let all = std::iter::once(OsString::from("cutap")).chain(words.iter().cloned());
    let parsed = command.try_get_matches_from_mut(all).or_else(|error| attaching(error, words, &command));
    let parsed = parsed.and_then(|matches| Cli::from_arg_matches(&matches));
    let is_unknown = |error: &clap::Error| error.kind() == ErrorKind::InvalidSubcommand;
    parsed.map(|cli| cli.command).map_err(|error| match (ctl::reversed(words), syscall::renamed(words)) {
        (Some(sentence), _) if error.kind() == ErrorKind::UnknownArgument => subcommand(&mut command, "ctl", &sentence),
        (_, Some(sentence)) if is_unknown(&error) => subcommand(&mut command, "syscall", sentence),
        _ => with_tip(error, words, &command).format(&mut command),
    })
}

/// `-p PID` is refused with its own sentence, also without a program.
fn attaching(error: clap::Error, words: &[OsString], command: &clap::Command) -> Result<ArgMatches, clap::Error> {
    if error.kind() != ErrorKind::MissingRequiredArgument {
        return Err(error);
    }
    let with_program = std::iter::once("cutap".into()).chain(words.iter().cloned()).chain([OsString::new()]);
    let attaches = |(_, of): (&str, &ArgMatches)| of.try_contains_id(ATTACH).unwrap_or(false);
    match command.clone().try_get_matches_from(with_program) {
        Ok(matches) if matches.subcommand().is_some_and(attaches) => Ok(matches),
        _ => Err(error),
    }
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

/// All commands and flags, as clap knows them.
pub fn command() -> clap::Command {
    with_first_screen(Cli::command().max_term_width(100).mut_subcommands(with_short_help))
}

/// One form of help for `-h` and `--help`: each flag beside its meaning. Examples are at the end.
fn with_short_help(command: clap::Command) -> clap::Command {
    let help = Arg::new("help").short('h').long("help").help("Print help").action(ArgAction::HelpShort);
    let command = command.disable_help_flag(true).arg(help).mut_subcommands(with_short_help);
    let end = [command.get_after_help().map(ToString::to_string), examples_of(command.get_name())];
    let end: Vec<String> = end.into_iter().flatten().collect();
    if end.is_empty() { command } else { command.after_help(end.join("\n")) }
}

fn examples_of(command: &str) -> Option<String> {
    let text = examples::text(command);
    (!text.is_empty()).then(|| format!("Examples:\n{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations() {
        command().debug_assert();
    }
}
