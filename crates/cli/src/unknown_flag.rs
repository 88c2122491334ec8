//! What is said of a flag that a command does not have: its new name, flags like it, or the commands that have it.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};
use cutap_trace::did_you_mean;
use std::ffi::OsString;

/// Former names of flags whose new names are not similar.
const RENAMED: [(&str, &str); 5] = [
    ("--only", "--filter"),
    ("--only-hooks", "--no-record"),
    ("--range", "--capture-range"),
    ("--sync", "--blocking"),
    ("--raw", "--undecoded"),
];

/// Flags that users expect, and what does the job today.
const EXPECTED: [(&str, &str); 5] = [
    ("--under", "write -e under:FUNCTION: its calls and all that happens inside"),
    (
        "--gpu-time",
        "record, trace and env have it; of a run with it, cutap report --by kernel lists the time of kernels",
    ),
    ("--nvtx", "ranges need no flag; -e nvtx:NAME and -e under:NAME choose them, and report --by range adds them up"),
    ("--python", "record, trace and env have it; show and report read what it kept"),
    ("--follow-forks", "children are followed by default; --no-follow-children leaves them alone"),
];

/// Why no command of `cutap syscall` has this flag.
const NO_SIM: &str = "the simulated driver makes no calls to the kernel driver, so cutap syscall has no --sim; cutap \
    syscall decode reads a log that was made on a machine with a GPU";

/// The error with a tip that fits. Of an unknown flag clap says how to pass it to the program, which is
/// seldom meant, or names a flag that only looks a little like it.
pub fn with_tip(mut error: clap::Error, words: &[OsString], command: &Command) -> clap::Error {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg).cloned() else { return error };
    let name = words.iter().find_map(|word| command.find_subcommand(word)).map_or("trace", Command::get_name);
    if let Some(meant) = habit(&flag, name, words, command) {
        error.remove(ContextKind::SuggestedArg);
        return with_sentence(error, meant);
    }
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let tips = match error.remove(ContextKind::Suggested) {
        Some(ContextValue::StyledStrs(tips)) => tips,
        _ => Vec::new(),
    };
    let tips: Vec<StyledStr> = tips.into_iter().filter(|tip| !tip.to_string().starts_with("to pass ")).collect();
    error.remove(ContextKind::SuggestedArg);
    if !tips.is_empty() {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        return error;
    }
    // clap's usage has the flag that it meant.
    if let Some(of) = command.clone().find_subcommand_mut(name) {
        let usage = of.clone().bin_name(format!("cutap {name}")).render_usage();
        error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
    }
    let similar = command.find_subcommand(name).map(|of| similar(&flag, of)).unwrap_or_default();
    match similar.as_slice() {
        [] => with_sentence(error, advice(&flag, name, command)),
        [one] => {
            error.insert(ContextKind::SuggestedArg, ContextValue::String(one.clone()));
            error
        }
        several => {
            let listed: Vec<String> = several.iter().map(|flag| format!("'{flag}'")).collect();
            with_sentence(error, format!("similar arguments exist: {}", listed.join(", ")))
        }
    }
}

fn with_sentence(mut error: clap::Error, sentence: String) -> clap::Error {
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(sentence)]));
    error
}

/// What is meant instead of a flag or word that is wrong, where it is a known habit.
fn habit(wrong: &str, name: &str, words: &[OsString], command: &Command) -> Option<String> {
    if name == "syscall" && wrong == "--sim" {
        return Some(NO_SIM.to_owned());
    }
    // `-sim` is read as `-s im`.
    let of = command.find_subcommand(name)?;
    let longs: Vec<&str> = visible(of).filter_map(Arg::get_long).collect();
    let typed = words.iter().filter_map(|word| word.to_str()).take_while(|word| *word != "--");
    let long = typed.filter_map(|word| word.strip_prefix('-')).find(|word| longs.contains(word))?;
    Some(format!("--{long} has two dashes"))
}

/// Flags of the command that may be meant: the new name, those that begin so, or those that are spelled nearly so.
fn similar(flag: &str, of: &Command) -> Vec<String> {
    let flag = flag.split('=').next().unwrap_or(flag);
    let longs: Vec<String> = visible(of).filter_map(Arg::get_long).map(|long| format!("--{long}")).collect();
    if let Some((_, new)) = RENAMED.iter().find(|(old, _)| *old == flag)
        && longs.iter().any(|long| long == new)
    {
        return vec![(*new).to_owned()];
    }
    let begin: Vec<String> = longs.iter().filter(|long| flag.len() > 3 && long.starts_with(flag)).cloned().collect();
    if !begin.is_empty() {
        return begin;
    }
    did_you_mean(flag, longs.iter().map(String::as_str)).into_iter().map(str::to_owned).collect()
}

/// Other commands with this flag, or where flags are listed.
fn advice(flag: &str, name: &str, command: &Command) -> String {
    let has = |arg: &Arg| match flag.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long.split('=').next().unwrap_or(long)),
        None => flag.starts_with('-') && arg.get_short() == flag.chars().nth(1),
    };
    let visible_commands = command.get_subcommands().filter(|of| !of.is_hide_set());
    let commands_with_flag: Vec<&str> =
        visible_commands.filter(|of| visible(of).any(has)).map(Command::get_name).collect();
    if let Some((_, advice)) = EXPECTED.iter().find(|(expected, _)| *expected == flag) {
        return (*advice).to_owned();
    }
    let is_short = flag.len() == 2 && ["trace", "record", "run"].contains(&name);
    match commands_with_flag.as_slice() {
        [] if is_short => {
            format!("cutap help {name} lists the flags of cutap {name}; cutap help strace those of strace")
        }
        [] => format!("cutap help {name} lists the flags of cutap {name}"),
        commands_with_flag => format!("cutap {name} has no '{flag}'; these have: {}", commands_with_flag.join(", ")),
    }
}

fn visible(of: &Command) -> impl Iterator<Item = &Arg> {
    of.get_arguments().filter(|arg| !arg.is_hide_set())
}
