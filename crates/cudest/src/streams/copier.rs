//! Copies within video memory by a kernel, as libcuda makes large ones: all SMs together have four times the rate of a
//! copy engine. Rectangles, and copies at addresses that are no multiples of 16, use one copy engine.

use crate::base::error::{Error, Result};
use crate::context::shared::{Direction, Shared, lock};
use crate::streams::module::{Kernel, Module, Shape};
use crate::streams::stream::{Stream, line};
use crate::submission::fence::Fence;
use std::sync::Arc;

/// `kernels/copy.cu`.
const CUBIN: &[u8] = include_bytes!("../kernels/copy-sm_90.cubin");
/// The bytes of a load, and the loads of a block.
const LOAD: u64 = 16;
const THREADS: u32 = 512;
const LOADS_OF_BLOCK: u64 = 4 * THREADS as u64;

/// The kernel of a context: loaded when a stream needs it, kept by the streams that have used it.
fn kernel(shared: &Arc<Shared>) -> Result<Kernel> {
    let mut copier = lock(&shared.copier);
    let module = match Module::upgrade(&copier) {
        Some(module) => module,
        None => {
            let module = Module::load(shared, CUBIN)?;
            *copier = module.downgrade();
            module
        }
    };
    module.kernel("copy")
}

impl Stream {
    /// Copies between mapped addresses of video memory, if a kernel is the better way.
    pub(crate) fn copy_by_kernel(&self, to: u64, from: u64, bytes: u64) -> Result<Option<Fence>> {
        let loads = bytes / LOAD;
        let is_large = bytes >= self.shared.options.copy_kernel_from;
        let blocks = u32::try_from(loads.div_ceil(LOADS_OF_BLOCK)).unwrap_or(u32::MAX);
        if !is_large || loads == 0 || !(to | from).is_multiple_of(LOAD) || blocks > i32::MAX as u32 {
            return Ok(None);
        }
        let kernel = match self.copier.get().map_or_else(|| kernel(&self.shared), |kernel| Ok(kernel.clone())) {
            Err(Error::WrongArchitecture { .. }) => return Ok(None),
            kernel => kernel?,
        };
        let kernel = self.copier.get_or_init(|| kernel);
        let parameters = [to, from, loads].map(u64::to_le_bytes).concat();
        // SAFETY: the kernel copies these bytes; the caller of the copy answers for them.
        let fence = unsafe { self.launch(kernel, &Shape::linear(blocks, THREADS), &parameters)? };
        let copied = loads * LOAD;
        if copied == bytes {
            return Ok(Some(fence));
        }
        // SAFETY: as above.
        let rest = unsafe {
            self.copy_rectangle(&line(to + copied, from + copied, (bytes - copied) as usize), Direction::Within)
        };
        rest.map(Some)
    }
}
