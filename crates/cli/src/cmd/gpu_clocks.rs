//! `cutap __gpu-clocks`: the process that asks NVML for clocks. A collector starts it; it is not for people.

use cutap_collect::{Error, Result};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct GpuClocks {
    /// The NVML library.
    library: PathBuf,
}

impl GpuClocks {
    pub fn run(self) -> Result<()> {
        let unwritten = |e| Error::own(format!("cannot write clocks of GPUs: {e}; start the program again"));
        cutap_gpu_clocks::sample_clocks(self.library.as_os_str()).map_err(unwritten)
    }
}
