//! What can be asked of and set for a kernel: attributes, occupancy.

use crate::api::device::attribute;
use crate::api::launch::Config;
use crate::driver::abi::{In, Out, answer, of_the_program};
use crate::driver::code::Function;
use crate::driver::config::config;
use crate::driver::context::device;
use crate::driver::driver_state::{DriverState, Handle, driver_state, known, known_mut};
use crate::driver::fault::{Answer, Fault};

const MAX_DYNAMIC_SHARED: u32 = 8;
/// Whether a graph's node of it can be changed by a kernel: since 13.3, asked only.
const UPDATED_ON_DEVICE: u32 = 16;
/// Since 13.4: what is wished for, one of CUsharedMemoryMode.
const SHARED_MEMORY_MODE: u32 = 17;
/// What a block may have without asking for more, and with it.
const SHARED: i32 = 48 << 10;
const SHARED_OPT_IN: u32 = 97;
const SHARED_PER_SM: u32 = 81;

/// Bytes of dynamic shared memory that a launch may ask for.
pub fn max_dynamic_shared(f: &Function) -> i32 {
    f.attributes.get(&MAX_DYNAMIC_SHARED).copied().unwrap_or(SHARED - f.kernel().shared)
}

fn get(f: &Function, id: u32) -> Answer<i32> {
    let version = 10 * attribute(0, 75)? + attribute(0, 76)?;
    Ok(match id {
        0 => f.max_threads(),
        1 => f.kernel().shared,
        2 => 0,
        3 => f.kernel().local,
        4 => f.kernel().registers,
        5 | 6 => version,
        7 => 0,
        MAX_DYNAMIC_SHARED => max_dynamic_shared(f),
        9 => f.attributes.get(&id).copied().unwrap_or(-1),
        10..=15 => f.attributes.get(&id).copied().unwrap_or(0),
        UPDATED_ON_DEVICE if config().driver >= 13030 => 1,
        SHARED_MEMORY_MODE if config().driver >= 13040 => f.attributes.get(&id).copied().unwrap_or(0),
        _ => return Err(Fault::INVALID_VALUE),
    })
}

fn set(f: &mut Function, id: u32, value: i32) -> Answer {
    let good = match id {
        MAX_DYNAMIC_SHARED => (0..=attribute(0, SHARED_OPT_IN)? - f.kernel().shared).contains(&value),
        9 => (-1..=100).contains(&value),
        11..=14 => value >= 0,
        15 => (0..=2).contains(&value),
        SHARED_MEMORY_MODE => config().driver >= 13040 && (0..=4).contains(&value),
        _ => false,
    };
    if !good {
        return Err(Fault::INVALID_VALUE);
    }
    f.attributes.insert(id, value);
    Ok(())
}

/// A function of a module; a library's kernel is none.
fn function_of(world: &DriverState, function: Handle) -> Answer<&Function> {
    known(&world.functions, function).and_then(|f| if f.is_kernel() { Err(Fault::INVALID_HANDLE) } else { Ok(f) })
}

pub extern "C" fn cuFuncGetAttribute(value: Out<i32>, id: u32, function: Handle) -> u32 {
    answer(|| value.check()?.put(get(function_of(&driver_state(), function)?, id)?))
}

pub extern "C" fn cuFuncSetAttribute(function: Handle, id: u32, value: i32) -> u32 {
    answer(|| set(known_mut(&mut driver_state().functions, function)?, id, value))
}

pub extern "C" fn cuKernelGetAttribute(value: Out<i32>, id: u32, kernel: Handle, ordinal: i32) -> u32 {
    answer(|| {
        value.check()?;
        device(ordinal)?;
        value.put(get(known(&driver_state().functions, kernel)?, id)?)
    })
}

pub extern "C" fn cuKernelSetAttribute(id: u32, value: i32, kernel: Handle, ordinal: i32) -> u32 {
    answer(|| {
        device(ordinal)?;
        set(known_mut(&mut driver_state().functions, kernel)?, id, value)
    })
}

/// A hint without an effect here.
fn hint(function: Handle) -> u32 {
    answer(|| known(&driver_state().functions, function).map(drop))
}

pub extern "C" fn cuFuncSetCacheConfig(function: Handle, config: u32) -> u32 {
    answer(|| {
        known(&driver_state().functions, function)?;
        if config > 3 { Err(Fault::INVALID_VALUE) } else { Ok(()) }
    })
}

pub extern "C" fn cuKernelSetCacheConfig(kernel: Handle, _config: u32, _device: i32) -> u32 {
    hint(kernel)
}

pub extern "C" fn cuFuncSetSharedMemConfig(function: Handle, config: u32) -> u32 {
    answer(|| {
        known(&driver_state().functions, function)?;
        if config > 2 { Err(Fault::INVALID_VALUE) } else { Ok(()) }
    })
}

pub extern "C" fn cuFuncLoad(function: Handle) -> u32 {
    hint(function)
}

pub extern "C" fn cuFuncIsLoaded(state: Out<u32>, function: Handle) -> u32 {
    answer(|| known(&driver_state().functions, function).and_then(|_| state.put(1)))
}

/// Blocks of a size that fit on one multiprocessor, by threads, registers and shared memory.
pub fn blocks(f: &Function, block: i32, dynamic: usize) -> Answer<i32> {
    if block <= 0 {
        return Err(Fault::INVALID_VALUE);
    }
    if block > f.max_threads() {
        return Ok(0);
    }
    let warps = (block + 31) / 32;
    let registers = (f.kernel().registers.max(1) + 7) / 8 * 8 * 32 * warps;
    let shared = f.kernel().shared as usize + dynamic + 1024;
    let by_shared = attribute(0, SHARED_PER_SM)? as usize / shared;
    Ok((64 / warps).min(65536 / registers).min(by_shared as i32).min(32))
}

pub extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    count: Out<i32>,
    function: Handle,
    block: i32,
    dynamic: usize,
) -> u32 {
    answer(|| count.check()?.put(blocks(known(&driver_state().functions, function)?, block, dynamic)?))
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
        let blocks = blocks(known(&driver_state().functions, function)?, block, dynamic)?;
        if flags > 1 { Err(Fault::INVALID_VALUE) } else { count.put(blocks) }
    })
}

/// Asks the program how much shared memory a block of some size takes.
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
        let most = known(&driver_state().functions, function)?.max_threads();
        let limit = if limit == 0 { most } else { limit.min(most) };
        let mut best = (0, 0);
        for size in (32..=limit).step_by(32) {
            let bytes = shared.map_or(Ok(dynamic), |ask| of_the_program(|| ask(size)))?;
            let count = blocks(known(&driver_state().functions, function)?, size, bytes)?;
            best = best.max((count * size, size));
        }
        let per_sm = if best.1 == 0 { 0 } else { best.0 / best.1 };
        grid.put(per_sm * attribute(0, 16)?)?;
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

/// Any kernel, NULL, or one that must be there; and sides of a block in what the launch would say.
fn any_kernel(function: Handle, config: In<Config>) -> Answer {
    if config.get()?.block.contains(&0) {
        return Err(Fault::INVALID_VALUE);
    }
    if function == Handle::NULL { Ok(()) } else { known(&driver_state().functions, function).map(drop) }
}

/// Blocks of a cluster: the portable number of 8; and one such cluster for every eight multiprocessors. cuBLAS asks
/// without a kernel.
pub extern "C" fn cuOccupancyMaxPotentialClusterSize(size: Out<i32>, function: Handle, config: In<Config>) -> u32 {
    answer(|| any_kernel(function, config).and_then(|()| size.put(8)))
}

pub extern "C" fn cuOccupancyMaxActiveClusters(count: Out<i32>, function: Handle, config: In<Config>) -> u32 {
    answer(|| any_kernel(function, config).and_then(|()| count.put(attribute(0, 16)? / 8)))
}

pub extern "C" fn cuOccupancyAvailableDynamicSMemPerBlock(
    bytes: Out<usize>,
    function: Handle,
    count: i32,
    block: i32,
) -> u32 {
    answer(|| {
        let world = driver_state();
        let f = known(&world.functions, function)?;
        if count <= 0 || block <= 0 || block > f.max_threads() {
            return Err(Fault::INVALID_VALUE);
        }
        if count > blocks(f, block, 0)? {
            return Err(Fault::INVALID_VALUE);
        }
        let each = attribute(0, SHARED_PER_SM)? / count - 1024 - f.kernel().shared;
        bytes.put(each.clamp(0, max_dynamic_shared(f)) as usize)
    })
}
