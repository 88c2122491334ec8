//! Arrays of texels: creation, descriptions, and copies of lines from and to them.

use crate::abi::{Answer, Fault, In, Out, answer};
use crate::driver::{allocation, context, current, submit};
use crate::state::{Array, Copy3D, DriverState, Handle, Kind, Plane3D, Side, Task, driver_state, lookup};

/// CUDA_ARRAY_DESCRIPTOR
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Description {
    width: u64,
    height: u64,
    format: u32,
    channels: u32,
}

/// CUDA_ARRAY3D_DESCRIPTOR
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Description3D {
    pub width: u64,
    pub height: u64,
    pub depth: u64,
    pub format: u32,
    pub channels: u32,
    pub flags: u32,
}

/// Bytes of one element.
pub fn texel(format: u32, channels: u32) -> Answer<u64> {
    let one = match format {
        0x01 | 0x08 => 1,
        0x02 | 0x09 | 0x10 => 2,
        0x03 | 0x0a | 0x20 => 4,
        _ => return Err(Fault::INVALID_VALUE),
    };
    if matches!(channels, 1 | 2 | 4) { Ok(one * u64::from(channels)) } else { Err(Fault::INVALID_VALUE) }
}

/// Sides of the largest arrays: of one, two and three dimensions.
const MOST: [[u64; 3]; 3] = [[131072, 0, 0], [131072, 65536, 0], [16384, 16384, 16384]];
const ALL_FLAGS: u32 = 0x1ff;

pub fn create(state: &mut DriverState, d: Description3D) -> Answer<Handle> {
    let texel = texel(d.format, d.channels)?;
    let extent = [d.width, d.height, d.depth];
    let most = MOST[usize::from(d.height > 0) + usize::from(d.depth > 0)];
    let layered = d.flags & 1 != 0;
    if d.flags & !ALL_FLAGS != 0 || (!layered && extent.iter().zip(most).any(|(side, most)| *side > most)) {
        return Err(Fault::INVALID_VALUE);
    }
    let sides = [d.width, d.height.max(1), d.depth.max(1), texel];
    let size = sides.into_iter().try_fold(1u64, u64::checked_mul).filter(|s| *s > 0).ok_or(Fault::INVALID_VALUE)?;
    let context = current::require(state)?;
    let address = allocation::allocate(state, Kind::Device, size)?;
    let handle = state.new_handle();
    let Description3D { width, height, depth, format, channels, flags } = d;
    let array = Array { context, address, width, height, depth, format, channels, flags, texel };
    state.array.arrays.insert(handle, array);
    Ok(handle)
}

pub extern "C" fn cuArrayCreate_v2(handle: Out<Handle>, description: In<Description>) -> u32 {
    answer(|| {
        handle.check()?;
        let Description { width, height, format, channels } = description.get()?;
        let whole = Description3D { width, height, depth: 0, format, channels, flags: 0 };
        handle.put(create(&mut driver_state(), whole)?)
    })
}

pub extern "C" fn cuArray3DCreate_v2(handle: Out<Handle>, description: In<Description3D>) -> u32 {
    answer(|| handle.check()?.put(create(&mut driver_state(), description.get()?)?))
}

pub extern "C" fn cuArrayDestroy(array: Handle) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let array = state.array.arrays.remove(&array).ok_or(Fault::INVALID_HANDLE)?;
        allocation::release(&mut state, array.address);
        Ok(())
    })
}

pub extern "C" fn cuArrayGetDescriptor_v2(descriptor: Out<Description>, array: Handle) -> u32 {
    answer(|| {
        let Array { width, height, format, channels, .. } = *lookup(&driver_state().array.arrays, array)?;
        descriptor.put(Description { width, height, format, channels })
    })
}

pub extern "C" fn cuArray3DGetDescriptor_v2(descriptor: Out<Description3D>, array: Handle) -> u32 {
    answer(|| {
        let Array { width, height, depth, format, channels, flags, .. } = *lookup(&driver_state().array.arrays, array)?;
        descriptor.put(Description3D { width, height, depth, format, channels, flags })
    })
}

/// Only arrays with several planes have planes, and this driver makes none of those.
pub extern "C" fn cuArrayGetPlane(plane_array: Out<Handle>, array: Handle, _plane: u32) -> u32 {
    answer(|| {
        plane_array.check().and(lookup(&driver_state().array.arrays, array).map(drop)).and(Err(Fault::INVALID_VALUE))
    })
}

/// This driver makes no sparse arrays.
pub extern "C" fn cuArrayGetSparseProperties(properties: Out<[u64; 5]>, array: Handle) -> u32 {
    answer(|| {
        properties.check().and(lookup(&driver_state().array.arrays, array).map(drop)).and(Err(Fault::INVALID_VALUE))
    })
}

/// Only for arrays with deferred memory, and this driver makes none of those.
pub extern "C" fn cuArrayGetMemoryRequirements(requirements: Out<[u64; 4]>, array: Handle, _device: i32) -> u32 {
    answer(|| {
        requirements.check().and(lookup(&driver_state().array.arrays, array).map(drop)).and(Err(Fault::INVALID_VALUE))
    })
}

fn line(to: Plane3D, from: Plane3D, size: usize, stream: Option<Handle>) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let order = context::stream(&mut state, stream.unwrap_or(Handle::NULL))?;
        let copy = Copy3D::line(to, from, size as u64);
        submit::put(state, order, Task::Copy(Box::new(copy)), stream.is_none())
    })
}

pub extern "C" fn cuMemcpyAtoH_v2(to: u64, from: Handle, offset: usize, size: usize) -> u32 {
    line(Plane3D::line(Side::Host, to), Plane3D::in_array(from, offset as u64), size, None)
}

pub extern "C" fn cuMemcpyAtoHAsync_v2(to: u64, from: Handle, offset: usize, size: usize, stream: Handle) -> u32 {
    line(Plane3D::line(Side::Host, to), Plane3D::in_array(from, offset as u64), size, Some(stream))
}

pub extern "C" fn cuMemcpyHtoA_v2(to: Handle, offset: usize, from: u64, size: usize) -> u32 {
    line(Plane3D::in_array(to, offset as u64), Plane3D::line(Side::Host, from), size, None)
}

pub extern "C" fn cuMemcpyHtoAAsync_v2(to: Handle, offset: usize, from: u64, size: usize, stream: Handle) -> u32 {
    line(Plane3D::in_array(to, offset as u64), Plane3D::line(Side::Host, from), size, Some(stream))
}

pub extern "C" fn cuMemcpyAtoD_v2(to: u64, from: Handle, offset: usize, size: usize) -> u32 {
    line(Plane3D::line(Side::Device, to), Plane3D::in_array(from, offset as u64), size, None)
}

pub extern "C" fn cuMemcpyDtoA_v2(to: Handle, offset: usize, from: u64, size: usize) -> u32 {
    line(Plane3D::in_array(to, offset as u64), Plane3D::line(Side::Device, from), size, None)
}

pub extern "C" fn cuMemcpyAtoA_v2(to: Handle, at: usize, from: Handle, offset: usize, size: usize) -> u32 {
    line(Plane3D::in_array(to, at as u64), Plane3D::in_array(from, offset as u64), size, None)
}
