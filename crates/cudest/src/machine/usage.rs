//! How much memory a GPU has left.

use crate::base::error::Result;
use crate::kernel_driver::facts;
use crate::machine::gpu::Context;

impl Context {
    /// All video memory of the GPU and what is free of it, in bytes. Other processes count too.
    ///
    /// # Errors
    /// The driver refuses the query.
    pub fn memory_usage(&self) -> Result<(u64, u64)> {
        facts::memory(&self.shared().link)
    }
}
