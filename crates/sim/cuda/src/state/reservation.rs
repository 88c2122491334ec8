//! Virtual memory management as data: pieces of memory without an address, reserved addresses without memory, and the
//! mappings of the one to the other.

use super::handle::Handle;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

#[derive(Default)]
pub struct ReservationState {
    pub pieces: BTreeMap<Handle, Piece>,
    /// The file that holds every piece that cannot be shared with another process.
    pub common_file: Option<Arc<OwnedFd>>,
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

/// Memory without an address: a part of a file.
pub struct Piece {
    pub properties: Properties,
    pub size: u64,
    pub file: Arc<OwnedFd>,
    pub offset: u64,
    pub references: u32,
}

/// A piece of memory at an address.
pub struct Mapping {
    pub piece: Handle,
    pub size: u64,
    /// By device: 1 may read, 3 may write too.
    pub access: BTreeMap<i32, u32>,
}
