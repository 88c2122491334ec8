//! `cutap inspect`: how programs and libraries reach CUDA.

use crate::args::JsonArgs;
use crate::stdout::print;
use cutap_collect::{Error, Result, say};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Inspect {
    #[command(flatten)]
    json: JsonArgs,
    /// Programs and libraries
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Inspect {
    /// A file that cannot be read does not keep the others from being printed. The last such file is the error.
    pub fn run(self) -> Result<()> {
        let mut unreadable: Option<Error> = None;
        for file in &self.files {
            match cutap_inspect::inspect(file) {
                Ok(report) => print(&if self.json.json { report.json() + "\n" } else { report.to_string() })?,
                Err(e) => {
                    if let Some(before) = unreadable.replace(Error::own(e.to_string())) {
                        say(&before.to_string());
                    }
                }
            }
        }
        unreadable.map_or(Ok(()), Err)
    }
}
