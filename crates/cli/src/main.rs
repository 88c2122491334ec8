//! `cutap`: parses the command line, runs one subcommand, and turns its outcome into an exit code. Each subcommand is a
//! file in `cmd`, with its flags; flags that several subcommands share are in `args`.

mod args;
mod cmd;
mod command_line;
mod completion;
mod demo_recording;
mod derived_file;
mod embedded;
mod examples;
mod first_screen;
mod heading;
mod inject_args;
mod input;
mod inputs;
mod limit_args;
mod memory;
mod pager;
mod progress;
mod reader_thread;
mod reading;
mod report_input;
mod reserved;
mod run_filter;
mod shorthand;
mod stdout;
mod strace_args;
mod temporary_folder;
mod text_args;
mod topics;
mod unknown_flag;
mod verdict;
mod version;

#[global_allocator]
static MEMORY: memory::Memory = memory::Memory;

use cutap_collect::{OWN_FAILURE, Result, print_notice};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    cutap_collect::file_size_limit_is_an_error();
    cutap_collect::raise_file_limit();
    completion::answer_shell();
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(sentence) = words.first().and_then(|word| word.to_str()).and_then(reserved::advice) {
        print_notice(&sentence);
        return OWN_FAILURE.into();
    }
    let result = match command_line::parse(&words) {
        Ok(command) => command.run(),
        Err(e) if e.use_stderr() => {
            let _ = e.print();
            return OWN_FAILURE.into();
        }
        Err(help) => print_help(&help),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            print_notice(&e.to_string());
            e.code.into()
        }
    }
}

/// Prints the text of `--help` or `--version`.
fn print_help(help: &clap::Error) -> Result<()> {
    stdout::written(help.print().and_then(|()| std::io::stdout().flush()))
}
