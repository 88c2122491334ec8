//! Launches of kernels. They are checked and put into their stream, but no kernel runs.

use crate::abi::{Answer, Fault, In, answer, bytes_at};
use crate::driver::device::attribute;
use crate::driver::occupancy::{blocks, max_dynamic_shared};
use crate::driver::{context, submit};
use crate::engine::machine;
use crate::state::{Arguments, Function, Handle, Launch, Task, driver_state, lookup, lookup_mut};
use cutap_machine::attribute_id;
use std::collections::BTreeMap;
use std::sync::Arc;

/// CUlaunchConfig. Every launch has these, and `parameters` or `extra` for the arguments of the kernel.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Config {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
    pub stream: Handle,
    pub attributes: u64,
    pub count: u32,
}

pub fn check(f: &Function, config: &Config, parameters: u64, extra: u64) -> Answer {
    let zero = config.grid.iter().chain(&config.block).any(|side| *side == 0);
    let threads = config.block.iter().fold(1u64, |a, b| a.saturating_mul((*b).into()));
    let too_wide = config.grid[0] > i32::MAX as u32 || config.grid[1] > 65535 || config.grid[2] > 65535;
    let too_big = threads > f.max_threads() as u64 || config.block[2] > 64 || too_wide;
    let too_much = config.shared > max_dynamic_shared(f).max(0) as u32;
    let given_twice = parameters != 0 && extra != 0;
    let nothing_given = !f.kernel().parameters.is_empty() && parameters == 0 && extra == 0;
    if zero || too_big || too_much || nothing_given || given_twice {
        return Err(Fault::INVALID_VALUE);
    }
    if extra != 0 { check_extra(f, extra) } else { check_parameters(f, parameters) }
}

/// The real driver accepts fewer bytes than the kernel takes, but not more.
fn check_extra(f: &Function, extra: u64) -> Answer {
    let (buffer, size) = in_extra(extra)?;
    match size_of(f) {
        0 => Ok(()),
        _ if buffer == 0 || size == 0 => Err(Fault::INVALID_VALUE),
        len if size > len => Err(Fault::LAUNCH_OUT_OF_RESOURCES),
        _ => Ok(()),
    }
}

/// No pointer to a parameter may be NULL.
fn check_parameters(f: &Function, parameters: u64) -> Answer {
    if matches!(parameters, 0 | PARAMETERS_SET) {
        return Ok(());
    }
    let missing = |n| In::<u64>::at(parameters).get_at(n).is_ok_and(|address| address == 0);
    if (0..f.kernel().parameters.len()).any(missing) { Err(Fault::INVALID_VALUE) } else { Ok(()) }
}

/// Size of the block of parameters, in bytes.
fn size_of(f: &Function) -> u64 {
    f.kernel().parameters.iter().map(|p| p.offset + p.size).max().unwrap_or(0)
}

/// Copies the arguments of a kernel.
pub fn arguments(f: &Function, parameters: u64, extra: u64) -> Answer<Option<Arc<Arguments>>> {
    let layout = &f.kernel().parameters;
    let len = size_of(f);
    let mut block = vec![0u8; len as usize].into_boxed_slice();
    if extra != 0 {
        let (buffer, size) = in_extra(extra)?;
        let size = size.min(len);
        block[..size as usize].copy_from_slice(&bytes_at(buffer, size)?);
    } else if parameters == PARAMETERS_SET {
        let size = f.set_parameters.len().min(block.len());
        block[..size].copy_from_slice(&f.set_parameters[..size]);
    } else if parameters == 0 {
        return Ok(None);
    } else {
        for (n, p) in layout.iter().enumerate() {
            let from = In::<u64>::at(parameters).get_at(n)?;
            block[p.offset as usize..][..p.size as usize].copy_from_slice(&bytes_at(from, p.size)?);
        }
    }
    let block: Arc<[u8]> = block.into();
    let pointers = layout.iter().map(|p| block.as_ptr() as u64 + p.offset).collect();
    Ok(Some(Arc::new(Arguments { block, pointers })))
}

/// Buffer and size in a list of CU_LAUNCH_PARAM_*: (1, buffer), (2, address of the size), 0.
fn in_extra(extra: u64) -> Answer<(u64, u64)> {
    let list = In::<u64>::at(extra);
    let (mut buffer, mut size) = (0, 0);
    for n in (0..8).step_by(2) {
        match list.get_at(n)? {
            0 => return Ok((buffer, size)),
            1 => buffer = list.get_at(n + 1)?,
            2 => size = In::<u64>::at(list.get_at(n + 1)?).get()?,
            _ => return Err(Fault::INVALID_VALUE),
        }
    }
    Err(Fault::INVALID_VALUE)
}

/// CUlaunchAttribute
#[repr(C)]
#[derive(Clone, Copy)]
struct Attribute {
    id: u32,
    pad: u32,
    value: [u64; 8],
}

/// The largest CUlaunchAttributeID.
pub const LAST_ATTRIBUTE: u32 = 18;
const COOPERATIVE: u32 = 2;
const CLUSTER: u32 = 4;
/// Blocks in the largest cluster, which is larger than the portable size.
const MOST_IN_CLUSTER: u64 = 16;

fn listed(config: &Config) -> Answer<BTreeMap<u32, [u64; 8]>> {
    let list = In::<Attribute>::at(config.attributes);
    list.check_count(config.count as usize)?;
    let all: BTreeMap<_, _> =
        (0..config.count as usize).map(|n| list.get_at(n).map(|a| (a.id, a.value))).collect::<Answer<_>>()?;
    if all.keys().any(|id| *id > LAST_ATTRIBUTE) { Err(Fault::INVALID_VALUE) } else { Ok(all) }
}

fn attributes(config: &Config) -> Answer<BTreeMap<u32, [u64; 8]>> {
    let all = listed(config)?;
    if blocks_of_cluster(&all) > MOST_IN_CLUSTER { Err(Fault::INVALID_CLUSTER_SIZE) } else { Ok(all) }
}

fn blocks_of_cluster(attributes: &BTreeMap<u32, [u64; 8]>) -> u64 {
    let cluster = attributes.get(&CLUSTER).map_or([1; 3], |v| [v[0] as u32, (v[0] >> 32) as u32, v[1] as u32]);
    cluster.iter().fold(1u64, |n, side| n.saturating_mul((*side).into()))
}

/// Blocks of a cluster of a launch that is only asked about; it may be too large for any launch.
pub fn cluster_blocks(config: &Config) -> Answer<u64> {
    match blocks_of_cluster(&listed(config)?) {
        0 => Err(Fault::INVALID_VALUE),
        blocks => Ok(blocks.min(u64::from(u16::MAX))),
    }
}

fn launch(function: Handle, config: Config, parameters: u64, extra: u64) -> Answer {
    launch_as(function, config, parameters, extra, false)
}

fn launch_as(function: Handle, config: Config, parameters: u64, extra: u64, cooperative: bool) -> Answer {
    let mut state = driver_state();
    check(lookup(&state.code.functions, function)?, &config, parameters, extra)?;
    let stream = context::stream(&mut state, config.stream)?;
    let f = &state.code.functions[&function];
    if !f.is_kernel() && f.context != state.stream.streams[&stream].context {
        return Err(Fault::INVALID_HANDLE);
    }
    let is_kept = machine().runs_kernels() || state.stream.streams[&stream].capture.is_some();
    let arguments = if is_kept { arguments(&state.code.functions[&function], parameters, extra)? } else { None };
    let Config { grid, block, shared, .. } = config;
    let mut attributes = attributes(&config)?;
    if cooperative {
        attributes.insert(COOPERATIVE, [1, 0, 0, 0, 0, 0, 0, 0]);
    }
    let launch = Launch { function, grid, block, shared, arguments, attributes };
    submit::put(state, stream, Task::Kernel(Box::new(launch)), false)
}

pub extern "C" fn cuLaunchKernel(
    function: Handle,
    grid_x: u32,
    grid_y: u32,
    grid_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    shared: u32,
    stream: Handle,
    parameters: u64,
    extra: u64,
) -> u32 {
    let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
    answer(|| launch(function, Config { grid, block, shared, stream, attributes: 0, count: 0 }, parameters, extra))
}

pub extern "C" fn cuLaunchKernelEx(config: In<Config>, function: Handle, parameters: u64, extra: u64) -> u32 {
    answer(|| launch(function, config.get()?, parameters, extra))
}

pub extern "C" fn cuLaunchCooperativeKernel(
    function: Handle,
    grid_x: u32,
    grid_y: u32,
    grid_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    shared: u32,
    stream: Handle,
    parameters: u64,
) -> u32 {
    let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
    answer(|| cooperate(function, Config { grid, block, shared, stream, attributes: 0, count: 0 }, parameters))
}

fn cooperate(function: Handle, config: Config, parameters: u64) -> Answer {
    // All blocks must fit on the device at the same time.
    let at_once = {
        let state = driver_state();
        let threads = config.block.iter().fold(1u32, |n, side| n.saturating_mul(*side));
        let each = blocks(lookup(&state.code.functions, function)?, threads as i32, config.shared as usize)?;
        each as u64 * attribute(0, attribute_id::MULTIPROCESSOR_COUNT)? as u64
    };
    if config.grid.iter().fold(1u64, |n, side| n.saturating_mul((*side).into())) > at_once {
        return Err(Fault::COOPERATIVE_LAUNCH_TOO_LARGE);
    }
    launch_as(function, config, parameters, 0, true)
}

/// CUDA_LAUNCH_PARAMS
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OnDevice {
    function: Handle,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: Handle,
    parameters: u64,
}

/// CU_COOPERATIVE_LAUNCH_MULTI_DEVICE_*
const MULTI_DEVICE_FLAGS: u32 = 3;

pub extern "C" fn cuLaunchCooperativeKernelMultiDevice(list: In<OnDevice>, count: u32, flags: u32) -> u32 {
    answer(|| {
        list.check_count(count as usize)?;
        if count == 0 || flags & !MULTI_DEVICE_FLAGS != 0 {
            return Err(Fault::INVALID_VALUE);
        }
        let all = (0..count as usize).map(|n| list.get_at(n)).collect::<Answer<Vec<_>>>()?;
        // A default stream does not name a device.
        if all.iter().any(|one| one.stream.0 <= 2) {
            return Err(Fault::INVALID_HANDLE);
        }
        all.into_iter().try_for_each(|one| {
            let OnDevice { function, grid, block, shared, stream, parameters } = one;
            cooperate(function, Config { grid, block, shared, stream, attributes: 0, count: 0 }, parameters)
        })
    })
}

/// The value of `parameters` when cuParamSet* has set the arguments before.
const PARAMETERS_SET: u64 = 1;

/// Changes the settings for the launch functions from before CUDA 4.0.
fn change(function: Handle, edit: impl FnOnce(&mut Function)) -> u32 {
    answer(|| lookup_mut(&mut driver_state().code.functions, function).map(edit))
}

pub extern "C" fn cuFuncSetBlockShape(function: Handle, x: i32, y: i32, z: i32) -> u32 {
    if [x, y, z].iter().any(|side| *side <= 0) {
        return answer(|| Err(Fault::INVALID_VALUE));
    }
    change(function, |f| f.block = [x as u32, y as u32, z as u32])
}

pub extern "C" fn cuFuncSetSharedSize(function: Handle, bytes: u32) -> u32 {
    change(function, |f| f.shared = bytes)
}

/// Bytes of parameters that the functions from before CUDA 4.0 take.
const MOST_SET: u64 = 4096;

pub extern "C" fn cuParamSetSize(function: Handle, bytes: u32) -> u32 {
    if u64::from(bytes) > MOST_SET {
        return answer(|| Err(Fault::INVALID_VALUE));
    }
    change(function, |f| f.set_parameters.resize(bytes as usize, 0))
}

/// Puts bytes at an offset. The size of all parameters may be set before or after it.
fn set_parameter(function: Handle, offset: i32, bytes: &[u8]) -> Answer {
    let start = usize::try_from(offset).map_err(|_| Fault::INVALID_VALUE)?;
    let end = start.checked_add(bytes.len()).filter(|end| *end as u64 <= MOST_SET).ok_or(Fault::INVALID_VALUE)?;
    let mut state = driver_state();
    let all = &mut lookup_mut(&mut state.code.functions, function)?.set_parameters;
    if all.len() < end {
        all.resize(end, 0);
    }
    all[start..end].copy_from_slice(bytes);
    Ok(())
}

pub extern "C" fn cuParamSeti(function: Handle, offset: i32, value: u32) -> u32 {
    answer(|| set_parameter(function, offset, &value.to_le_bytes()))
}

/// The value is in a vector register.
pub extern "C" fn cuParamSetf(function: Handle, offset: i32, value: f32) -> u32 {
    answer(|| set_parameter(function, offset, &value.to_le_bytes()))
}

pub extern "C" fn cuParamSetv(function: Handle, offset: i32, from: u64, bytes: u32) -> u32 {
    answer(|| {
        if u64::from(bytes) > MOST_SET {
            return Err(Fault::INVALID_VALUE);
        }
        set_parameter(function, offset, &bytes_at(from, bytes.into())?)
    })
}

pub extern "C" fn cuLaunch(function: Handle) -> u32 {
    cuLaunchGrid(function, 1, 1)
}

pub extern "C" fn cuLaunchGrid(function: Handle, width: i32, height: i32) -> u32 {
    cuLaunchGridAsync(function, width, height, Handle::NULL)
}

pub extern "C" fn cuLaunchGridAsync(function: Handle, width: i32, height: i32, stream: Handle) -> u32 {
    answer(|| {
        let (block, shared) = lookup(&driver_state().code.functions, function).map(|f| (f.block, f.shared))?;
        let grid = [width as u32, height as u32, 1];
        launch(function, Config { grid, block, shared, stream, attributes: 0, count: 0 }, PARAMETERS_SET, 0)
    })
}
