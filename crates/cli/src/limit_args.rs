//! The flags `--limit-memory`, `--accounts` and `--gpus`. `cutap run --help` shows them; `trace` and `record` have no
//! room for them.

use crate::heading;
use clap::Args;
use cutap_collect::{Gpus, MemoryLimit, Result};
use std::ffi::OsString;
use std::path::PathBuf;

/// What a program may have of the GPUs.
#[derive(Debug, Args)]
pub struct LimitArgs {
    /// At most so much memory of each GPU, over all processes: 2GiB, 2GiB@0 (help limit)
    #[arg(long, value_name = "SIZE[@DEVICE]", help_heading = heading::PROGRAM, hide = true)]
    limit_memory: Vec<String>,
    /// Count the memory of all runs with this folder together
    #[arg(long, value_name = "DIR", requires = "limit_memory", help_heading = heading::PROGRAM, hide = true)]
    pub accounts: Option<PathBuf>,
    /// Show the program these GPUs only, by their numbers: 0,2
    #[arg(long, value_name = "LIST", help_heading = heading::PROGRAM, hide = true)]
    gpus: Option<String>,
}

impl LimitArgs {
    /// The limits, or what is wrong with one.
    pub fn limits(&self) -> Result<Vec<MemoryLimit>> {
        let limits = self.limit_memory.iter().map(|text| MemoryLimit::parse(text)).collect::<Result<Vec<_>>>()?;
        MemoryLimit::check(&limits).map(|()| limits)
    }

    /// Variables of the program.
    pub fn variables(&self) -> Result<Vec<(OsString, Option<OsString>)>> {
        self.gpus.as_ref().map_or(Ok(Vec::new()), |text| Gpus::parse(text)?.variables())
    }
}
