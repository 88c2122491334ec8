//! The parameters that an effect names, as bits, addresses and handles.

use crate::decode::values::memory::Memory;
use crate::decode::values::row::Row;
use crate::decode::values::walk::{Walk, word};
use cutap_calls::known::{self, Type};

/// A handle and its kind, given unchanged or by a pointer to where it lies in this memory.
pub fn kind_of(walk: &Walk<'_>, memory: Memory<'_>, row: &Row<'_>, n: u8) -> Option<(&'static known::Handle, u64)> {
    let param = row.params.get(usize::from(n))?;
    let (ty, value) = match walk.ty(param.ty) {
        Type::Pointer(to, _) => (walk.ty(to), word(memory.at(raw(walk, row, n)?)?.bytes)),
        ty => (ty, raw(walk, row, n)?),
    };
    let Type::Handle(of) = ty else { return None };
    Some((walk.tables.handles.get(usize::from(of))?, value))
}

/// The bits of a parameter.
pub fn raw(walk: &Walk<'_>, row: &Row<'_>, n: u8) -> Option<u64> {
    let param = row.params.get(usize::from(n))?;
    Some(word(row.cell(n.into(), walk.size_of(param.ty))?.bytes()))
}

/// The address that a parameter is, or that it points to.
pub fn address_at(walk: &Walk<'_>, row: &Row<'_>, n: u8) -> Option<u64> {
    match walk.ty(row.params.get(usize::from(n))?.ty) {
        Type::Pointer(to, _) if walk.ty(to) != Type::Void => walk.pointee_of(row, n),
        _ => raw(walk, row, n),
    }
}
