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
    let warps = (block + 31) / 32;
    let registers = (f.kernel().registers.max(1) + 7) / 8 * 8 * 32 * warps;
    let shared = (f.kernel().shared as usize + 1024).saturating_add(dynamic);
    let by_shared = attribute(0, attribute_id::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)? as usize / shared;
    Ok((64 / warps).min(65536 / registers).min(by_shared as i32).min(32))
}
