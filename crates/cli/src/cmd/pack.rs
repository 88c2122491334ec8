//! `cutap pack`: packs a recording more tightly.

use cutap_collect::{Result, file_size, print_notice};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Pack {
    /// The recording
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl Pack {
    pub fn run(self) -> Result<()> {
        let (file, size) = (self.file.display(), || std::fs::metadata(&self.file).map_or(0, |data| data.len()));
        let before = size();
        cutap_collect::pack_file(&self.file)?;
        print_notice(&format!("{file} is packed: {} before, {} now", file_size(before), file_size(size())));
        Ok(())
    }
}
