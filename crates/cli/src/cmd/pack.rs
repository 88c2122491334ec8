//! `cutap pack`: packs a recording more tightly.

use crate::progress::Progress;
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
        let progress = Progress::new(format!("packing {}", self.file.display()));
        let packed = cutap_collect::pack_file(&self.file);
        drop(progress);
        packed
    }
}
