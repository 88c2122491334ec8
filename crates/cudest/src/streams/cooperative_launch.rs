//! Cooperative launches: all blocks of a grid run at the same time, so that they can wait for each other. They share a
//! workspace, so one at a time runs in a context.

use crate::base::error::Result;
use crate::context::cooperative_state::CooperativeState;
use crate::context::shared::{Shared, lock};
use crate::memory::allocation::{MemoryKind, Request};
use crate::streams::module::{Kernel, Shape};
use crate::submission::lane::Launch;
use std::sync::MutexGuard;

/// What of an SM limits its blocks. The numbers of compute capability 9.0.
mod sm {
    pub const WARPS: u32 = 64;
    pub const BLOCKS: u32 = 32;
    /// Registers of each of four parts, and the unit in which a warp gets them.
    pub const REGISTERS_OF_PART: u32 = 16384;
    pub const REGISTER_UNIT: u32 = 256;
    pub const PARTS: u32 = 4;
    pub const SHARED_UNIT: u32 = 128;
}

/// How many blocks of `threads` run together on an SM with `most_shared` bytes of shared memory. `shared` are the bytes
/// of a block, with the system's.
pub(crate) fn blocks_of_sm(threads: u64, registers: u32, shared: u32, most_shared: u32) -> u32 {
    let warps = u32::try_from(threads.div_ceil(32)).unwrap_or(u32::MAX).max(1);
    let of_warp = registers.max(1).saturating_mul(32).next_multiple_of(sm::REGISTER_UNIT);
    let by_registers = sm::REGISTERS_OF_PART / of_warp * sm::PARTS / warps;
    let by_shared = most_shared / shared.max(1).next_multiple_of(sm::SHARED_UNIT);
    sm::BLOCKS.min(sm::WARPS / warps).min(by_registers).min(by_shared)
}

impl Shared {
    /// The state, locked until the next launch is submitted, and the address of the workspace.
    pub fn cooperative(&self) -> Result<(MutexGuard<'_, CooperativeState>, u64)> {
        let mut state = lock(&self.cooperative);
        if let Some(workspace) = &state.workspace {
            let address = workspace.address;
            return Ok((state, address));
        }
        let request = Request { place: MemoryKind::Video, size: 4096, visible: true, unified: false };
        let workspace = self.allocate(request)?;
        if let Some(host) = workspace.host {
            // Its size, and the barrier. A finished grid leaves the barrier as the next one needs it.
            // SAFETY: the memory is new, and has these words.
            unsafe { host.cast::<[u32; 2]>().write_volatile([8, 0]) };
        }
        crate::submission::channel::store_fence();
        let address = state.workspace.insert(workspace).address;
        Ok((state, address))
    }
}

impl Kernel {
    /// How many blocks of this shape run together on the GPU: the largest grid of a cooperative launch.
    ///
    /// # Errors
    /// The driver does not say how many SMs there are.
    pub fn resident_blocks(&self, shape: &Shape) -> Result<u64> {
        let shared = self.shared();
        let (x, y, z) = shape.block;
        let threads = u64::from(x) * u64::from(y) * u64::from(z);
        let bytes = self.shared_bytes(shape.shared);
        let of_sm = blocks_of_sm(threads, self.entry().registers, bytes, shared.chip.shared_of_sm());
        Ok(u64::from(of_sm) * u64::from(shared.tpcs()? * 2))
    }

    /// Makes a checked launch a cooperative one.
    pub(crate) fn cooperate(&self, shape: &Shape, launch: &mut Launch<'_>, workspace: u64) -> Result<()> {
        let most = self.resident_blocks(shape)?;
        let (x, y, z) = shape.grid;
        let blocks = u64::from(x).saturating_mul(y.into()).saturating_mul(z.into());
        let sms = u64::from(self.shared().tpcs()? * 2);
        if blocks > most {
            return Err(
                self.refuse(format!("a cooperative grid of {blocks} blocks, and {sms} SMs run {most} together"))
            );
        }
        let of_sm = blocks.div_ceil(sms.max(1)) as u32;
        launch.qmd.set_shared_of_sm(of_sm.saturating_mul(self.shared_bytes(shape.shared)));
        launch.qmd.set_cooperative(shape.grid);
        launch.header.set_grid_workspace(workspace);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of cuOccupancyMaxActiveBlocksPerMultiprocessor on an H200.
    #[test]
    fn occupancy() {
        const SHARED: u32 = 228 << 10;
        assert_eq!(blocks_of_sm(256, 16, 1024, SHARED), 8);
        assert_eq!(blocks_of_sm(32, 16, 1024, SHARED), 32);
        assert_eq!(blocks_of_sm(1024, 64, 1024, SHARED), 1);
        assert_eq!(blocks_of_sm(1024, 65, 1024, SHARED), 0);
        assert_eq!(blocks_of_sm(256, 40, 1024, SHARED), 6);
        assert_eq!(blocks_of_sm(64, 32, (227 << 10) + 1024, SHARED), 1);
        assert_eq!(blocks_of_sm(64, 32, (49 << 10) + 1024, SHARED), 4);
    }
}
