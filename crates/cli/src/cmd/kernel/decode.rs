//! `cutap kernel decode`: decodes a log of ioctls.

use super::own;
use crate::stdout::print;
use cutap_collect::Result;
use cutap_kernel::{Error, json};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Decode {
    /// The log
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl Decode {
    pub fn run(self) -> Result<()> {
        let text = std::fs::read_to_string(&self.file).map_err(|e| own(Error::unreadable(&self.file, &e)))?;
        let run = json::read(&text).map_err(own)?;
        print(&format!("{} calls\n", run.calls.len()))
    }
}
