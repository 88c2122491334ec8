//! Copies of planes and volumes, between memory and arrays.

use crate::abi::{Answer, In, answer};
use crate::driver::{context, submit};
use crate::state::{Copy2D, Copy3D, Handle, Task, driver_state};

fn copy(params: Copy3D, stream: Option<Handle>) -> Answer {
    let mut state = driver_state();
    let order = context::stream(&mut state, stream.unwrap_or(Handle::NULL))?;
    submit::put(state, order, Task::Copy(Box::new(params)), stream.is_none())
}

fn copy_2d(params: In<Copy2D>, stream: Option<Handle>) -> u32 {
    answer(|| copy(params.get()?.into(), stream))
}

fn copy_3d(params: In<Copy3D>, stream: Option<Handle>) -> u32 {
    answer(|| copy(params.get()?, stream))
}

pub extern "C" fn cuMemcpy2D_v2(params: In<Copy2D>) -> u32 {
    copy_2d(params, None)
}

pub extern "C" fn cuMemcpy2DUnaligned_v2(params: In<Copy2D>) -> u32 {
    copy_2d(params, None)
}

pub extern "C" fn cuMemcpy2DAsync_v2(params: In<Copy2D>, stream: Handle) -> u32 {
    copy_2d(params, Some(stream))
}

pub extern "C" fn cuMemcpy3D_v2(params: In<Copy3D>) -> u32 {
    copy_3d(params, None)
}

pub extern "C" fn cuMemcpy3DAsync_v2(params: In<Copy3D>, stream: Handle) -> u32 {
    copy_3d(params, Some(stream))
}

pub extern "C" fn cuMemcpy3DPeer(params: In<Copy3D>) -> u32 {
    copy_3d(params, None)
}

pub extern "C" fn cuMemcpy3DPeerAsync(params: In<Copy3D>, stream: Handle) -> u32 {
    copy_3d(params, Some(stream))
}
