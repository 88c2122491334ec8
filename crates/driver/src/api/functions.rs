//! Attributes and occupancy of kernels.

use crate::abi::{Answer, Fault, In, Out, answer, of_the_program};
use crate::api::launch::{Config, cluster_blocks};
use crate::driver::current;
use crate::driver::device::{attribute, device, number};
use crate::driver::occupancy::{blocks, blocks_of_launch, clusters_of_launch, largest_cluster, max_dynamic_shared};
use crate::engine::machine;
use crate::state::{DriverState, Function, Handle, driver_state, lookup, lookup_mut};
use cutap_machine::{attribute_id, config, function_attribute as attribute_of};

fn get(f: &Function, id: u32) -> Answer<i32> {
    let version = 10 * attribute(0, attribute_id::COMPUTE_CAPABILITY_MAJOR)?
        + attribute(0, attribute_id::COMPUTE_CAPABILITY_MINOR)?;
    Ok(match id {
        attribute_of::MAX_THREADS_PER_BLOCK => f.max_threads(),
        attribute_of::SHARED_SIZE_BYTES => f.kernel().shared,
        attribute_of::CONST_SIZE_BYTES => 0,
        attribute_of::LOCAL_SIZE_BYTES => f.kernel().local,
        attribute_of::NUM_REGS => f.kernel().registers,
        attribute_of::PTX_VERSION | attribute_of::BINARY_VERSION => version,
        attribute_of::CACHE_MODE_CA => 0,
        attribute_of::MAX_DYNAMIC_SHARED_SIZE_BYTES => max_dynamic_shared(f),
        attribute_of::PREFERRED_SHARED_MEMORY_CARVEOUT => f.attributes.get(&id).copied().unwrap_or(-1),
        attribute_of::CLUSTER_SIZE_MUST_BE_SET..=attribute_of::CLUSTER_SCHEDULING_POLICY_PREFERENCE => {
            f.attributes.get(&id).copied().unwrap_or(0)
        }
        // Whether a kernel can change nodes with this function; read-only.
        attribute_of::DEVICE_NODE_UPDATE_SUPPORTED if config().driver >= 13030 => 1,
        attribute_of::SHARED_MEMORY_MODE if config().driver >= 13040 => f.attributes.get(&id).copied().unwrap_or(0),
        _ => return Err(Fault::INVALID_VALUE),
    })
}

fn set(f: &mut Function, id: u32, value: i32) -> Answer {
    let good = match id {
        attribute_of::MAX_DYNAMIC_SHARED_SIZE_BYTES => {
            (0..=attribute(0, attribute_id::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)? - f.kernel().shared).contains(&value)
        }
        attribute_of::PREFERRED_SHARED_MEMORY_CARVEOUT => (-1..=100).contains(&value),
        attribute_of::REQUIRED_CLUSTER_WIDTH..=attribute_of::NON_PORTABLE_CLUSTER_SIZE_ALLOWED => value >= 0,
        attribute_of::CLUSTER_SCHEDULING_POLICY_PREFERENCE => (0..=2).contains(&value),
        // CUsharedMemoryMode, a preference.
        attribute_of::SHARED_MEMORY_MODE => config().driver >= 13040 && (0..=4).contains(&value),
        _ => false,
    };
    if !good {
        return Err(Fault::INVALID_VALUE);
    }
    f.attributes.insert(id, value);
    Ok(())
}

/// A function of a module. INVALID_HANDLE for a kernel of a library.
fn function_of(state: &DriverState, function: Handle) -> Answer<&Function> {
    lookup(&state.code.functions, function).and_then(|f| if f.is_kernel() { Err(Fault::INVALID_HANDLE) } else { Ok(f) })
}

pub extern "C" fn cuFuncGetAttribute(value: Out<i32>, id: u32, function: Handle) -> u32 {
    answer(|| value.check()?.put(get(function_of(&driver_state(), function)?, id)?))
}

pub extern "C" fn cuFuncSetAttribute(function: Handle, id: u32, value: i32) -> u32 {
    answer(|| set(lookup_mut(&mut driver_state().code.functions, function)?, id, value))
}

pub extern "C" fn cuKernelGetAttribute(value: Out<i32>, id: u32, kernel: Handle, ordinal: i32) -> u32 {
    answer(|| {
        value.check()?;
        device(ordinal)?;
        value.put(get(lookup(&driver_state().code.functions, kernel)?, id)?)
    })
}

pub extern "C" fn cuKernelSetAttribute(id: u32, value: i32, kernel: Handle, ordinal: i32) -> u32 {
    answer(|| {
        device(ordinal)?;
        set(lookup_mut(&mut driver_state().code.functions, kernel)?, id, value)
    })
}

/// A hint has no effect in this driver.
fn hint(function: Handle) -> u32 {
    answer(|| lookup(&driver_state().code.functions, function).map(drop))
}

pub extern "C" fn cuFuncSetCacheConfig(function: Handle, config: u32) -> u32 {
    answer(|| {
        lookup(&driver_state().code.functions, function)?;
        if config > 3 { Err(Fault::INVALID_VALUE) } else { Ok(()) }
    })
}

pub extern "C" fn cuKernelSetCacheConfig(kernel: Handle, _config: u32, _device: i32) -> u32 {
    hint(kernel)
}

pub extern "C" fn cuFuncSetSharedMemConfig(function: Handle, config: u32) -> u32 {
    answer(|| {
        lookup(&driver_state().code.functions, function)?;
        if config > 2 { Err(Fault::INVALID_VALUE) } else { Ok(()) }
    })
}

pub extern "C" fn cuFuncLoad(function: Handle) -> u32 {
    hint(function)
}

pub extern "C" fn cuFuncIsLoaded(state: Out<u32>, function: Handle) -> u32 {
    answer(|| lookup(&driver_state().code.functions, function).and_then(|_| state.put(1)))
}

pub extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    count: Out<i32>,
    function: Handle,
    block: i32,
    dynamic: usize,
) -> u32 {
    answer(|| count.check()?.put(blocks(lookup(&driver_state().code.functions, function)?, block, dynamic)?))
}

pub extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    count: Out<i32>,
    function: Handle,
    block: i32,
    dynamic: usize,
    flags: u32,
) -> u32 {
    answer(|| {
        count.check()?;
        let blocks = blocks(lookup(&driver_state().code.functions, function)?, block, dynamic)?;
        if flags > 1 { Err(Fault::INVALID_VALUE) } else { count.put(blocks) }
    })
}

type SharedForBlock = extern "C" fn(i32) -> usize;

pub extern "C" fn cuOccupancyMaxPotentialBlockSize(
    grid: Out<i32>,
    block: Out<i32>,
    function: Handle,
    shared: Option<SharedForBlock>,
    dynamic: usize,
    limit: i32,
) -> u32 {
    answer(|| {
        grid.check()?;
        block.check()?;
        if limit < 0 {
            return Err(Fault::INVALID_VALUE);
        }
        let most = lookup(&driver_state().code.functions, function)?.max_threads();
        let limit = if limit == 0 { most } else { limit.min(most) };
        let mut best = (0, 0);
        for size in (32..=limit).step_by(32) {
            let bytes = shared.map_or(Ok(dynamic), |shared_for_block| of_the_program(|| shared_for_block(size)))?;
            let count = blocks(lookup(&driver_state().code.functions, function)?, size, bytes)?;
            best = best.max((count * size, size));
        }
        let per_sm = if best.1 == 0 { 0 } else { best.0 / best.1 };
        grid.put(per_sm * attribute(0, attribute_id::MULTIPROCESSOR_COUNT)?)?;
        block.put(best.1)
    })
}

pub extern "C" fn cuOccupancyMaxPotentialBlockSizeWithFlags(
    grid: Out<i32>,
    block: Out<i32>,
    function: Handle,
    shared: Option<SharedForBlock>,
    dynamic: usize,
    limit: i32,
    _flags: u32,
) -> u32 {
    cuOccupancyMaxPotentialBlockSize(grid, block, function, shared, dynamic, limit)
}

/// Blocks of the launch on one multiprocessor, and whether its kernel may have clusters that are not portable.
fn blocks_of_cluster_launch(function: Handle, config: &Config) -> Answer<(i32, bool)> {
    // libcuda refuses a missing kernel as a value, and not as a handle.
    if config.block.contains(&0) || function == Handle::NULL {
        return Err(Fault::INVALID_VALUE);
    }
    let state = driver_state();
    let f = lookup(&state.code.functions, function)?;
    let consent = f.attributes.get(&attribute_of::NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
    Ok((blocks_of_launch(f, config.block, config.shared)?, consent.is_some_and(|allowed| *allowed != 0)))
}

/// How many multiprocessors each group has, of the device that a thread uses.
fn groups() -> Answer<Vec<i32>> {
    let device = current::device().or_else(|_| device(0))?;
    Ok(machine().floor_plan(number(device)).multiprocessors())
}

pub extern "C" fn cuOccupancyMaxPotentialClusterSize(size: Out<i32>, function: Handle, config: In<Config>) -> u32 {
    answer(|| {
        let (blocks, is_wide) = blocks_of_cluster_launch(function, &config.get()?)?;
        size.put(largest_cluster(&groups()?, blocks, is_wide))
    })
}

pub extern "C" fn cuOccupancyMaxActiveClusters(count: Out<i32>, function: Handle, config: In<Config>) -> u32 {
    answer(|| {
        let config = config.get()?;
        let (blocks, is_wide) = blocks_of_cluster_launch(function, &config)?;
        count.put(clusters_of_launch(&groups()?, blocks, cluster_blocks(&config)? as i32, is_wide)?)
    })
}

pub extern "C" fn cuOccupancyAvailableDynamicSMemPerBlock(
    bytes: Out<usize>,
    function: Handle,
    count: i32,
    block: i32,
) -> u32 {
    answer(|| {
        let state = driver_state();
        let f = lookup(&state.code.functions, function)?;
        if count <= 0 || block <= 0 || block > f.max_threads() {
            return Err(Fault::INVALID_VALUE);
        }
        if count > blocks(f, block, 0)? {
            return Err(Fault::INVALID_VALUE);
        }
        let each = attribute(0, attribute_id::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)? / count - 1024 - f.kernel().shared;
        bytes.put(each.clamp(0, max_dynamic_shared(f)) as usize)
    })
}
