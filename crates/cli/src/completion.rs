//! Completion of words in a shell. The script of `cutap completions` starts cutap with a variable that names the shell,
//! and cutap prints what may follow: commands, flags, and values such as functions, processes and topics.

use crate::command_line::command;
use crate::topics::{filter_words, topics};
use clap::{Arg, Command};
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::{CompleteEnv, Shells};
use cutap_report::api::all_names;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, Write};

/// The variable in which the script names the shell.
const VARIABLE: &str = "CUTAP_COMPLETE";
/// A word of a filter that stands for a class of functions.
const CHATTER: &str = "chatter";
/// More functions than this are not listed.
const MOST_FUNCTIONS: usize = 1000;

/// Prints completions and ends, if a shell asks for them.
pub fn answer_shell() {
    CompleteEnv::with_factory(completed).var(VARIABLE).bin("cutap").completer("cutap").complete();
}

/// The names of the shells.
pub fn shells() -> Vec<&'static str> {
    Shells::builtins().names().collect()
}

/// Writes the script of a shell.
pub fn write_script(shell: &str, out: &mut dyn Write) -> io::Result<()> {
    let shells = Shells::builtins();
    let script = shells.completer(shell).ok_or(io::ErrorKind::NotFound)?;
    script.write_registration(VARIABLE, "cutap", "cutap", "cutap", out)
}

/// The commands with what completes their values. What is hidden is left out.
fn completed() -> Command {
    let all = command();
    let visible = all.get_subcommands().filter(|of| !of.is_hide_set()).cloned().map(with_values);
    Command::new("cutap").disable_help_subcommand(true).args(all.get_arguments().cloned()).subcommands(visible)
}

fn with_values(command: Command) -> Command {
    let name = command.get_name().to_owned();
    command.mut_args(|arg| with_value(&name, arg)).mut_subcommands(with_values)
}

fn with_value(command: &str, arg: Arg) -> Arg {
    match (command, arg.get_id().as_str()) {
        (_, "filter" | "stack" | "python" | "callers" | "under") | ("api", "names") => {
            arg.add(ArgValueCompleter::new(|typed: &OsStr| functions(typed)))
        }
        ("ctl", "who") | (_, "pid") => arg.add(ArgValueCandidates::new(running)),
        ("help", "word") => arg.add(ArgValueCandidates::new(explained)),
        (_, "program") => arg.add(ArgValueCompleter::new(Program)),
        _ => arg,
    }
}

/// Functions whose names begin with what was typed, after the last comma or `!` of a filter.
fn functions(typed: &OsStr) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else { return Vec::new() };
    let (before, name) = typed.split_at(typed.rfind([',', '!', ' ']).map_or(0, |at| at + 1));
    let words = filter_words().chain([CHATTER]).filter(|word| word.starts_with(name));
    let functions = all_names().filter(|function| !name.is_empty() && function.starts_with(name));
    let candidates: BTreeSet<&str> = words.chain(functions).take(MOST_FUNCTIONS).collect();
    candidates.into_iter().map(|word| CompletionCandidate::new(format!("{before}{word}"))).collect()
}

/// Processes that run under cutap.
fn running() -> Vec<CompletionCandidate> {
    let name = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned();
    let candidate = |(pid, _)| CompletionCandidate::new(format!("{pid}")).help(Some(name(pid).into()));
    crate::cmd::ctl::running().into_iter().map(candidate).collect()
}

/// What `cutap help` explains.
fn explained() -> Vec<CompletionCandidate> {
    let command = command();
    let commands = command.get_subcommands().filter(|of| !of.is_hide_set()).map(|of| of.get_name().to_owned());
    let topics = topics().map(|(topic, _)| topic.to_owned());
    commands.chain(topics).chain(filter_words().map(str::to_owned)).map(CompletionCandidate::new).collect()
}

/// A program on the path or in a folder; what follows it are files.
struct Program;

impl ValueCompleter for Program {
    fn complete(&self, typed: &OsStr) -> Vec<CompletionCandidate> {
        let mut candidates = PathCompleter::any().complete(typed);
        let name = typed.to_string_lossy();
        if !name.is_empty() && !name.contains('/') {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let entries = std::env::split_paths(&path).flat_map(std::fs::read_dir).flatten().flatten();
            let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
            candidates.extend(names.filter(|file| file.starts_with(&*name)).map(CompletionCandidate::new));
        }
        candidates
    }

    fn complete_at(&self, index: usize, typed: &OsStr) -> Vec<CompletionCandidate> {
        if index == 0 { self.complete(typed) } else { PathCompleter::any().complete(typed) }
    }
}
