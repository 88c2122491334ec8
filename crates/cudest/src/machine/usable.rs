//! Which GPUs a program can run its kernels on here, and the sentence for a machine that has none.

use crate::base::error::{Error, Result};
use crate::kernel_driver::facts::Facts;
use crate::machine::survey::Survey;
use cutap_rm::Fit;

impl Survey {
    /// The places in the driver's list of the GPUs that kernels have run on, an H100 or H200, with their facts.
    ///
    /// # Errors
    /// The driver's branch has no checked tables, or no GPU can be used: each has its reason.
    pub fn usable_gpus(self) -> Result<Vec<(usize, Facts)>> {
        if !matches!(self.driver.fit, Fit::Exact | Fit::SameBranch) {
            return Err(Error::UncheckedDriver { version: self.driver.version, tables: self.driver.tables });
        }
        let (mut usable, mut refused) = (Vec::new(), Vec::new());
        for (index, (card, facts)) in self.gpus.into_iter().enumerate() {
            match facts {
                Ok(facts) if is_partitioned(card.minor) => refused.push(format!("{} is in MIG mode", facts.name)),
                Ok(facts) if facts.is_supported() && has_run(&facts.name) => usable.push((index, facts)),
                Ok(facts) => refused.push(format!("{} is neither an H100 nor an H200", facts.name)),
                Err(why) => refused.push(format!("the GPU at {}: {why}", card.pci_address())),
            }
        }
        if usable.is_empty() { Err(Error::NoUsableGpu(refused.join("; "))) } else { Ok(usable) }
    }
}

fn has_run(name: &str) -> bool {
    ["H100", "H200"].iter().any(|tested| name.contains(tested))
}

/// Whether a GPU is divided into instances.
fn is_partitioned(minor: u32) -> bool {
    let folder = format!("/proc/driver/nvidia/capabilities/gpu{minor}/mig");
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("gi"))
}
