//! Text of the program. It may hold any bytes and have no end.

use super::row::Row;
use super::walk::{ELEMENTS, Walk};
use crate::event::value::{Items, Text, Value};
use cutap_calls::known::Count;

impl Walk<'_> {
    /// Text at an address, in a buffer of this size if that is known.
    pub fn text(&mut self, address: u64, most: Option<u64>) -> Option<Value> {
        let fragment = self.memory.at(address)?;
        let total = most.unwrap_or(fragment.full_length.into());
        Some(Value::Pointee(address, Box::new(value(fragment.bytes, total, most.is_some()))))
    }

    /// Texts at the addresses in an array.
    pub fn texts(&mut self, row: &Row<'_>, address: u64, count: Count) -> Option<Value> {
        let fragment = self.memory.at(address)?;
        let pointers = fragment.bytes.as_chunks::<8>().0.iter().map(|w| u64::from_le_bytes(*w));
        let pointers = pointers.take(ELEMENTS);
        let total = self.count(row, count).unwrap_or(u64::from(fragment.full_length) / 8);
        let mut values = Vec::new();
        for pointer in pointers.take(usize::try_from(total).unwrap_or(ELEMENTS)) {
            if !self.take() || (pointer == 0 && count == Count::ZeroEnded) {
                break;
            }
            let text = if pointer == 0 { Some(Value::Null) } else { self.text(pointer, None) };
            values.push(text.unwrap_or(Value::Address(pointer, None)));
        }
        // One is no array.
        if let (Count::Fixed(1), [_]) = (count, values.as_slice()) {
            return Some(Value::Pointee(address, Box::new(values.remove(0))));
        }
        let total = if count == Count::ZeroEnded { values.len() as u64 } else { total };
        Some(Value::Pointee(address, Box::new(Value::Array(Box::new(Items { values, total })))))
    }
}

/// Characters of a struct: text, or bytes where they are none.
pub fn characters(bytes: &[u8], total: u64) -> Value {
    let text = bytes.split(|b| *b == 0).next().unwrap_or(bytes);
    let binary = text.iter().any(u8::is_ascii_control) || text.is_empty() && bytes.iter().any(|b| *b != 0);
    if binary || str::from_utf8(text).is_err() {
        return Value::Bytes(bytes.get(..64).unwrap_or(bytes).into());
    }
    value(bytes, total, true)
}

/// Text in `bytes`, which are the first of `total`; a `buffer` may be full without a zero at its end.
pub fn value(bytes: &[u8], total: u64, buffer: bool) -> Value {
    let within = bytes.get(..usize::try_from(total).unwrap_or(usize::MAX)).unwrap_or(bytes);
    let zero = within.iter().position(|b| *b == 0);
    let text = within.get(..zero.unwrap_or(within.len())).unwrap_or(within);
    let whole = buffer && within.len() as u64 >= total;
    // Characters of a struct are often bytes.
    if buffer && zero.is_none() && str::from_utf8(text).is_err() {
        return Value::Bytes(text.get(..64).unwrap_or(text).into());
    }
    Value::Text(Box::new(Text { text: String::from_utf8_lossy(text).into_owned(), cut: zero.is_none() && !whole }))
}
