//! Parses the command line. Errors are clap's own. Two cases say more than clap does: a flag that has a new name, and
//! `cutap ctl COMMAND PID` in the wrong order. Without a command, `trace` is meant.

use crate::cmd::{Command, ctl, trace};
use crate::shorthand::{Meaning, meaning, with_trace};
use crate::strace_args::ATTACH;
use crate::version;
use clap::builder::{StyledStr, UnknownArgumentValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, CommandFactory, FromArgMatches, Parser};
use cutap_trace::did_you_mean;
use std::ffi::OsString;

const AFTER_HELP: &str = "cutap PROG means cutap trace PROG; cutap -- PROG runs a program that is named like a command.\n\
    cutap help COMMAND explains a command. cutap help TOPIC explains one of: filters, output, files, hooks, environment, \
    strace. cutap help LAYER explains a layer.\n\n\
    Exit code of trace, record and run: the program's own (or death by the same signal); \
    125 cutap itself failed or could not write the trace, 126 the program cannot be run, 127 there is no such program.";

/// strace + ltrace for CUDA: every call of toolkit libraries, runtimes and driver of an unmodified program.
#[derive(Debug, Parser)]
#[command(name = "cutap", version = version::LONG, disable_help_subcommand = true, after_help = AFTER_HELP)]
#[command(override_usage = "cutap [TRACE FLAGS] [--] PROG [ARGS]...\n       cutap COMMAND ...")]
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

/// Why no command of `cutap kernel` has this flag.
const NO_SIM: &str = "the simulated driver makes no calls to the kernel driver, so cutap kernel has no --sim; cutap \
    kernel decode reads a log that was made on a machine with a GPU";

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
    parsed.map(|cli| cli.command).map_err(|error| match ctl::reversed(words) {
        Some(sentence) if error.kind() == ErrorKind::UnknownArgument => subcommand(&mut command, "ctl", &sentence),
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

/// What is meant instead of a flag or word that is wrong, where it is a known habit.
fn habit(wrong: &str, asked: &str, words: &[OsString], command: &clap::Command) -> Option<String> {
    if asked == "kernel" && wrong == "--sim" {
        return Some(NO_SIM.to_owned());
    }
    if !wrong.starts_with('-') && ["report", "show", "explain"].contains(&asked) {
        return Some(format!("cutap {asked} reads one recording; cutap diff A B compares two"));
    }
    // `-sim` is read as `-s im`.
    let of = command.find_subcommand(asked)?;
    let longs: Vec<&str> = of.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(Arg::get_long).collect();
    let typed = words.iter().filter_map(|word| word.to_str()).take_while(|word| *word != "--");
    let long = typed.filter_map(|word| word.strip_prefix('-')).find(|word| longs.contains(word))?;
    Some(format!("--{long} has two dashes"))
}

/// Of an unknown flag clap says how to pass it to the program, which is seldom meant: says which commands have it.
fn with_tip(mut error: clap::Error, words: &[OsString], command: &clap::Command) -> clap::Error {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg).cloned() else { return error };
    let asked = words.iter().find_map(|word| command.find_subcommand(word)).map_or("trace", clap::Command::get_name);
    let tip = |tip: String| ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
    if let Some(meant) = habit(&flag, asked, words, command) {
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, tip(meant));
        return error;
    }
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let Some(ContextValue::StyledStrs(mut tips)) = error.remove(ContextKind::Suggested) else { return error };
    tips.retain(|tip| !tip.to_string().starts_with("to pass "));
    if !tips.is_empty() || error.get(ContextKind::SuggestedArg).is_some() {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        return error;
    }
    let has = |arg: &Arg| match flag.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long.split('=').next().unwrap_or(long)),
        None => arg.get_short() == flag.chars().nth(1),
    };
    let shown = command.get_subcommands().filter(|of| !of.is_hide_set());
    let others: Vec<&str> = shown
        .filter(|of| of.get_arguments().any(|arg| !arg.is_hide_set() && has(arg)))
        .map(|of| of.get_name())
        .collect();
    let is_short = flag.len() == 2 && ["trace", "record", "run"].contains(&asked);
    let advice = match others.as_slice() {
        [] if is_short => {
            format!("cutap help {asked} lists the flags of cutap {asked}; cutap help strace those of strace")
        }
        [] => format!("cutap help {asked} lists the flags of cutap {asked}"),
        others => format!("cutap {asked} has no '{flag}'; these have: {}", others.join(", ")),
    };
    error.insert(ContextKind::Suggested, tip(advice));
    error
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
