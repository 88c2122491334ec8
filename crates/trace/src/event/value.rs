//! A decoded argument: a tree of bounded size. Facts of a type (names of enums, fields and kinds of handles) are
//! references into the tables. `cutap-report` formats it.

use cutap_calls::known;
use std::sync::Arc;

/// A value.
#[derive(Debug, Clone)]
pub enum Value {
    /// It was not recorded.
    Missing,
    /// A null pointer.
    Null,
    /// A truth value.
    Bool(bool),
    /// A signed number.
    Int(i64),
    /// An unsigned number.
    Uint(u64),
    /// A number that people read in hexadecimal.
    Hex(u64),
    /// A CUDA version: 12090.
    Version(i64),
    /// A library's version, and what its first part stands for: 10000 or 1000.
    Release(i64, i64),
    /// A float of two or four bytes.
    Single(f32),
    /// A float of eight bytes.
    Double(f64),
    /// A value of an enum, known or not.
    Enum(i64, &'static known::Enum),
    /// A set of flags.
    Flags(u64, &'static known::Enum),
    /// Text.
    Text(Box<Text>),
    /// A handle.
    Handle {
        /// Its bits.
        value: u64,
        /// Its kind.
        kind: &'static known::Handle,
        /// The how many-th of its kind that was seen in this process, from 1; 0: not followed.
        number: u32,
        /// What is known of it at this moment.
        standing: Standing,
    },
    /// An address whose target was not read, and what is known of the memory that it leads to.
    Address(u64, Option<Box<MemoryPlace>>),
    /// An address at which no program can have memory, where memory is meant.
    Wild(u64),
    /// An address that is not meant to be read: a cookie, user data.
    Opaque(u64),
    /// A function.
    Code(u64),
    /// A pointer, and what it leads to.
    Pointee(u64, Box<Value>),
    /// A struct, or the field that a union holds.
    Struct(Box<Fields>),
    /// Several of a kind.
    Array(Box<Items>),
    /// A kernel's parameters; words of an unknown struct.
    List(Box<List>),
    /// A UUID.
    Uuid(Box<[u8; 16]>),
    /// Bytes that only their maker understands, all of them: a handle that goes from process to process.
    Id(Box<[u8]>),
    /// Bytes of a type that is not known.
    Bytes(Box<[u8]>),
}

/// Text of the program. What was no UTF-8 is replaced; control characters are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// As far as it was kept.
    pub text: String,
    /// There is more.
    pub cut: bool,
}

impl MemoryPlace {
    /// Bytes that the call means behind the allocation's end.
    pub fn bytes_beyond(&self) -> u64 {
        let end = self.bytes.map_or(0, |length| self.offset.saturating_add(length));
        if self.size == 0 { 0 } else { end.saturating_sub(self.size) }
    }
}

/// What is known of a handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Nothing that speaks against it.
    Live,
    /// It was destroyed, and not handed out again.
    Destroyed,
    /// Nobody handed it out, in a trace that has all calls that could have.
    Unseen,
}

/// Where an address leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryPlace {
    /// Kind of memory.
    pub memory: known::Memory,
    /// On which device, if that is known.
    pub device: Option<u32>,
    /// Bytes from the allocation's start.
    pub offset: u64,
    /// Bytes that the call means, if it says so.
    pub bytes: Option<u64>,
    /// Bytes of the allocation; 0 when they are not known, or there is none.
    pub size: u64,
    /// The allocation has ended.
    pub freed: bool,
    /// The handle that it belongs to.
    pub of: Option<Owner>,
}

/// A handle by its short name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// Word of its kind.
    pub short: &'static str,
    /// The how many-th of its kind.
    pub number: u32,
    /// What is known of it.
    pub standing: Standing,
}

/// A struct's fields.
#[derive(Debug, Clone)]
pub struct Fields {
    /// Its description.
    pub of: &'static known::Struct,
    /// The fields by their place in the description; of a union the one that is meant.
    pub values: Vec<(u8, Value)>,
    /// Not all of them were kept.
    pub cut: bool,
    /// Bytes that the running version has beyond those that are known.
    pub more: u64,
}

/// Elements of an array.
#[derive(Debug, Clone)]
pub struct Items {
    /// The first ones.
    pub values: Vec<Value>,
    /// How many there are in all.
    pub total: u64,
}

/// Values that stand side by side and may have names.
#[derive(Debug, Clone)]
pub struct List {
    /// The first ones.
    pub values: Vec<Value>,
    /// How many there are in all.
    pub total: u64,
    /// Bytes of a struct behind the words that were kept.
    pub more: u64,
    /// Their names, in the same order; empty for one without.
    pub names: Option<Arc<[Box<str>]>>,
}

impl List {
    /// The name of one of them.
    pub fn name(&self, n: usize) -> Option<&str> {
        self.names.as_ref()?.get(n).map(|name| &**name).filter(|name| !name.is_empty())
    }
}

impl Value {
    /// The number that it is, for comparing.
    pub fn number(&self) -> Option<f64> {
        match *self {
            Value::Bool(b) => Some(f64::from(u8::from(b))),
            Value::Int(n) | Value::Version(n) | Value::Release(n, _) | Value::Enum(n, _) => Some(n as f64),
            Value::Uint(n) | Value::Hex(n) | Value::Flags(n, _) | Value::Opaque(n) | Value::Code(n) => Some(n as f64),
            Value::Single(f) => Some(f.into()),
            Value::Double(f) => Some(f),
            // Special ones are below 0.
            Value::Handle { value, kind, .. } if kind.number => Some(value as i64 as f64),
            Value::Handle { value, .. } | Value::Address(value, _) | Value::Wild(value) => Some(value as f64),
            Value::Null => Some(0.0),
            Value::Pointee(_, ref to) => to.number(),
            _ => None,
        }
    }

    /// What it leads to, if it is a pointer.
    pub fn target(&self) -> &Value {
        match self {
            Value::Pointee(_, to) => to,
            other => other,
        }
    }
}

impl Fields {
    /// The fields by name, in order. What has no name (`_1`) is what it holds; a union of which nothing tells
    /// what it holds is `union`, and left out when all its bytes are 0.
    pub fn named(&self) -> Vec<(&'static str, &Value)> {
        let mut named = Vec::with_capacity(self.values.len());
        for (n, value) in &self.values {
            let name = self.of.fields.get(usize::from(*n)).map_or("?", |f| f.name);
            let nameless = name.strip_prefix('_').is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
            match value {
                Value::Struct(inner) if nameless && !inner.cut => named.extend(inner.named()),
                Value::Bytes(bytes) if nameless && bytes.iter().all(|b| *b == 0) => {}
                Value::Bytes(_) if nameless => named.push(("union", value)),
                _ => named.push((name, value)),
            }
        }
        named
    }
}

/// Name of an enum's value.
pub fn name_of(of: &'static known::Enum, value: i64) -> Option<&'static str> {
    // A status is nearly always the first value, success.
    if let Some((_, name)) = of.values.first().filter(|(number, _)| *number == value) {
        return Some(name);
    }
    let find = |v: i64| {
        let place = of.values.partition_point(|(number, _)| *number < v);
        of.values.get(place).filter(|(number, _)| *number == v).map(|(_, name)| *name)
    };
    // Headers write some of them without a sign.
    find(value).or_else(|| find(i64::from(value as u32)))
}

/// Names of the flags that are set, and the bits without a name.
pub fn flags_of(of: &'static known::Enum, value: u64) -> (Vec<&'static str>, u64) {
    if let Some(name) = name_of(of, value as i64).filter(|_| value & !of.number == 0 || of.number == 0) {
        return (vec![name], 0);
    }
    // All bits are no set that somebody has put together.
    if value == u64::from(u32::MAX) || value == u64::MAX {
        return (Vec::new(), value);
    }
    let (mut names, mut unnamed_bits) = (Vec::new(), value);
    // The number first in mind, last in the list: it stands for the low bits.
    let number = (of.number != 0).then(|| name_of(of, (value & of.number) as i64)).flatten();
    if number.is_some() {
        unnamed_bits &= !of.number;
    }
    // The largest first: a name may stand for several bits. Of several names for the same the first.
    for (n, &(bits, name)) in of.values.iter().enumerate().rev() {
        let alias = n.checked_sub(1).and_then(|before| of.values.get(before)).is_some_and(|b| b.0 == bits);
        let bits = bits as u64;
        if bits != 0 && !alias && bits & of.number == 0 && unnamed_bits & bits == bits {
            names.push(name);
            unnamed_bits &= !bits;
        }
    }
    names.extend(number);
    names.reverse();
    (names, unnamed_bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    static FLAGS: known::Enum = known::Enum {
        name: "flags",
        bytes: 4,
        number: 0,
        values: &[(1, "ONE"), (1, "OLD_ONE"), (2, "TWO"), (4, "FOUR"), (4, "OLD_FOUR")],
    };

    #[test]
    fn of_several_names_the_first() {
        assert_eq!(flags_of(&FLAGS, 1), (vec!["ONE"], 0));
        assert_eq!(flags_of(&FLAGS, 5), (vec!["ONE", "FOUR"], 0));
        assert_eq!(flags_of(&FLAGS, 14), (vec!["TWO", "FOUR"], 8));
    }

    #[test]
    fn a_number_among_flags_and_all_bits() {
        static WAIT: known::Enum = known::Enum {
            name: "wait",
            bytes: 4,
            number: 3,
            values: &[(0, "GEQ"), (1, "EQ"), (2, "AND"), (3, "NOR"), (64, "FLUSH")],
        };
        assert_eq!([0, 1, 3].map(|n| flags_of(&WAIT, n).0), [["GEQ"], ["EQ"], ["NOR"]]);
        assert_eq!(flags_of(&WAIT, 64), (vec!["GEQ", "FLUSH"], 0), "0 is a number with a name");
        assert_eq!(flags_of(&WAIT, 64 + 32 + 3), (vec!["NOR", "FLUSH"], 32));
        assert_eq!(flags_of(&FLAGS, u64::from(u32::MAX)), (vec![], u64::from(u32::MAX)));
        assert_eq!(flags_of(&FLAGS, u64::MAX), (vec![], u64::MAX));
    }
}
