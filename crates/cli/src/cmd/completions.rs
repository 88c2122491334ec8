//! `cutap completions`: prints the script by which a shell asks cutap for completions.

use crate::completion;
use crate::stdout::written;
use clap::builder::PossibleValuesParser;
use cutap_collect::Result;
use std::io::Write;

#[derive(Debug, clap::Args)]
pub struct Completions {
    /// The shell
    #[arg(value_name = "SHELL", value_parser = PossibleValuesParser::new(completion::shells()))]
    shell: String,
}

impl Completions {
    pub fn run(self) -> Result<()> {
        let mut out = std::io::stdout();
        written(completion::write_script(&self.shell, &mut out).and_then(|()| out.flush()))
    }
}
