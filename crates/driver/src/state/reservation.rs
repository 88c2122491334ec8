//! Virtual memory management as data: pieces of memory without an address, reserved addresses without memory, and the
//! mappings of the one to the other.

use super::handle::Handle;
use crate::engine::View;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Default)]
pub struct ReservationState {
    pub pieces: BTreeMap<Handle, Piece>,
    /// Sizes of reservations, by address.
    pub reserved: BTreeMap<u64, u64>,
    /// By address.
    pub mappings: BTreeMap<u64, Mapping>,
}

/// CUmemAllocationProp
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Properties {
    pub kind: u32,
    pub handles: u32,
    pub place: u32,
    pub id: i32,
    pub win32_metadata: u64,
    pub flags: u64,
}

/// Memory without an address.
pub struct Piece {
    pub properties: Properties,
    pub size: u64,
    pub memory: Arc<dyn crate::engine::Piece>,
    pub references: u32,
}

/// A piece of memory at an address.
pub struct Mapping {
    pub piece: Handle,
    pub size: u64,
    pub view: Box<dyn View>,
    /// By device: 1 may read, 3 may write too.
    pub access: BTreeMap<i32, u32>,
}
