//! Copies of planes and volumes, between memory and arrays.

use crate::driver::abi::{In, answer};
use crate::driver::context;
use crate::driver::copy::{self, End, Extent, Side};
use crate::driver::fault::{Answer, Fault};
use crate::driver::world::{Handle, World, known, world};

/// Where one end is, as both structures say it.
#[derive(Clone, Copy)]
struct Place {
    kind: u32,
    host: u64,
    device: u64,
    array: Handle,
    pitch: u64,
    rows: u64,
    at: [u64; 3],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Plane2D {
    at: [u64; 2],
    kind: u32,
    host: u64,
    device: u64,
    array: Handle,
    pitch: u64,
}

/// CUDA_MEMCPY2D
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Copy2D {
    from: Plane2D,
    to: Plane2D,
    width: u64,
    height: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Plane3D {
    at: [u64; 3],
    level: u64,
    kind: u32,
    host: u64,
    device: u64,
    array: Handle,
    /// Reserved, or a context.
    other: u64,
    pitch: u64,
    rows: u64,
}

/// CUDA_MEMCPY3D, and CUDA_MEMCPY3D_PEER, which has contexts where this has reserved words.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Copy3D {
    from: Plane3D,
    to: Plane3D,
    width: u64,
    height: u64,
    depth: u64,
}

impl From<Plane2D> for Place {
    fn from(p: Plane2D) -> Self {
        let Plane2D { at: [x, y], kind, host, device, array, pitch } = p;
        Place { kind, host, device, array, pitch, rows: 0, at: [x, y, 0] }
    }
}

impl From<Plane3D> for Place {
    fn from(p: Plane3D) -> Self {
        let Plane3D { at, kind, host, device, array, pitch, rows, .. } = p;
        Place { kind, host, device, array, pitch, rows, at }
    }
}

impl Place {
    /// Kinds of memory: 1 host, 2 device, 3 array, 4 whatever the address is.
    fn end(&self, world: &World, extent: Extent) -> Answer<End> {
        let (side, base, pitch, rows) = match self.kind {
            1 => (Side::Host, self.host, self.pitch, self.rows),
            2 => (Side::Device, self.device, self.pitch, self.rows),
            3 => {
                let array = known(&world.arrays, self.array)?;
                (Side::Device, array.address, array.width * array.texel, array.height)
            }
            4 => (Side::Any, self.device, self.pitch, self.rows),
            _ => return Err(Fault::INVALID_VALUE),
        };
        let pitch = if pitch == 0 { self.at[0] + extent.width } else { pitch };
        let rows = if rows == 0 { self.at[1] + extent.height } else { rows };
        let plane = pitch.checked_mul(rows).ok_or(Fault::INVALID_VALUE)?;
        let steps = [Some(self.at[0]), self.at[1].checked_mul(pitch), self.at[2].checked_mul(plane)];
        let start = steps.into_iter().try_fold(base, |sum, step| sum.checked_add(step?)).ok_or(Fault::INVALID_VALUE)?;
        Ok(End { side, start, pitch, plane })
    }
}

fn copy(to: Place, from: Place, extent: Extent, stream: Option<Handle>) -> Answer {
    let mut world = world();
    let order = context::stream(&mut world, stream.unwrap_or(Handle::NULL))?;
    let (to, from) = (to.end(&world, extent)?, from.end(&world, extent)?);
    copy::copy(world, order, to, from, extent, stream.is_none())
}

fn copy_2d(what: In<Copy2D>, stream: Option<Handle>) -> u32 {
    answer(|| {
        let Copy2D { from, to, width, height } = what.get()?;
        copy(to.into(), from.into(), Extent { width, height, depth: 1 }, stream)
    })
}

fn copy_3d(what: In<Copy3D>, stream: Option<Handle>) -> u32 {
    answer(|| {
        let Copy3D { from, to, width, height, depth } = what.get()?;
        copy(to.into(), from.into(), Extent { width, height, depth }, stream)
    })
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
