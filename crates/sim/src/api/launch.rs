//! Launches: checked, put in order, not executed.

use crate::api::functions::max_dynamic_shared;
use crate::api::streams;
use crate::driver::abi::{In, answer};
use crate::driver::code::Function;
use crate::driver::fault::{Answer, Fault};
use crate::driver::world::{Handle, known, known_mut, world};

/// What every launch says; `parameters` and `extra` are the two ways to give a kernel its arguments.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Config {
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: Handle,
    attributes: u64,
    count: u32,
}

fn check(f: &Function, config: &Config, parameters: u64, extra: u64) -> Answer {
    let zero = config.grid.iter().chain(&config.block).any(|side| *side == 0);
    let threads = config.block.iter().fold(1u64, |a, b| a.saturating_mul((*b).into()));
    let too_wide = config.grid[0] > i32::MAX as u32 || config.grid[1] > 65535 || config.grid[2] > 65535;
    let too_big = threads > f.max_threads() as u64 || config.block[2] > 64 || too_wide;
    let too_much = config.shared > max_dynamic_shared(f).max(0) as u32;
    let nothing_given = !f.kernel().parameters.is_empty() && parameters == 0 && extra == 0;
    if zero || too_big || too_much || nothing_given { Err(Fault::INVALID_VALUE) } else { Ok(()) }
}

fn launch(function: Handle, config: Config, parameters: u64, extra: u64) -> Answer {
    check(known(&world().functions, function)?, &config, parameters, extra)?;
    streams::in_order(config.stream, || {})
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
    answer(|| launch(function, Config { grid, block, shared, stream, attributes: 0, count: 0 }, parameters, 0))
}

/// They were given one by one before.
const PARAMETERS_SET: u64 = 1;

/// Changes what the launches of before 4.0 set first.
fn change(function: Handle, what: impl FnOnce(&mut Function)) -> u32 {
    answer(|| known_mut(&mut world().functions, function).map(what))
}

pub extern "C" fn cuFuncSetBlockShape(function: Handle, x: i32, y: i32, z: i32) -> u32 {
    change(function, |f| f.block = [x as u32, y as u32, z as u32])
}

pub extern "C" fn cuFuncSetSharedSize(function: Handle, bytes: u32) -> u32 {
    change(function, |f| f.shared = bytes)
}

pub extern "C" fn cuParamSetSize(function: Handle, _bytes: u32) -> u32 {
    change(function, |_| {})
}

pub extern "C" fn cuParamSeti(function: Handle, _offset: i32, _value: u32) -> u32 {
    change(function, |_| {})
}

/// A float by value, in a vector register.
pub extern "C" fn cuParamSetf(function: Handle, _offset: i32, _value: f32) -> u32 {
    change(function, |_| {})
}

pub extern "C" fn cuParamSetv(function: Handle, _offset: i32, _from: u64, _bytes: u32) -> u32 {
    change(function, |_| {})
}

pub extern "C" fn cuLaunch(function: Handle) -> u32 {
    cuLaunchGrid(function, 1, 1)
}

pub extern "C" fn cuLaunchGrid(function: Handle, width: i32, height: i32) -> u32 {
    cuLaunchGridAsync(function, width, height, Handle::NULL)
}

pub extern "C" fn cuLaunchGridAsync(function: Handle, width: i32, height: i32, stream: Handle) -> u32 {
    answer(|| {
        let (block, shared) = known(&world().functions, function).map(|f| (f.block, f.shared))?;
        let grid = [width as u32, height as u32, 1];
        launch(function, Config { grid, block, shared, stream, attributes: 0, count: 0 }, PARAMETERS_SET, 0)
    })
}
