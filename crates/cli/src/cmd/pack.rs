//! `cutap pack`: packs a recording more tightly.

use cutap_collect::Result;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Pack {
    /// The recording
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl Pack {
    pub fn run(self) -> Result<()> {
        cutap_collect::pack_file(&self.file)
    }
}
