//! Operations as data.

use super::{Code, Stamp};
use crate::host::rows::{Extent, Rows};
use crate::host::word::Word;
use std::ffi::CString;
use std::sync::Arc;

/// A point of a lane's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    /// The device's number.
    pub device: i32,
    pub timeline: u32,
    pub value: u64,
}

/// Where new memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Memory of the device.
    Device,
    /// Memory of the device and the program at one address.
    Managed,
    /// Page-locked memory of the host.
    Host,
}

/// One end of a copy.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    pub rows: Rows,
    /// The engine does not know this memory of the program.
    pub is_pageable: bool,
}

/// A launch of a kernel.
#[derive(Clone)]
pub struct KernelLaunch {
    pub code: Arc<dyn Code>,
    pub kernel: CString,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Blocks of a cluster, if the launch says it.
    pub cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// All blocks run at the same time.
    pub cooperative: bool,
    pub parameters: Arc<[u8]>,
}

/// What a lane does.
pub enum Op {
    /// A kernel that runs on no engine: the simulated driver accepts it.
    Accepted,
    Launch(Box<KernelLaunch>),
    Copy {
        to: Side,
        from: Side,
        extent: Extent,
    },
    /// `extent.width` elements of `element` bytes in each row.
    Fill {
        to: Rows,
        extent: Extent,
        element: u32,
        value: u32,
    },
    Write(Word, u64),
    Stamp(Arc<dyn Stamp>),
    Nothing,
}
