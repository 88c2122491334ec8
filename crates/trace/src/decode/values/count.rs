//! Counts that rules take from sibling parameters. A count that makes no sense is none.

use super::row::Row;
use super::scalar::signed;
use super::walk::{Side, Walk, word};
use cutap_calls::known::{Count, Type, TypeId};

impl Walk<'_> {
    /// The number that a rule means; `None` when it is not known on this side of the call.
    pub fn count(&self, row: &Row<'_>, count: Count) -> Option<u64> {
        match count {
            Count::Unknown | Count::ZeroEnded => None,
            Count::Fixed(n) => Some(n.into()),
            Count::Of(n) => self.sibling(row, n),
            Count::Sized(n, written) => {
                let room = self.sibling(row, n)?;
                let written = if self.side == Side::After { self.pointee_of(row, written) } else { None };
                Some(written.map_or(room, |written| written.min(room)))
            }
            Count::At(n) => self.pointee_of(row, n),
            Count::Least(a, b) => {
                let most = self.sibling(row, a)?;
                Some(self.pointee_of(row, b).map_or(most, |n| n.min(most)))
            }
            Count::OneMore(n) => self.sibling(row, n)?.checked_add(1),
            Count::Less(n, less) => self.sibling(row, n)?.checked_sub(less.into()),
            Count::Carried(n, handle) => {
                let most = self.sibling(row, n)?;
                Some(self.carried(row, handle).map_or(most, |n| n.min(most)))
            }
            Count::Product(a, b) => self.sibling(row, a)?.checked_mul(self.sibling(row, b)?),
            Count::Times(n, times) => self.sibling(row, n)?.checked_mul(times.into()),
            Count::FieldAt(n, field) => self.field_at(row, n, field),
            Count::Rows { pitch, width, element, height } => {
                let (pitch, height) = (self.sibling(row, pitch)?, self.sibling(row, height)?);
                rows(pitch, self.sibling(row, width)?.checked_mul(element.into())?, height)
            }
            Count::RowsBy { pitch, width, element, height } => {
                let (pitch, height) = (self.sibling(row, pitch)?, self.sibling(row, height)?);
                rows(pitch, self.sibling(row, width)?.checked_mul(self.sibling(row, element)?)?, height)
            }
            Count::Typed { count, tags, by, times } => {
                let size = self.size_of(self.announced(row, tags, by)?) as u64;
                let count = if count == 255 { 1 } else { self.sibling(row, count)? };
                let times = if times == 255 { 1 } else { self.carried(row, times)? };
                count.checked_mul(times)?.checked_mul(size)
            }
            Count::Plane(tags, by) => self.plane(row, tags, by),
            Count::Tensor(tags, by) => self.tensor(row, self.size_of(self.announced(row, tags, by)?) as u64),
            Count::Copied(side) => self.copied(row, side),
            Count::AtTimes(a, b) => self.pointee_of(row, a)?.checked_mul(self.sibling(row, b)?),
            Count::Volume(pitched, extent) => self.volume(row, pitched, extent),
        }
    }

    /// A field of what a sibling points to.
    fn field_at(&self, row: &Row<'_>, n: u8, field: u8) -> Option<u64> {
        let Type::Pointer(to, _) = self.ty(row.params.get(usize::from(n))?.ty) else { return None };
        let Type::Struct(first) = self.ty(to) else { return None };
        let bytes = self.either(word(row.cell(n.into(), 8)?.bytes()))?.bytes;
        let field = self.struct_of(first)?.fields.get(usize::from(field))?;
        let at = usize::from(field.offset);
        self.whole_number(field.ty, bytes.get(at..at.checked_add(self.size_of(field.ty))?)?)
    }

    /// Bytes of planes of rows of a pitch.
    fn volume(&self, row: &Row<'_>, pitched: u8, extent: u8) -> Option<u64> {
        let param = row.params.get(usize::from(pitched))?;
        let Type::Pointer(to, _) = self.ty(param.ty) else { return None };
        let bytes = self.either(word(row.cell(pitched.into(), 8)?.bytes()))?.bytes;
        let pitch = self.field(to, bytes, "pitch")?;
        let ty = row.params.get(usize::from(extent))?.ty;
        let cell = row.cell(extent.into(), self.size_of(ty))?;
        let rows = self.field(ty, cell.bytes(), "height")?.checked_mul(self.field(ty, cell.bytes(), "depth")?)?;
        pitch.checked_mul(rows)
    }

    /// A number in a struct.
    pub(super) fn field(&self, ty: TypeId, bytes: &[u8], name: &str) -> Option<u64> {
        let Type::Struct(first) = self.ty(ty) else { return None };
        let field = self.struct_of(first)?.fields.iter().find(|f| f.name == name)?;
        let at = usize::from(field.offset);
        self.whole_number(field.ty, bytes.get(at..at.checked_add(self.size_of(field.ty))?)?)
    }

    /// The number that a handle beside it carries.
    fn carried(&self, row: &Row<'_>, n: u8) -> Option<u64> {
        let param = row.params.get(usize::from(n))?;
        let Type::Handle(of) = self.ty(param.ty) else { return None };
        let value = word(row.cell(n.into(), 8)?.bytes());
        let kind = self.tables.handles.get(usize::from(of))?;
        u64::try_from(self.state.as_ref()?.handles.carried(kind, value)?).ok()
    }

    /// A sibling's value; of a pointer what it leads to.
    pub fn sibling(&self, row: &Row<'_>, n: u8) -> Option<u64> {
        let param = row.params.get(usize::from(n))?;
        if matches!(self.ty(param.ty), Type::Pointer(..)) {
            return self.pointee_of(row, n);
        }
        let cell = row.cell(n.into(), self.size_of(param.ty))?;
        self.whole_number(param.ty, cell.bytes())
    }

    /// What a sibling points to.
    pub fn pointee_of(&self, row: &Row<'_>, n: u8) -> Option<u64> {
        let param = row.params.get(usize::from(n))?;
        let Type::Pointer(to, _) = self.ty(param.ty) else { return None };
        let address = word(row.cell(n.into(), 8)?.bytes());
        let bytes = self.either(address)?.bytes;
        if let Type::Struct(first) = self.ty(to) {
            // Its first field: the address in a cudaPitchedPtr.
            let field = self.struct_of(first)?.fields.first().filter(|f| f.offset == 0)?;
            return self.whole_number(field.ty, bytes.get(..self.size_of(field.ty))?);
        }
        self.whole_number(to, bytes.get(..self.size_of(to))?)
    }

    /// A number that is not negative.
    pub fn whole_number(&self, ty: TypeId, bytes: &[u8]) -> Option<u64> {
        let all = word(bytes);
        match self.ty(ty) {
            Type::Int { bytes, signed: true } => u64::try_from(signed(all, bytes.into())).ok(),
            Type::Enum(_) | Type::Status(_) => u64::try_from(signed(all, bytes.len())).ok(),
            Type::Int { .. } | Type::Char | Type::Bool(_) | Type::Flags(..) | Type::Handle(_) => Some(all),
            Type::DevicePointer | Type::Pointer(..) => Some(all),
            _ => None,
        }
    }
}

/// Bytes of so many rows, to the end of the last one's width.
pub(super) fn rows(pitch: u64, width: u64, height: u64) -> Option<u64> {
    let Some(before) = height.checked_sub(1).filter(|_| width > 0) else { return Some(0) };
    pitch.checked_mul(before)?.checked_add(width)
}
