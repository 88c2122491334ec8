//! Payloads of NVTX: bytes of a range or a mark, and the schemas of the program that say what they are.

use crate::event::value::{Items, List, Text, Value};
use cutap_calls::generated::nvtx::{entry_flag, payload_type};
use cutap_calls::nvtx::{EntryKind, EntryType, entry_type};
use cutap_wire::names::{Name, PAYLOAD_LAYOUT_BYTES};
use cutap_wire::record::{Fragments, Words};
use std::collections::HashMap;

/// Schemas in schemas are followed so far.
const DEEPEST: usize = 4;
/// Elements of an array that are shown.
const ELEMENTS: usize = 16;

/// A schema or an enumeration: the object of its domain, and its id.
type Key = (u32, u64);

/// An entry of a schema.
#[derive(Debug, Clone, Default)]
struct Entry {
    name: Box<str>,
    type_number: u64,
    offset: usize,
    flags: u32,
    array_length: usize,
}

/// Numbers with names.
#[derive(Debug, Default)]
struct Enumeration {
    bytes: usize,
    names: HashMap<u64, Box<str>>,
}

/// The schemas of a process.
#[derive(Debug, Default)]
pub struct Payloads {
    schemas: HashMap<Key, Vec<Entry>>,
    enumerations: HashMap<Key, Enumeration>,
}

impl Payloads {
    /// Takes a name record of the kind PAYLOAD_ENTRY.
    pub fn entry(&mut self, name: &Name<'_>) {
        let Ok(layout) = <[u8; PAYLOAD_LAYOUT_BYTES]>::try_from(name.t) else { return };
        let word =
            |n: usize| layout.iter().skip(n * 4).take(4).rev().fold(0_u32, |all, byte| all << 8 | u32::from(*byte));
        let entries = self.schemas.entry((name.c as u32, name.a)).or_default();
        if word(0) == 0 {
            // The program registered another schema with this id.
            entries.clear();
        }
        // Two threads that register it at the same time write their entries in turn.
        entries.truncate(word(0) as usize);
        entries.push(Entry {
            name: String::from_utf8_lossy(name.s).into(),
            type_number: name.b,
            offset: word(1) as usize,
            flags: word(2),
            array_length: word(3) as usize,
        });
    }

    /// Takes a name record of the kind PAYLOAD_ENUM.
    pub fn enumerator(&mut self, name: &Name<'_>) {
        let of = self.enumerations.entry((name.c as u32, name.a)).or_default();
        of.bytes = (name.c >> 32) as usize;
        of.names.insert(masked(name.b, of.bytes), String::from_utf8_lossy(name.s).into());
    }

    /// Whether a record has a payload whose schema is not known.
    pub fn lacks(&self, object: u32, schema: u64, kind: u64) -> bool {
        let is_known = || entry_type(schema).is_some() || self.schemas.contains_key(&(object, schema));
        kind as u32 == payload_type::EXTENDED && !is_known()
    }

    /// What the bytes of a payload are; bytes if the schema is not known.
    pub fn decode(&self, object: u32, schema: u64, bytes: &[u8]) -> Value {
        let decoded = match entry_type(schema) {
            // The program did not say how many bytes there are.
            Some(of) if bytes.is_empty() && of.kind != EntryKind::Text => Some(Value::Missing),
            Some(of) => Some(many(of, bytes, bytes.len() / of.bytes)),
            None => self.structure(object, schema, bytes, 0),
        };
        decoded.unwrap_or_else(|| Value::Bytes(bytes.into()))
    }

    fn structure(&self, object: u32, schema: u64, bytes: &[u8], depth: usize) -> Option<Value> {
        let entries = self.schemas.get(&(object, schema)).filter(|_| depth < DEEPEST)?;
        let (mut values, mut names) = (Vec::new(), Vec::new());
        let mut end = 0_usize;
        for entry in entries {
            let (size, alignment) = self.size(object, entry, depth)?;
            let start = if entry.offset != 0 { entry.offset } else { end.next_multiple_of(alignment) };
            end = start.checked_add(size)?;
            let value = bytes.get(start..end).and_then(|bytes| self.value(object, entry, bytes, depth));
            values.push(value.unwrap_or(Value::Missing));
            names.push(entry.name.clone());
        }
        let total = values.len() as u64;
        Some(Value::List(Box::new(List { values, total, more: 0, names: Some(names.into()) })))
    }

    /// Bytes of an entry and their alignment.
    fn size(&self, object: u32, entry: &Entry, depth: usize) -> Option<(usize, usize)> {
        const POINTER: usize = 8;
        if entry.is_pointer() {
            return Some((POINTER, POINTER));
        }
        // The length of other arrays is in another entry.
        if !matches!(entry.flags & entry_flag::ARRAYS, 0 | entry_flag::FIXED_ARRAY) {
            return None;
        }
        let (bytes, alignment) =
            match (entry_type(entry.type_number), self.enumerations.get(&(object, entry.type_number))) {
                // A text without a length is a pointer.
                (Some(of), _) if of.kind == EntryKind::Text && entry.array_length == 0 => (POINTER, POINTER),
                (Some(of), _) if of.kind == EntryKind::Text => return Some((of.bytes * entry.array_length, of.bytes)),
                (Some(of), _) => (of.bytes, of.bytes),
                (None, Some(of)) => (of.bytes, of.bytes.max(1)),
                (None, None) => self.size_of_schema(object, entry.type_number, depth + 1)?,
            };
        let count = if entry.is_array() { entry.array_length } else { 1 };
        Some((bytes.checked_mul(count)?, alignment))
    }

    fn size_of_schema(&self, object: u32, schema: u64, depth: usize) -> Option<(usize, usize)> {
        let entries = self.schemas.get(&(object, schema)).filter(|_| depth < DEEPEST)?;
        let (mut end, mut largest) = (0_usize, 1);
        for entry in entries {
            let (size, alignment) = self.size(object, entry, depth)?;
            let start = if entry.offset != 0 { entry.offset } else { end.next_multiple_of(alignment) };
            (end, largest) = (end.max(start.checked_add(size)?), largest.max(alignment));
        }
        Some((end.next_multiple_of(largest), largest))
    }

    fn value(&self, object: u32, entry: &Entry, bytes: &[u8], depth: usize) -> Option<Value> {
        if entry.is_pointer() {
            return Some(Value::Hex(number(bytes)));
        }
        if let Some(of) = self.enumerations.get(&(object, entry.type_number)) {
            return Some(elements(entry, bytes, |bytes| of.value(bytes)));
        }
        match entry_type(entry.type_number) {
            Some(of) if of.kind == EntryKind::Text && entry.array_length == 0 => Some(Value::Hex(number(bytes))),
            Some(of) if of.kind == EntryKind::Text => Some(text(bytes)),
            Some(of) => Some(many(of, bytes, bytes.len() / of.bytes)),
            None => {
                let of = |bytes: &[u8]| self.structure(object, entry.type_number, bytes, depth + 1);
                Some(elements(entry, bytes, |bytes| of(bytes).unwrap_or(Value::Missing)))
            }
        }
    }
}

impl Enumeration {
    fn value(&self, bytes: &[u8]) -> Value {
        let number = masked(number(bytes), self.bytes);
        self.names.get(&number).map_or(Value::Uint(number), |name| text(name.as_bytes()))
    }
}

/// A number of so many bytes: a negative one may have been given with more.
fn masked(number: u64, bytes: usize) -> u64 {
    if (1..8).contains(&bytes) { number & !(u64::MAX << (8 * bytes)) } else { number }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |all, byte| all << 8 | u64::from(*byte))
}

/// The value of an entry, or of each element of an array.
fn elements(entry: &Entry, bytes: &[u8], value: impl Fn(&[u8]) -> Value) -> Value {
    let count = entry.array_length;
    if !entry.is_array() {
        return value(bytes);
    }
    let values = match bytes.len().checked_div(count) {
        Some(size) if size > 0 => bytes.chunks_exact(size).take(ELEMENTS).map(value).collect(),
        _ => Vec::new(),
    };
    Value::Array(Box::new(Items { values, total: count as u64 }))
}

impl Entry {
    /// Of so many elements.
    fn is_array(&self) -> bool {
        self.flags & entry_flag::ARRAYS == entry_flag::FIXED_ARRAY
    }

    fn is_pointer(&self) -> bool {
        self.flags & (entry_flag::POINTER | entry_flag::OFFSET_FROM_BASE | entry_flag::OFFSET_FROM_HERE) != 0
    }
}

fn text(bytes: &[u8]) -> Value {
    let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or(&[]);
    Value::Text(Box::new(Text { text: String::from_utf8_lossy(bytes).into(), cut: false }))
}

/// So many values of a type.
fn many(of: &EntryType, bytes: &[u8], count: usize) -> Value {
    if matches!(of.kind, EntryKind::Text | EntryKind::Char) && (count != 1 || of.kind == EntryKind::Text) {
        return text(bytes);
    }
    let mut values: Vec<Value> =
        bytes.chunks_exact(of.bytes).take(count.min(ELEMENTS)).map(|one| scalar(of, one)).collect();
    match (values.len(), count) {
        (1, 1) => values.remove(0),
        _ => Value::Array(Box::new(Items { values, total: count as u64 })),
    }
}

fn scalar(of: &EntryType, bytes: &[u8]) -> Value {
    let number = number(bytes);
    let unused_bits = 64 - 8 * of.bytes as u32;
    match (of.kind, of.bytes) {
        (EntryKind::Int, _) => Value::Int(((number << unused_bits) as i64) >> unused_bits),
        (EntryKind::Float, 4) => Value::Single(f32::from_bits(number as u32)),
        (EntryKind::Float, _) => Value::Double(f64::from_bits(number)),
        (EntryKind::Hex, _) => Value::Hex(number),
        (EntryKind::Char, _) => text(bytes),
        (EntryKind::Uint | EntryKind::Text, _) => Value::Uint(number),
    }
}

/// The payload of a range or a mark whose words and memory are these; none if it is no payload of the extension.
pub fn payload(of: &Payloads, object: u32, words: Words<'_>, memory: Fragments<'_>) -> Option<Value> {
    let (schema, kind) = (words.get(0)?, words.get(1)?);
    // The name comes first.
    let piece = memory.into_iter().nth(1).filter(|_| kind as u32 == payload_type::EXTENDED)?;
    Some(of.decode(object, schema, piece.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_wire::names::kind;

    const DOMAIN: u32 = 1 << 30;

    fn name<'a>(kind: u8, numbers: [u64; 3], s: &'a str, t: &'a [u8]) -> Name<'a> {
        let [a, b, c] = numbers;
        Name { kind, ticks: 0, a, b, c, s: s.as_bytes(), t }
    }

    fn layout(words: [u32; 4]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Entries: name, type, offset, flags, length of an array.
    fn schema(of: &mut Payloads, id: u64, entries: &[(&str, u64, u32, u32, u32)]) {
        for (n, (entry, type_number, offset, flags, length)) in (0..).zip(entries) {
            let layout = layout([n, *offset, *flags, *length]);
            of.entry(&name(kind::PAYLOAD_ENTRY, [id, *type_number, DOMAIN.into()], entry, &layout));
        }
    }

    #[test]
    fn entries_are_aligned_and_nested() {
        let mut of = Payloads::default();
        of.enumerator(&name(kind::PAYLOAD_ENUM, [1 << 32, 2, u64::from(DOMAIN) | 4 << 32], "sum", &[]));
        schema(&mut of, 7 << 24, &[("x", 16, 0, 0, 0), ("y", 19, 0, 0, 0)]);
        let all = [("n", 12, 0, 0, 0), ("count", 18, 0, 0, 0), ("op", 1 << 32, 0, 0, 0), ("at", 7 << 24, 0, 0, 0)];
        schema(&mut of, 8 << 24, &all);
        let mut bytes = vec![5, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend(99_u64.to_le_bytes());
        bytes.extend(2_u32.to_le_bytes());
        bytes.extend(3_u32.to_le_bytes());
        bytes.extend(1.5_f32.to_le_bytes());
        let text = format!("{:?}", of.decode(DOMAIN, 8 << 24, &bytes));
        for part in ["Uint(5)", "Uint(99)", "\"sum\"", "Uint(3)", "Single(1.5)", "\"count\""] {
            assert!(text.contains(part), "{text}");
        }
        // Another domain has no such schema.
        assert!(matches!(of.decode(DOMAIN + 1, 8 << 24, &bytes), Value::Bytes(_)));
        // Payloads that end early lack their last entries.
        assert!(format!("{:?}", of.decode(DOMAIN, 8 << 24, &bytes[..9])).contains("Missing"));
    }

    #[test]
    fn types_without_schema_and_arrays() {
        let mut of = Payloads::default();
        let numbers = [-1_i32, 4].map(i32::to_le_bytes).concat();
        assert!(format!("{:?}", of.decode(DOMAIN, 15, &numbers)).contains("Int(-1), Int(4)"));
        assert!(format!("{:?}", of.decode(DOMAIN, 75, b"abc\0d")).contains("\"abc\""));
        schema(&mut of, 9 << 24, &[("sizes", 12, 0, 0x10, 3), ("word", 75, 0, 0, 4), ("next", 18, 8, 2, 0)]);
        let text = format!("{:?}", of.decode(DOMAIN, 9 << 24, b"\x01\x02\x03hey\0\0\x10\0\0\0\0\0\0\0"));
        for part in ["Uint(1), Uint(2), Uint(3)", "\"hey\"", "Hex(16)"] {
            assert!(text.contains(part), "{text}");
        }
        // A schema that has itself inside ends.
        schema(&mut of, 10 << 24, &[("again", 10 << 24, 0, 0, 0)]);
        assert!(matches!(of.decode(DOMAIN, 10 << 24, &[0; 8]), Value::Bytes(_)));
    }

    #[test]
    fn arrays_of_enumerations_and_schemas() {
        let mut of = Payloads::default();
        // A negative number of an enumeration of two bytes is given with eight.
        for (number, name_of) in [(1, "one"), (-2_i64 as u64, "negative")] {
            of.enumerator(&name(kind::PAYLOAD_ENUM, [1 << 32, number, u64::from(DOMAIN) | 2 << 32], name_of, &[]));
        }
        schema(&mut of, 7 << 24, &[("x", 16, 0, 0, 0)]);
        schema(&mut of, 8 << 24, &[("ops", 1 << 32, 0, 0x10, 3), ("points", 7 << 24, 8, 0x10, 2)]);
        let bytes = b"\x01\0\xfe\xff\x05\0\0\0\x11\0\0\0\x12\0\0\0";
        let text = format!("{:?}", of.decode(DOMAIN, 8 << 24, bytes));
        let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part}: {text}"));
        let places = ["\"one\"", "\"negative\"", "Uint(5)", "total: 3", "Uint(17)", "Uint(18)", "total: 2"].map(place);
        assert!(places.is_sorted(), "{text}");
    }

    #[test]
    fn schemas_that_are_not_as_they_seem() {
        let mut of = Payloads::default();
        // Two threads register one schema at the same time.
        for (n, entry) in [(0, "a"), (0, "a"), (1, "b"), (1, "b")] {
            of.entry(&name(kind::PAYLOAD_ENTRY, [7 << 24, 12, DOMAIN.into()], entry, &layout([n, 0, 0, 0])));
        }
        let text = format!("{:?}", of.decode(DOMAIN, 7 << 24, &[1, 2, 3, 4]));
        assert!(text.contains("Uint(1), Uint(2)]") && !text.contains("Uint(3)"), "{text}");
        // The length of a text is another entry: 1 is the index of that, and no length.
        schema(&mut of, 8 << 24, &[("text", 75, 0, 0x30, 1), ("length", 18, 0, 0, 0)]);
        assert!(matches!(of.decode(DOMAIN, 8 << 24, &[9; 16]), Value::Bytes(_)));
        // A number whose bytes the program did not count.
        assert!(matches!(of.decode(DOMAIN, 15, &[]), Value::Missing));
    }
}
