//! `cutap completions`: prints the completions of a shell.

use crate::command_line;
use crate::stdout::written;
use clap_complete::Shell;
use cutap_collect::Result;
use std::io::Write;

#[derive(Debug, clap::Args)]
pub struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Completions {
    pub fn run(self) -> Result<()> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut command_line::command(), "cutap", &mut text);
        let mut out = std::io::stdout();
        written(out.write_all(&text).and_then(|()| out.flush()))
    }
}
