//! Values whose type depends on a tag: attributes, options, scalars of a compute type.

use super::row::Row;
use super::scalar::signed;
use super::walk::{ELEMENTS, Walk, word};
use crate::decode::state::allocations::Fallback;
use crate::event::value::{Items, Value};
use cutap_calls::known::{Count, Param, Rule, Tag, Type, TypeId, Unit};

impl Walk<'_> {
    /// What a tag announces: a type, or in a union's tags the number of a field.
    pub fn tagged_type(&self, tags: u16, tag: i64) -> Option<TypeId> {
        announced(self.tables.tags.get(usize::from(tags))?, tag)
    }

    /// What a sibling announces.
    pub fn announced(&self, row: &Row<'_>, tags: u16, sibling: u8) -> Option<TypeId> {
        let param = row.params.get(usize::from(sibling))?;
        let cell = row.cell(sibling.into(), self.size_of(param.ty))?;
        self.tagged_type(tags, signed(word(cell.bytes()), cell.bytes().len()))
    }

    /// One or more values of the type that a sibling announces; with several tags, a pointer for each.
    pub fn tagged(&mut self, row: &Row<'_>, address: u64, tags: u16, sibling: u8, count: Count) -> Option<Value> {
        let tags = self.tables.tags.get(usize::from(tags))?;
        let param = row.params.get(usize::from(sibling))?;
        if matches!(self.ty(param.ty), Type::Pointer(..)) {
            let announce = self.announce(row, sibling)?;
            let total = self.count(row, count).unwrap_or(announce.len() as u64);
            return self.pointers(address, total, |w, n, pointer| {
                w.target(announced(tags, *announce.get(n)?)?, pointer, Unit::None)
            });
        }
        let ty = announced(tags, self.tag_of(row, sibling)?)?;
        match (self.ty(ty), count) {
            (Type::Void, _) => None,
            (_, Count::Fixed(1) | Count::Unknown) => self.single_value(ty, address),
            (_, Count::Sized(..)) => {
                let byte_count = self.count(row, count).unwrap_or(u64::MAX);
                self.in_bytes(ty, address, byte_count)
            }
            _ => {
                let fragment = self.memory.at(address)?;
                let size = self.element(ty) as u64;
                let total = self.count(row, count).unwrap_or(u64::from(fragment.full_length) / size);
                let value = self.items(ty, fragment.bytes, total);
                Some(Value::Pointee(address, Box::new(value)))
            }
        }
    }

    /// How a handle beside a scalar says that it is on a device; none: it is on the host.
    pub fn mode_of(&self, row: &Row<'_>, param: &Param) -> Option<i64> {
        /// Of cuBLASLt's modes the one in which beta is on the host all the same.
        const BETA_ON_HOST: i64 = 4;
        let state = self.state.as_ref()?;
        let mode = |(n, p): (usize, &Param)| {
            let Type::Handle(of) = self.ty(p.ty) else { return None };
            let kind = self.tables.handles.get(usize::from(of))?;
            let mode = state.handles.mode(kind, word(row.cell(n, 8)?.bytes()));
            (mode != 0).then_some(mode)
        };
        let device_mode = row.params.iter().enumerate().find_map(mode);
        device_mode.filter(|mode| *mode != BETA_ON_HOST || param.name != "beta")
    }

    /// Bytes of a number whose type a sibling may announce.
    pub fn scalar_bytes(&self, row: &Row<'_>, rule: Rule, to: TypeId) -> Option<u64> {
        let announced_type = |tags, by| self.tag_of(row, by).and_then(|tag| self.tagged_type(tags, tag));
        let ty = match rule {
            Rule::One => Some(to),
            Rule::Scalar(tags, by) => announced_type(tags, by),
            Rule::ScalarOr(tags, by, or, other) => announced_type(tags, by).or_else(|| announced_type(or, other)),
            _ => None,
        };
        let size = self.size_of(ty?) as u64;
        (size > 0).then_some(size)
    }

    /// The tag that a sibling is, or that a handle carries.
    fn tag_of(&self, row: &Row<'_>, sibling: u8) -> Option<i64> {
        let param = row.params.get(usize::from(sibling))?;
        let cell = row.cell(sibling.into(), self.size_of(param.ty))?;
        match self.ty(param.ty) {
            Type::Handle(of) => {
                self.state.as_ref()?.handles.carried(self.tables.handles.get(usize::from(of))?, word(cell.bytes()))
            }
            _ => Some(signed(word(cell.bytes()), cell.bytes().len())),
        }
    }

    /// The word itself, or the struct that lies there, as a sibling announces.
    pub fn word(&mut self, row: &Row<'_>, address: u64, tags: u16, sibling: u8) -> Option<Value> {
        let param = row.params.get(usize::from(sibling))?;
        let cell = row.cell(sibling.into(), self.size_of(param.ty))?;
        let tag = signed(word(cell.bytes()), cell.bytes().len());
        let ty = announced(self.tables.tags.get(usize::from(tags))?, tag)?;
        match self.ty(ty) {
            _ if address == 0 && matches!(self.ty(ty), Type::Struct(_)) => Some(Value::Null),
            Type::Struct(_) => self.single_value(ty, address),
            Type::Void => None,
            _ => {
                let size = self.size_of(ty).min(8);
                Some(self.by_type(ty, &address.to_le_bytes()[..size], Unit::None))
            }
        }
    }

    /// One value in as many bytes as the program says: more are a list, fewer are part of it.
    fn in_bytes(&mut self, ty: TypeId, address: u64, byte_count: u64) -> Option<Value> {
        let bytes = self.memory.at(address)?.bytes;
        let value_bytes = bytes.get(..usize::try_from(byte_count).unwrap_or(usize::MAX)).unwrap_or(bytes);
        let size = self.size_of(ty).max(1);
        let value = match self.ty(ty) {
            Type::Enum(_) | Type::Handle(_)
                if byte_count >= 2 * size as u64 && byte_count.is_multiple_of(size as u64) =>
            {
                self.items(ty, value_bytes, byte_count / size as u64)
            }
            _ if byte_count >= size as u64 => return self.single_value(ty, address),
            _ => {
                let values = value_bytes.iter().map(|byte| Value::Uint((*byte).into())).collect();
                Value::Array(Box::new(Items { values, total: byte_count }))
            }
        };
        Some(Value::Pointee(address, Box::new(value)))
    }

    /// One value. As much was kept as the longest that the tags announce has: what lies behind a shorter one
    /// is not its own.
    fn single_value(&mut self, ty: TypeId, address: u64) -> Option<Value> {
        let Type::Struct(first) = self.ty(ty) else { return self.target(ty, address, Unit::None) };
        let bytes = self.memory.at(address)?.bytes;
        let bytes = bytes.get(..self.size_of(ty)).unwrap_or(bytes);
        let value = self.structure(first, bytes, bytes.len() as u64);
        Some(Value::Pointee(address, Box::new(value)))
    }

    /// Values of options, each in the place of a pointer or behind it, as the key says.
    pub fn options(&mut self, row: &Row<'_>, address: u64, keys: u8, count: Count) -> Option<Value> {
        let Type::Pointer(of, _) = self.ty(row.params.get(usize::from(keys))?.ty) else { return None };
        let Type::Enum(of) = self.ty(of) else { return None };
        let name = self.tables.enums.get(usize::from(of))?.name;
        let tags = self.tables.tags.iter().find(|t| t.name == name)?;
        let announce = self.announce(row, keys)?;
        let total = self.count(row, count).unwrap_or(announce.len() as u64);
        self.pointers(address, total, |w, n, value| {
            let ty = announced(tags, *announce.get(n)?)?;
            Some(match w.ty(ty) {
                Type::Void => Value::Opaque(value),
                // What a compiler logs is behind the pointer only after the call.
                Type::Pointer(to, _) => {
                    let target = w.deeper(|w| w.target(to, value, Unit::None)).flatten();
                    target.unwrap_or_else(|| w.address_or(value, None, Fallback::Host))
                }
                _ => {
                    let size = w.size_of(ty).min(8);
                    w.by_type(ty, &value.to_le_bytes()[..size], Unit::None)
                }
            })
        })
    }

    /// The tags that a sibling points to.
    fn announce(&self, row: &Row<'_>, sibling: u8) -> Option<Vec<i64>> {
        let Type::Pointer(to, _) = self.ty(row.params.get(usize::from(sibling))?.ty) else { return None };
        let size = self.element(to);
        let bytes = self.either(word(row.cell(sibling.into(), 8)?.bytes()))?.bytes;
        Some(bytes.chunks_exact(size).take(ELEMENTS).map(|b| signed(word(b), size)).collect())
    }

    /// An array of pointers, each read by `each`; an address where that fails.
    fn pointers(
        &mut self,
        address: u64,
        total: u64,
        mut each: impl FnMut(&mut Self, usize, u64) -> Option<Value>,
    ) -> Option<Value> {
        let pointers = self.memory.at(address)?.bytes.as_chunks::<8>().0;
        let most = usize::try_from(total).unwrap_or(ELEMENTS).min(ELEMENTS);
        let mut values = Vec::new();
        for (n, pointer) in pointers.iter().take(most).enumerate() {
            if !self.take() {
                break;
            }
            let pointer = u64::from_le_bytes(*pointer);
            let value = each(self, n, pointer);
            values.push(value.unwrap_or(if pointer == 0 { Value::Null } else { Value::Address(pointer, None) }));
        }
        Some(Value::Pointee(address, Box::new(Value::Array(Box::new(Items { values, total })))))
    }
}

fn announced(tags: &Tag, tag: i64) -> Option<TypeId> {
    let place = tags.rows.binary_search_by_key(&tag, |(value, _)| *value).ok()?;
    tags.rows.get(place).map(|(_, ty)| *ty)
}
