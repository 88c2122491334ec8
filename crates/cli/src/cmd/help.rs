//! `cutap help`: the help of a command, or a page about a topic.

use crate::command_line;
use crate::stdout::{print, written};
use crate::topics::{filter_word, filter_words, topics};
use cutap_collect::{Error, Result};
use cutap_report::api::describe;
use cutap_trace::did_you_mean;
use std::io::Write;

#[derive(Debug, clap::Args)]
pub struct Help {
    /// A command, a layer, or a topic: filters, output, files, inject, limit, hooks, environment, strace
    #[arg(value_name = "COMMAND|TOPIC")]
    word: Option<String>,
}

impl Help {
    pub fn run(self) -> Result<()> {
        let mut command = command_line::command();
        command.build();
        let Some(word) = self.word else { return print_help(&mut command) };
        if let Some((_, text)) = topics().find(|(topic, _)| *topic == word) {
            return print(&text);
        }
        let layer = filter_word(&word);
        match (command.find_subcommand_mut(&word), layer) {
            (Some(of), layer) => {
                print_help(of)?;
                layer.map_or(Ok(()), |text| print(&format!("\nIn filters:\n\n{text}")))
            }
            (None, Some(text)) => print(&text),
            (None, None) => Err(unknown(&command, &word)),
        }
    }
}

fn print_help(of: &mut clap::Command) -> Result<()> {
    written(of.print_help().and_then(|()| std::io::stdout().flush()))
}

/// Names the nearest command or topic.
fn unknown(command: &clap::Command, word: &str) -> Error {
    let commands = command.get_subcommands().filter(|c| !c.is_hide_set()).map(clap::Command::get_name);
    let topics: Vec<&str> = topics().map(|(topic, _)| topic).chain(filter_words()).collect();
    let with_flag = command.get_subcommands().filter(|of| !of.is_hide_set());
    let mut with_flag = with_flag.filter(|of| of.get_arguments().any(|arg| arg.get_long() == Some(word)));
    if let Some(of) = with_flag.next().map(clap::Command::get_name) {
        return Error::own(format!("{word} is a flag: cutap {of} --{word}; cutap help {of} lists all flags of {of}"));
    }
    if describe(word, false).is_ok() {
        return Error::own(format!("{word} is a function; cutap api {word} says what is known of it"));
    }
    let nearest = did_you_mean(word, commands.chain(topics));
    let suggestion = nearest.first().map_or_else(String::new, |name| format!("did you mean {name}? "));
    Error::own(format!("there is no command or topic {word}; {suggestion}cutap help lists all"))
}
