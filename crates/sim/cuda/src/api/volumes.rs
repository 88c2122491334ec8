//! Copies of planes and volumes, between memory and arrays.

use crate::abi::{Answer, In, answer};
use crate::driver::{context, submit};
use crate::state::{Copy2D, Copy3D, Handle, Task, driver_state};

fn copy(what: Copy3D, stream: Option<Handle>) -> Answer {
    let mut state = driver_state();
    let order = context::stream(&mut state, stream.unwrap_or(Handle::NULL))?;
    submit::put(state, order, Task::Copy(Box::new(what)), stream.is_none())
}

fn copy_2d(what: In<Copy2D>, stream: Option<Handle>) -> u32 {
    answer(|| copy(what.get()?.into(), stream))
}

fn copy_3d(what: In<Copy3D>, stream: Option<Handle>) -> u32 {
    answer(|| copy(what.get()?, stream))
}

pub extern "C" fn cuMemcpy2D_v2(what: In<Copy2D>) -> u32 {
    copy_2d(what, None)
}

pub extern "C" fn cuMemcpy2DUnaligned_v2(what: In<Copy2D>) -> u32 {
    copy_2d(what, None)
}

pub extern "C" fn cuMemcpy2DAsync_v2(what: In<Copy2D>, stream: Handle) -> u32 {
    copy_2d(what, Some(stream))
}

pub extern "C" fn cuMemcpy3D_v2(what: In<Copy3D>) -> u32 {
    copy_3d(what, None)
}

pub extern "C" fn cuMemcpy3DAsync_v2(what: In<Copy3D>, stream: Handle) -> u32 {
    copy_3d(what, Some(stream))
}

pub extern "C" fn cuMemcpy3DPeer(what: In<Copy3D>) -> u32 {
    copy_3d(what, None)
}

pub extern "C" fn cuMemcpy3DPeerAsync(what: In<Copy3D>, stream: Handle) -> u32 {
    copy_3d(what, Some(stream))
}
