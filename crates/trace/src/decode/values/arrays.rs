//! Arrays: elements in a row, elements behind a pointer to a pointer, addresses of memory with their lengths. At most
//! [`ELEMENTS`] values are made, whatever the count says.

use super::row::Row;
use super::text;
use super::walk::{ELEMENTS, Walk, word};
use crate::decode::state::allocations::Fallback;
use crate::event::value::{Items, MemoryPlace, Value};
use cutap_calls::known::{Count, Type, TypeId, Unit};

impl Walk<'_> {
    /// Elements that lie in `bytes`, one behind the other.
    pub fn items(&mut self, of: TypeId, bytes: &[u8], total: u64) -> Value {
        if matches!(self.ty(of), Type::Char) {
            return text::characters(bytes, total);
        }
        let size = self.element(of);
        let fits = (bytes.len() / size).min(ELEMENTS).min(usize::try_from(total).unwrap_or(usize::MAX));
        let mut values = Vec::with_capacity(fits);
        let each = self.deeper(|w| {
            for bytes in bytes.chunks_exact(size).take(fits) {
                if !w.take() {
                    break;
                }
                values.push(w.element_value(of, bytes));
            }
        });
        let _ = each;
        Value::Array(Box::new(Items { values, total }))
    }

    fn element_value(&mut self, of: TypeId, bytes: &[u8]) -> Value {
        match self.ty(of) {
            Type::Void => Value::Uint(bytes.first().copied().unwrap_or(0).into()),
            _ => self.by_type(of, bytes, Unit::None),
        }
    }

    /// Bytes of an element; of `void` one.
    pub fn element(&self, of: TypeId) -> usize {
        self.size_of(of).max(1)
    }

    pub fn array(&mut self, row: &Row<'_>, of: TypeId, address: u64, count: Count) -> Option<Value> {
        let size = self.element(of);
        let counted = self.count(row, count);
        let fragment = self.memory.at(address)?;
        let total = match count {
            Count::ZeroEnded => {
                fragment.bytes.chunks_exact(size).take_while(|e| e.iter().any(|b| *b != 0)).count() as u64
            }
            _ => counted.unwrap_or(u64::from(fragment.full_length) / size as u64),
        };
        let value = self.items(of, fragment.bytes, total);
        Some(Value::Pointee(address, Box::new(value)))
    }

    /// The elements at the address that lies at this one.
    pub fn behind_address(&mut self, row: &Row<'_>, to: TypeId, address: u64, count: Count) -> Option<Value> {
        let Type::Pointer(of, _) = self.ty(to) else { return None };
        let value = match word(self.memory.at(address)?.bytes.get(..8)?) {
            0 => Value::Null,
            at if self.ty(of) == Type::Void => self.of_host(at, self.count(row, count)),
            at => self.array(row, of, at, count).unwrap_or(match self.count(row, count) {
                Some(0) => Value::Array(Box::new(Items { values: Vec::new(), total: 0 })),
                _ => Value::Address(at, None),
            }),
        };
        Some(Value::Pointee(address, Box::new(value)))
    }

    /// Memory of the host that the call made, of a length that only the call tells.
    fn of_host(&self, address: u64, bytes: Option<u64>) -> Value {
        match self.address_or(address, bytes, Fallback::Host) {
            Value::Address(at, Some(place)) if place.size == 0 => {
                Value::Address(at, Some(Box::new(MemoryPlace { bytes, ..*place })))
            }
            other => other,
        }
    }

    /// Addresses of memory, of each as many bytes as the element of a sibling says.
    pub fn addresses(&mut self, row: &Row<'_>, address: u64, count: Count, bytes: u8) -> Option<Value> {
        let counted = self.count(row, count);
        let fragment = self.memory.at(address)?;
        let lengths = row.cell(bytes.into(), 8).and_then(|cell| self.either(word(cell.bytes())));
        let lengths = lengths.map_or(&[][..], |f| f.bytes.as_chunks::<8>().0);
        let total = counted.unwrap_or(u64::from(fragment.full_length) / 8);
        let most = usize::try_from(total).unwrap_or(ELEMENTS).min(ELEMENTS);
        let mut values = Vec::new();
        for (n, at) in fragment.bytes.as_chunks::<8>().0.iter().take(most).enumerate() {
            if !self.take() {
                break;
            }
            let pointee_bytes = lengths.get(n).map(|length| u64::from_le_bytes(*length));
            values.push(self.address_or(u64::from_le_bytes(*at), pointee_bytes, Fallback::ByRange));
        }
        Some(Value::Pointee(address, Box::new(Value::Array(Box::new(Items { values, total })))))
    }
}
