//! The driver's part of constant bank 0: what a kernel reads of its launch besides its parameters. Positions as libcuda
//! 580 fills them on sm_90.

use super::qmd::Dim3;

/// The bytes before the parameters of sm_90. A cubin says itself where its parameters are.
pub(crate) const HEADER: usize = 0x210;

/// The offset in the local window, of 16 MiB, at which a thread's stack begins, downwards.
const STACK_TOP: u32 = 0x00ff_fdc0;

/// What a launch gives to bank 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Launch {
    pub grid: Dim3,
    pub block: Dim3,
    pub shared_window: u64,
    pub local_window: u64,
    /// Shared memory of a block.
    pub shared: u32,
}

/// Tells a kernel where the memory is by which its grid synchronizes: environment registers 1 (high) and 2 (low). The
/// third word is libcuda's mark of a cooperative launch.
pub(crate) fn set_grid_workspace(bank: &mut [u8], address: u64) {
    for (at, value) in [(0x44, (address >> 32) as u32), (0x48, address as u32), (0x110, 1)] {
        if let Some(into) = bank.get_mut(at..at + 4) {
            into.copy_from_slice(&value.to_le_bytes());
        }
    }
}

/// Fills the beginning of bank 0. What does not fit is left out.
pub(crate) fn fill(bank: &mut [u8], launch: &Launch) {
    let Launch { grid, block, shared_window, local_window, shared } = *launch;
    let words: [(usize, u32); 21] = [
        (0x00, block.0),
        (0x04, block.1),
        (0x08, block.2),
        (0x0c, grid.0),
        (0x10, grid.1),
        (0x14, grid.2),
        (0x18, shared_window as u32),
        (0x1c, (shared_window >> 32) as u32),
        (0x20, local_window as u32),
        (0x24, (local_window >> 32) as u32),
        (0x28, STACK_TOP),
        (0x30, 1),
        (0x114, shared),
        (0x13c, shared),
        // A cluster of one block, and the grid in clusters.
        (0x144, 1),
        (0x148, 1),
        (0x14c, 1),
        (0x15c, grid.0),
        (0x160, grid.1),
        (0x164, grid.2),
        (0x188, 1),
    ];
    for (at, value) in words {
        if let Some(into) = bank.get_mut(at..at + 4) {
            into.copy_from_slice(&value.to_le_bytes());
        }
    }
}
