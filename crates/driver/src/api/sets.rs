//! Sets of memory: elements of 1, 2 or 4 bytes, in a line or in rows.

use crate::abi::answer;
use crate::driver::{context, submit};
use crate::state::{Handle, Set, Task, driver_state};

/// Arguments: address and pitch, value, bytes of an element, elements in a row, rows.
fn set(to: (u64, usize), value: u32, bytes: u32, size: (usize, usize), stream: Option<Handle>) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let order = context::stream(&mut state, stream.unwrap_or(Handle::NULL))?;
        let (width, height) = (size.0 as u64, size.1 as u64);
        let set = Set { to: to.0, pitch: to.1 as u64, value, element: bytes, width, height };
        submit::put(state, order, Task::Set(set), stream.is_none())
    })
}

pub extern "C" fn cuMemsetD8_v2(to: u64, value: u8, count: usize) -> u32 {
    set((to, 0), value.into(), 1, (count, 1), None)
}

pub extern "C" fn cuMemsetD8Async(to: u64, value: u8, count: usize, stream: Handle) -> u32 {
    set((to, 0), value.into(), 1, (count, 1), Some(stream))
}

pub extern "C" fn cuMemsetD2D8_v2(to: u64, pitch: usize, value: u8, width: usize, height: usize) -> u32 {
    set((to, pitch), value.into(), 1, (width, height), None)
}

pub extern "C" fn cuMemsetD2D8Async(
    to: u64,
    pitch: usize,
    value: u8,
    width: usize,
    height: usize,
    stream: Handle,
) -> u32 {
    set((to, pitch), value.into(), 1, (width, height), Some(stream))
}

pub extern "C" fn cuMemsetD16_v2(to: u64, value: u16, count: usize) -> u32 {
    set((to, 0), value.into(), 2, (count, 1), None)
}

pub extern "C" fn cuMemsetD16Async(to: u64, value: u16, count: usize, stream: Handle) -> u32 {
    set((to, 0), value.into(), 2, (count, 1), Some(stream))
}

pub extern "C" fn cuMemsetD2D16_v2(to: u64, pitch: usize, value: u16, width: usize, height: usize) -> u32 {
    set((to, pitch), value.into(), 2, (width, height), None)
}

pub extern "C" fn cuMemsetD2D16Async(
    to: u64,
    pitch: usize,
    value: u16,
    width: usize,
    height: usize,
    stream: Handle,
) -> u32 {
    set((to, pitch), value.into(), 2, (width, height), Some(stream))
}

pub extern "C" fn cuMemsetD32_v2(to: u64, value: u32, count: usize) -> u32 {
    set((to, 0), value, 4, (count, 1), None)
}

pub extern "C" fn cuMemsetD32Async(to: u64, value: u32, count: usize, stream: Handle) -> u32 {
    set((to, 0), value, 4, (count, 1), Some(stream))
}

pub extern "C" fn cuMemsetD2D32_v2(to: u64, pitch: usize, value: u32, width: usize, height: usize) -> u32 {
    set((to, pitch), value, 4, (width, height), None)
}

pub extern "C" fn cuMemsetD2D32Async(
    to: u64,
    pitch: usize,
    value: u32,
    width: usize,
    height: usize,
    stream: Handle,
) -> u32 {
    set((to, pitch), value, 4, (width, height), Some(stream))
}
