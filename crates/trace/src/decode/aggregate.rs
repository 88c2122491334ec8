//! Structs and unions. A struct that is cut off ends where its bytes end; one that is larger in the
//! running version than we know says by how much.

use super::row::Row;
use super::value::{Fields, Value};
use super::walk::{Walk, word};
use cutap_calls::known::Struct;

impl Walk<'_> {
    /// A struct in `bytes`; `meant` is how large the program's own is.
    pub fn structure(&mut self, first: u16, bytes: &[u8], meant: u64) -> Value {
        let Some(of) = self.struct_of(first) else { return unknown(bytes) };
        let row = Row::fields(of, bytes);
        let mut values = Vec::with_capacity(of.fields.len());
        let mut cut = false;
        for (n, field) in of.fields.iter().enumerate().take(255) {
            if row.cell(n, self.size_of(field.ty)).is_none() || !self.take() {
                cut = true;
                break;
            }
            let value = self.deeper(|w| w.param(&row, n)).unwrap_or(Value::Missing);
            values.push((n as u8, value));
        }
        let more = meant.saturating_sub(of.size.into());
        Value::Struct(Box::new(Fields { of, values, cut, more }))
    }

    /// A union in `bytes`; `holder` are the fields beside it, one of which may tell what it holds.
    pub fn union(&mut self, first: u16, holder: Option<&Row<'_>>, bytes: &[u8]) -> Value {
        let Some(of) = self.struct_of(first) else { return unknown(bytes) };
        let Some(n) = holder.and_then(|holder| self.meant(of, holder)) else { return unknown(bytes) };
        let row = Row::fields(of, bytes);
        let value = self.deeper(|w| w.param(&row, n.into())).unwrap_or(Value::Missing);
        Value::Struct(Box::new(Fields { of, values: vec![(n, value)], cut: false, more: 0 }))
    }

    /// The field that a union holds.
    fn meant(&mut self, of: &Struct, holder: &Row<'_>) -> Option<u8> {
        let tag = holder.params.get(usize::from(of.tag))?;
        let cell = holder.cell(of.tag.into(), self.size_of(tag.ty))?;
        let value = super::scalar::signed(word(cell.bytes()), cell.bytes().len());
        u8::try_from(self.tagged_type(of.tags, value)?).ok()
    }
}

fn unknown(bytes: &[u8]) -> Value {
    Value::Bytes(bytes.get(..64).unwrap_or(bytes).into())
}
