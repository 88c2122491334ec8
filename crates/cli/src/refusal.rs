//! Words that the command line does not know, refused as all else is: one sentence with what, why and
//! what to do. Help and version are clap's own and stay as they are.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// What `cutap ctl` takes.
const CTL: &str = "write cutap ctl PID on, off, filter FILTER, status or dump";

fn is_of_ctl(word: &str) -> bool {
    ["on", "off", "filter", "status", "dump"].contains(&word)
}

/// The sentence; `None` for what clap prints itself. `command` is the command that was given, if any; `arguments` are all that
/// cutap was given.
pub fn sentence(error: &clap::Error, command: Option<&str>, arguments: &[String]) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(s)) => Some(s.clone()),
        Some(ContextValue::Strings(all)) if !all.is_empty() => Some(all.join(", ")),
        _ => None,
    };
    let help = match command {
        Some(command) => format!("cutap {command} --help"),
        None => "cutap --help".to_owned(),
    };
    let meant = |near: Option<String>| match near {
        Some(near) => format!("did you mean {near}? ({help} lists all)"),
        None => format!("{help} lists all"),
    };
    let plain = |arg: &str| arg.replace(['<', '>'], "").replace("...", "");
    let arg = plain(&text(ContextKind::InvalidArg).unwrap_or_default());
    Some(match error.kind() {
        ErrorKind::UnknownArgument if arg.starts_with('-') => match text(ContextKind::SuggestedSubcommand) {
            Some(other) => {
                format!("the flag {arg} stands before the command; write it behind {other} ({help} lists all)")
            }
            None => format!("unknown flag {arg}; {}", meant(text(ContextKind::SuggestedArg))),
        },
        ErrorKind::UnknownArgument if command == Some("ctl") => match arguments {
            [ctl, word, who, ..] if ctl == "ctl" && is_of_ctl(word) && !is_of_ctl(who) => {
                format!("the process precedes the command; write cutap ctl {who} {word} ({help} says more)")
            }
            _ => format!("{arg} is no command of cutap ctl; {CTL} ({help} says more)"),
        },
        ErrorKind::MissingSubcommand => format!("what is to be done is missing; {CTL} ({help} says more)"),
        ErrorKind::UnknownArgument => format!("{arg} is one word too many; leave it out ({help} says what is taken)"),
        ErrorKind::InvalidSubcommand => {
            let word = text(ContextKind::InvalidSubcommand).unwrap_or_default();
            format!("unknown command {word}; {}", meant(text(ContextKind::SuggestedSubcommand)))
        }
        ErrorKind::MissingRequiredArgument => format!("{arg} is missing; {help} says what it is"),
        ErrorKind::InvalidValue if text(ContextKind::InvalidValue).is_none_or(|v| v.is_empty()) => {
            format!("nothing stands behind {arg}; {help} says what it is")
        }
        ErrorKind::InvalidValue if text(ContextKind::ValidValue).is_some() => {
            let (word, takes) = (text(ContextKind::InvalidValue), text(ContextKind::ValidValue));
            format!("{arg} takes {}, and not {}; {help} lists all", takes.unwrap_or_default(), word.unwrap_or_default())
        }
        ErrorKind::TooManyValues => format!("{arg} takes no value; leave it out ({help} lists all)"),
        ErrorKind::ArgumentConflict if text(ContextKind::PriorArg).is_some_and(|prior| plain(&prior) != arg) => {
            let prior = plain(&text(ContextKind::PriorArg).unwrap_or_default());
            format!("{arg} and {prior} cannot stand together; leave one out ({help} lists all)")
        }
        ErrorKind::ArgumentConflict => format!("{arg} is given twice; leave one out"),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => match command {
            None => "no command is given; try cutap trace -- PROGRAM (cutap --help lists all)".to_owned(),
            Some("ctl") => format!("who is meant and what is to be done are missing; {CTL} ({help} says more)"),
            Some(_) => format!("nothing stands behind it; {help} says what is missing"),
        },
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => return None,
        _ => {
            let all = error.to_string();
            let first = all.lines().next().unwrap_or_default();
            format!("{}; {help} lists all", first.strip_prefix("error: ").unwrap_or(first))
        }
    })
}
