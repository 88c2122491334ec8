//! `cutap PROG ...` means `cutap trace PROG ...`. Decides whether the first word is a command, a program or a slip, and
//! rewrites the command line before clap parses it. It never reads what comes after the program's name.

use cutap_collect::find_on_path;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// What the words after `cutap` mean.
pub enum Meaning {
    /// A command line for clap as it is.
    Plain,
    /// `trace` is left out.
    Trace,
}

/// Looks at the first word. `is_command` knows the names of commands, `is_similar` the words that are nearly one.
pub fn meaning(words: &[OsString], is_command: impl Fn(&str) -> bool, is_similar: impl Fn(&str) -> bool) -> Meaning {
    let Some(first) = words.first() else { return Meaning::Plain };
    let Some(text) = first.to_str() else { return Meaning::Trace };
    match text {
        "-h" | "--help" | "-V" | "--version" => Meaning::Plain,
        _ if is_command(text) => Meaning::Plain,
        _ if text.starts_with('-') => Meaning::Trace,
        // A program of this name exists: it is meant, whatever command it resembles.
        _ if can_run(first) => Meaning::Trace,
        // A file of this name is here: trace says that its path is ./NAME.
        _ if is_similar(text) && !Path::new(text).is_file() => Meaning::Plain,
        _ => Meaning::Trace,
    }
}

/// The words with `trace` in front.
pub fn with_trace(words: &[OsString]) -> Vec<OsString> {
    std::iter::once(OsString::from("trace")).chain(words.iter().cloned()).collect()
}

/// Whether the shell would find a program of this name.
fn can_run(word: &OsStr) -> bool {
    word.to_string_lossy().contains('/') || find_on_path(word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_trace(words: &[&str]) -> bool {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let commands = ["trace", "record", "env"];
        let similar = |word: &str| word.starts_with("rec");
        matches!(meaning(&words, |word| commands.contains(&word), similar), Meaning::Trace)
    }

    #[test]
    fn a_program_or_a_flag_begins_a_trace() {
        for words in [&["ls"][..], &["./app", "record"], &["--sim", "./app"], &["-c", "--", "app"], &["--", "trace"]] {
            assert!(is_trace(words), "{words:?}");
        }
        assert!(is_trace(&["not-there-at-all"]), "the error of trace names what is missing");
    }

    #[test]
    fn commands_slips_and_help_do_not() {
        for words in [&[][..], &["trace", "ls"], &["env"], &["recrod"], &["--help"], &["-V"]] {
            assert!(!is_trace(words), "{words:?}");
        }
    }
}
