//! Limits of one multiprocessor: how much shared memory a launch may use, and how many blocks fit.

use super::device::attribute;
use crate::abi::{Answer, Fault};
use crate::state::Function;
use cutap_machine::{attribute_id, function_attribute};

/// Bytes of shared memory of a block that has not opted in to more.
const SHARED: i32 = 48 << 10;

/// Bytes of dynamic shared memory that a launch may ask for.
pub fn max_dynamic_shared(f: &Function) -> i32 {
    f.attributes
        .get(&function_attribute::MAX_DYNAMIC_SHARED_SIZE_BYTES)
        .copied()
        .unwrap_or((SHARED - f.kernel().shared).max(0))
}

/// Blocks of `block` threads that fit on one multiprocessor, by threads, registers and shared memory.
pub fn blocks(f: &Function, block: i32, dynamic: usize) -> Answer<i32> {
    if block <= 0 {
        return Err(Fault::INVALID_VALUE);
    }
    if block > f.max_threads() {
        return Ok(0);
    }
    Ok(fitting(block, f.kernel().registers, f.kernel().shared as usize, dynamic, most_shared()?))
}

/// Bytes of shared memory of a multiprocessor.
fn most_shared() -> Answer<usize> {
    attribute(0, attribute_id::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR).map(|bytes| bytes as usize)
}

/// Blocks on one multiprocessor, by what each of them needs.
fn fitting(block: i32, registers: i32, own_shared: usize, dynamic: usize, most: usize) -> i32 {
    /// The system's part of a block's shared memory, and the unit in which blocks get it.
    const SYSTEM: usize = 1024;
    const SHARED_UNIT: usize = 128;
    /// Warps of a multiprocessor, which has four parts with their registers. A warp gets these in units.
    const WARPS: i32 = 64;
    const PARTS: i32 = 4;
    const REGISTERS_OF_PART: i32 = 16384;
    const REGISTER_UNIT: i32 = 256;
    const BLOCKS: i32 = 32;
    let warps = (block + 31) / 32;
    let of_warp = (registers.max(1) * 32 + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
    let by_registers = REGISTERS_OF_PART / of_warp * PARTS / warps;
    let shared = (own_shared + SYSTEM).saturating_add(dynamic).checked_next_multiple_of(SHARED_UNIT);
    let by_shared = most / shared.unwrap_or(usize::MAX);
    (WARPS / warps).min(by_registers).min(by_shared as i32).min(BLOCKS)
}

/// How many clusters of `size` blocks run together. A cluster runs within one group of multiprocessors. `groups` says
/// how many multiprocessors each has.
pub fn active_clusters(groups: &[i32], blocks_of_each: i32, size: i32) -> i32 {
    groups.iter().map(|group| group * blocks_of_each / size.max(1)).sum()
}

/// Blocks of a launch that fit on one multiprocessor. Without a kernel, as cuBLAS asks, registers do not count.
pub fn blocks_of_launch(f: Option<&Function>, block: [u32; 3], dynamic: u32) -> Answer<i32> {
    let threads =
        block.iter().fold(1_i32, |product, side| product.saturating_mul(i32::try_from(*side).unwrap_or(i32::MAX)));
    match f {
        Some(f) => blocks(f, threads, dynamic as usize),
        None if threads > 1024 => Ok(0),
        None if threads <= 0 => Err(Fault::INVALID_VALUE),
        None => Ok(fitting(threads, 1, 0, dynamic as usize, most_shared()?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_do_not_cross_groups() {
        assert_eq!([1, 2, 4, 8, 16].map(|size| active_clusters(&[16, 16, 18, 2], 1, size)), [52, 26, 12, 6, 3]);
        assert_eq!(active_clusters(&[16, 18], 2, 16), 4);
        assert_eq!(active_clusters(&[16, 18], 0, 2), 0);
    }

    /// cuOccupancyMaxActiveBlocksPerMultiprocessor on an H100: 1 KiB of static and 6 KiB of dynamic shared memory.
    #[test]
    fn the_system_counts_once() {
        assert_eq!(fitting(32, 10, 1024, 6 << 10, 228 << 10), 28);
    }
}
