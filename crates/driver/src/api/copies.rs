//! Copies of lines of bytes. Planes and volumes are in `volumes.rs`.

use crate::abi::answer;
use crate::driver::{context, submit};
use crate::state::{Copy3D, Handle, Plane3D, Side, Task, driver_state};

/// A copy between two sides. A NULL stream means the default stream.
fn line(to: (Side, u64), from: (Side, u64), size: usize, stream: Option<Handle>) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let order = context::stream(&mut state, stream.unwrap_or(Handle::NULL))?;
        let copy = Copy3D::line(Plane3D::line(to.0, to.1), Plane3D::line(from.0, from.1), size as u64);
        submit::put(state, order, Task::Copy(Box::new(copy)), stream.is_none())
    })
}

pub extern "C" fn cuMemcpy(to: u64, from: u64, size: usize) -> u32 {
    line((Side::Any, to), (Side::Any, from), size, None)
}

pub extern "C" fn cuMemcpyHtoD_v2(to: u64, from: u64, size: usize) -> u32 {
    line((Side::Device, to), (Side::Host, from), size, None)
}

pub extern "C" fn cuMemcpyDtoH_v2(to: u64, from: u64, size: usize) -> u32 {
    line((Side::Host, to), (Side::Device, from), size, None)
}

pub extern "C" fn cuMemcpyDtoD_v2(to: u64, from: u64, size: usize) -> u32 {
    line((Side::Device, to), (Side::Device, from), size, None)
}

pub extern "C" fn cuMemcpyAsync(to: u64, from: u64, size: usize, stream: Handle) -> u32 {
    line((Side::Any, to), (Side::Any, from), size, Some(stream))
}

pub extern "C" fn cuMemcpyHtoDAsync_v2(to: u64, from: u64, size: usize, stream: Handle) -> u32 {
    line((Side::Device, to), (Side::Host, from), size, Some(stream))
}

pub extern "C" fn cuMemcpyDtoHAsync_v2(to: u64, from: u64, size: usize, stream: Handle) -> u32 {
    line((Side::Host, to), (Side::Device, from), size, Some(stream))
}

pub extern "C" fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, size: usize, stream: Handle) -> u32 {
    line((Side::Device, to), (Side::Device, from), size, Some(stream))
}

/// Arguments: destination, its context, source, its context, size. All memory is host memory, so contexts do not
/// matter.
pub extern "C" fn cuMemcpyPeer(to: u64, _there: Handle, from: u64, _here: Handle, size: usize) -> u32 {
    cuMemcpyDtoD_v2(to, from, size)
}

pub extern "C" fn cuMemcpyPeerAsync(
    to: u64,
    _there: Handle,
    from: u64,
    _here: Handle,
    size: usize,
    stream: Handle,
) -> u32 {
    cuMemcpyDtoDAsync_v2(to, from, size, stream)
}
