//! Descriptions of copies and sets, in the layout of the driver's structures. `driver/copy.rs` resolves them to
//! addresses.

use super::handle::Handle;
use crate::host::rows::Extent;

/// Whether an address must be memory that the driver knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Memory of the program, known to the driver or not.
    Host,
    /// Memory that the driver knows.
    Device,
    /// The address decides.
    Any,
}

/// CUmemorytype
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(transparent)]
pub struct PlaneKind(u32);

impl PlaneKind {
    pub const HOST: PlaneKind = PlaneKind(1);
    pub const DEVICE: PlaneKind = PlaneKind(2);
    pub const ARRAY: PlaneKind = PlaneKind(3);
    pub const ANY: PlaneKind = PlaneKind(4);

    /// The name in CUDA's graph dumps.
    pub fn name(self) -> &'static str {
        match self {
            PlaneKind::HOST => "HOST",
            PlaneKind::DEVICE => "DEVICE",
            PlaneKind::ARRAY => "ARRAY",
            _ => "UNIFIED",
        }
    }
}

/// One end of CUDA_MEMCPY2D.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Plane2D {
    at: [u64; 2],
    kind: PlaneKind,
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
    pub at: [u64; 3],
    pub level: u64,
    pub kind: PlaneKind,
    pub pad: u32,
    pub host: u64,
    pub device: u64,
    pub array: Handle,
    /// Of a copy between contexts; else reserved.
    pub context: u64,
    pub pitch: u64,
    pub rows: u64,
}

/// CUDA_MEMCPY3D, and CUDA_MEMCPY3D_PEER, which has contexts where this has reserved words.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Copy3D {
    pub from: Plane3D,
    pub to: Plane3D,
    pub width: u64,
    pub height: u64,
    pub depth: u64,
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

impl Plane3D {
    /// A line of bytes.
    pub fn line(side: Side, start: u64) -> Self {
        match side {
            Side::Host => Plane3D { kind: PlaneKind::HOST, host: start, ..Plane3D::default() },
            Side::Device => Plane3D { kind: PlaneKind::DEVICE, device: start, ..Plane3D::default() },
            Side::Any => Plane3D { kind: PlaneKind::ANY, device: start, ..Plane3D::default() },
        }
    }

    /// A line of bytes in an array.
    pub fn in_array(array: Handle, offset: u64) -> Self {
        Plane3D { at: [offset, 0, 0], kind: PlaneKind::ARRAY, array, ..Plane3D::default() }
    }

    /// A place in an array.
    pub fn in_array_at(array: Handle, at: [u64; 3]) -> Self {
        Plane3D { at, kind: PlaneKind::ARRAY, array, ..Plane3D::default() }
    }

    /// Rows with a pitch in bytes, planes of `rows` rows, at any address.
    pub fn rows(start: u64, pitch: u64, rows: u64) -> Self {
        Plane3D { kind: PlaneKind::ANY, device: start, pitch, rows, ..Plane3D::default() }
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

    pub fn bytes(&self) -> u64 {
        self.width.saturating_mul(self.height).saturating_mul(self.depth)
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
