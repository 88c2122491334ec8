//! What a copy of a line, plane or volume says, as programs write it down; and where its ends are then.

use super::copy::{End, Extent, Side};
use super::driver_state::{DriverState, Handle, known};
use super::fault::{Answer, Fault};

/// One end of CUDA_MEMCPY2D.
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

/// One end of CUDA_MEMCPY3D.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Plane3D {
    at: [u64; 3],
    level: u64,
    kind: u32,
    pad: u32,
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
#[derive(Clone, Copy, Default)]
pub struct Copy3D {
    from: Plane3D,
    to: Plane3D,
    width: u64,
    height: u64,
    depth: u64,
}

impl From<Plane2D> for Plane3D {
    fn from(p: Plane2D) -> Self {
        let Plane2D { at: [x, y], kind, host, device, array, pitch } = p;
        Plane3D { at: [x, y, 0], kind, host, device, array, pitch, ..Plane3D::default() }
    }
}

impl From<Copy2D> for Copy3D {
    fn from(c: Copy2D) -> Self {
        Copy3D { from: c.from.into(), to: c.to.into(), width: c.width, height: c.height, depth: 1 }
    }
}

/// Kinds of memory, as both structures number them.
const HOST: u32 = 1;
const DEVICE: u32 = 2;
const ARRAY: u32 = 3;
const ANY: u32 = 4;

fn name(kind: u32) -> &'static str {
    match kind {
        HOST => "HOST",
        DEVICE => "DEVICE",
        ARRAY => "ARRAY",
        _ => "UNIFIED",
    }
}

impl Plane3D {
    /// Its kind; for an address of any kind, which one it is.
    fn place(&self, world: &DriverState) -> u32 {
        match self.kind {
            ANY if super::allocation::find(world, self.device).is_some_and(|(_, a)| a.on_device()) => DEVICE,
            ANY => HOST,
            kind => kind,
        }
    }

    /// A line of bytes.
    pub fn line(side: Side, start: u64) -> Self {
        match side {
            Side::Host => Plane3D { kind: HOST, host: start, ..Plane3D::default() },
            Side::Device => Plane3D { kind: DEVICE, device: start, ..Plane3D::default() },
            Side::Any => Plane3D { kind: ANY, device: start, ..Plane3D::default() },
        }
    }

    /// A line of bytes in an array.
    pub fn in_array(array: Handle, offset: u64) -> Self {
        Plane3D { at: [offset, 0, 0], kind: ARRAY, array, ..Plane3D::default() }
    }

    /// A place in an array.
    pub fn in_array_at(array: Handle, at: [u64; 3]) -> Self {
        Plane3D { at, kind: ARRAY, array, ..Plane3D::default() }
    }

    /// Rows of so many bytes, planes of so many rows, on whatever side the address is.
    pub fn rows(start: u64, pitch: u64, rows: u64) -> Self {
        Plane3D { kind: ANY, device: start, pitch, rows, ..Plane3D::default() }
    }

    fn end(&self, world: &DriverState, extent: Extent) -> Answer<End> {
        let (side, base, pitch, rows) = match self.kind {
            HOST => (Side::Host, self.host, self.pitch, self.rows),
            DEVICE => (Side::Device, self.device, self.pitch, self.rows),
            ARRAY => {
                if self.array == Handle::NULL {
                    return Err(Fault::INVALID_VALUE);
                }
                let array = known(&world.arrays, self.array)?;
                (Side::Device, array.address, array.width * array.texel, array.height)
            }
            ANY => (Side::Any, self.device, self.pitch, self.rows),
            _ => return Err(Fault::INVALID_VALUE),
        };
        let pitch = if pitch == 0 { self.at[0].saturating_add(extent.width) } else { pitch };
        let rows = if rows == 0 { self.at[1].saturating_add(extent.height) } else { rows };
        let plane = pitch.checked_mul(rows).ok_or(Fault::INVALID_VALUE)?;
        let steps = [Some(self.at[0]), self.at[1].checked_mul(pitch), self.at[2].checked_mul(plane)];
        let start = steps.into_iter().try_fold(base, |sum, step| sum.checked_add(step?)).ok_or(Fault::INVALID_VALUE)?;
        Ok(End { side, start, pitch, plane })
    }
}

impl Copy3D {
    /// A copy of a line of bytes.
    pub fn line(to: Plane3D, from: Plane3D, size: u64) -> Self {
        Copy3D { from, to, width: size, height: 1, depth: 1 }
    }

    pub fn new(to: Plane3D, from: Plane3D, [width, height, depth]: [u64; 3]) -> Self {
        Copy3D { from, to, width, height, depth }
    }

    pub fn extent(&self) -> Extent {
        Extent { width: self.width, height: self.height, depth: self.depth }
    }

    /// Where it comes from and goes to, in letters: host, device, array.
    pub fn way(&self, world: &DriverState) -> String {
        let [from, to] = [self.from, self.to].map(|p| match p.place(world) {
            ARRAY => 'A',
            HOST => 'H',
            _ => 'D',
        });
        format!("{from}to{to}")
    }

    pub fn bytes(&self) -> u64 {
        self.width.saturating_mul(self.height).saturating_mul(self.depth)
    }

    /// Of both ends: the kind as it was given and the one that it is, array, host and device address, and the place.
    pub fn sides(&self, world: &DriverState) -> [(&'static str, &'static str, [u64; 3], [u64; 6]); 2] {
        [self.from, self.to].map(|p| {
            let [x, y, z] = p.at;
            (name(p.kind), name(p.place(world)), [p.array.0, p.host, p.device], [x, y, z, p.pitch, p.rows, p.level])
        })
    }

    /// Where it goes to and comes from.
    pub fn ends(&self, world: &DriverState) -> Answer<(End, End)> {
        Ok((self.to.end(world, self.extent())?, self.from.end(world, self.extent())?))
    }
}

/// CUDA_MEMSET_NODE_PARAMS: rows of elements of 1, 2 or 4 bytes.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Set {
    pub to: u64,
    pub pitch: u64,
    pub value: u32,
    pub element: u32,
    pub width: u64,
    pub height: u64,
}

impl Set {
    pub fn end(&self) -> End {
        End { side: Side::Device, start: self.to, pitch: self.pitch, plane: 0 }
    }
}
