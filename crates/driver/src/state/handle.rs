//! Handles of objects, and look-ups by them.

use crate::abi::{Answer, Fault};
use std::collections::BTreeMap;

/// The value by which a program refers to a context, stream, event, module and so on. A handle is never reused, and no
/// memory is mapped at its value, so the driver recognises stale and foreign handles.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Handle(pub u64);

impl Handle {
    pub const NULL: Handle = Handle(0);
}

/// INVALID_HANDLE for an unknown handle.
pub fn lookup<T>(map: &BTreeMap<Handle, T>, handle: Handle) -> Answer<&T> {
    map.get(&handle).ok_or(Fault::INVALID_HANDLE)
}

/// INVALID_HANDLE for an unknown handle.
pub fn lookup_mut<T>(map: &mut BTreeMap<Handle, T>, handle: Handle) -> Answer<&mut T> {
    map.get_mut(&handle).ok_or(Fault::INVALID_HANDLE)
}
