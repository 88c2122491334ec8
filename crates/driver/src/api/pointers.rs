//! Attributes of addresses.

use crate::abi::{Answer, Fault, In, Out, answer};
use crate::state::{Allocation, Handle, Kind, driver_state};
use cutap_machine::pointer_attribute as attribute;

const HOST: u32 = 1;
const DEVICE: u32 = 2;
/// The granularity of mappings that the driver reports.
const BLOCK: u64 = 2 << 20;

/// Writes an attribute of an address; each has its own type. With `many`, an attribute without a meaning for the
/// address is no error.
fn put(value: u64, id: u32, address: u64, allocation: Option<(u64, &Allocation)>, many: bool) -> Answer {
    let word = |w: u64| Out::<u64>::at(value).put(w);
    let half = |w: u32| Out::<u32>::at(value).put(w);
    let Some((start, a)) = allocation else {
        // The driver does not know this address.
        return match id {
            attribute::MEMORY_TYPE | attribute::IS_MANAGED | attribute::MAPPED | attribute::ACCESS_FLAGS => half(0),
            attribute::DEVICE_ORDINAL => half(-2i32 as u32),
            attribute::CONTEXT
            | attribute::DEVICE_POINTER
            | attribute::HOST_POINTER
            | attribute::P2P_TOKENS
            | attribute::BUFFER_ID
            | attribute::RANGE_START_ADDR
            | attribute::RANGE_SIZE
            | attribute::ALLOWED_HANDLE_TYPES
            | attribute::MEMPOOL_HANDLE
            | attribute::MAPPING_SIZE
            | attribute::MAPPING_BASE_ADDR
            | attribute::MEMORY_BLOCK_ID => word(0),
            attribute::SYNC_MEMOPS
            | attribute::IS_LEGACY_CUDA_IPC_CAPABLE
            | attribute::IS_GPU_DIRECT_RDMA_CAPABLE
            | attribute::IS_HW_DECOMPRESS_CAPABLE => half(0),
            _ => Err(Fault::INVALID_VALUE),
        };
    };
    let on_host = !a.on_device() || a.kind == Kind::Managed;
    match id {
        attribute::CONTEXT => word(a.context.0),
        attribute::MEMORY_TYPE => half(if a.on_device() { DEVICE } else { HOST }),
        attribute::DEVICE_POINTER => word(address),
        attribute::HOST_POINTER if on_host => word(address),
        attribute::HOST_POINTER if many => word(0),
        attribute::P2P_TOKENS => Out::<[u64; 2]>::at(value).put([start, a.id]),
        attribute::SYNC_MEMOPS => half(0),
        attribute::BUFFER_ID => word(a.id),
        attribute::IS_MANAGED => half((a.kind == Kind::Managed).into()),
        attribute::DEVICE_ORDINAL => half(a.device as u32),
        attribute::IS_LEGACY_CUDA_IPC_CAPABLE => half((a.kind == Kind::Device && a.pool == Handle::NULL).into()),
        attribute::RANGE_START_ADDR => word(start),
        attribute::RANGE_SIZE => word(a.size),
        attribute::MAPPED => half(1),
        attribute::ALLOWED_HANDLE_TYPES => word(0),
        attribute::IS_GPU_DIRECT_RDMA_CAPABLE => half(a.on_device().into()),
        attribute::ACCESS_FLAGS => half(3),
        attribute::MEMPOOL_HANDLE => word(a.pool.0),
        18 if a.kind == Kind::Device => word(a.size.next_multiple_of(BLOCK)),
        attribute::MAPPING_SIZE => word(a.size),
        19 if a.kind == Kind::Device => word(start & !(BLOCK - 1)),
        attribute::MAPPING_BASE_ADDR => word(start),
        attribute::MEMORY_BLOCK_ID => word(a.id),
        attribute::IS_HW_DECOMPRESS_CAPABLE => half(0),
        _ => Err(Fault::INVALID_VALUE),
    }
}

pub extern "C" fn cuPointerGetAttribute(value: u64, id: u32, address: u64) -> u32 {
    answer(|| {
        let state = driver_state();
        put(value, id, address, Some(state.memory.find(address).ok_or(Fault::INVALID_VALUE)?), false)
    })
}

/// Several attributes. An unknown address is no error.
pub extern "C" fn cuPointerGetAttributes(count: u32, ids: In<u32>, values: In<u64>, address: u64) -> u32 {
    answer(|| {
        if count == 0 {
            return Err(Fault::INVALID_VALUE);
        }
        let state = driver_state();
        let allocation = state.memory.find(address);
        ids.check_count(count as usize).and(values.check_count(count as usize))?;
        (0..count as usize).try_for_each(|n| put(values.get_at(n)?, ids.get_at(n)?, address, allocation, true))
    })
}

/// Only one attribute can be set: synchronous copies, which has no effect.
pub extern "C" fn cuPointerSetAttribute(value: u64, id: u32, address: u64) -> u32 {
    answer(|| match driver_state().memory.find(address) {
        Some(_) if id == attribute::SYNC_MEMOPS && value != 0 => Ok(()),
        _ => Err(Fault::INVALID_VALUE),
    })
}
