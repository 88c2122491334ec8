//! Submitted work: entries of a GPFIFO ring, methods of a command stream, and launch descriptors (QMD).
//!
//! ```
//! use cutap_rm::submit::{Entry, Stream, class_of_methods, descriptor};
//! let entry = Entry::of(0x0003_7202_0080_0000);
//! assert_eq!((entry.address, entry.words), (0x2_0080_0000, 220));
//! // SET_OBJECT of subchannel 1, then one word for SEND_PCAS_A.
//! let words = [0x2001_2000, 0xcbc0, 0x2001_20ad, 0x204_e0c8];
//! let mut methods = Stream::new(&words);
//! assert_eq!(methods.next().map(|m| (m.subchannel, m.address, m.value)), Some((1, 0, 0xcbc0)));
//! let class = class_of_methods(0xcbc0);
//! assert_eq!(methods.next().and_then(|m| class?.name(m.address)), Some(("SEND_PCAS_A", None)));
//! assert_eq!(descriptor(0xcbc0).map(|d| (d.major, d.minor)), Some((4, 0)));
//! ```

use crate::generated_submission::{CLASSES, DESCRIPTORS};

/// An entry of a GPFIFO ring: where a piece of a command stream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// GPU address of the piece.
    pub address: u64,
    /// Its words of four bytes; 0: the entry is a control entry.
    pub words: u32,
    /// It is no piece of the main stream, but of a subroutine.
    pub level: bool,
    /// The host waits for the entry before it reads further ones.
    pub sync: bool,
    /// Of a control entry what it is.
    pub opcode: u8,
}

impl Entry {
    /// From the eight bytes of the ring.
    #[must_use]
    pub const fn of(word: u64) -> Self {
        let (low, high) = (word & 0xffff_ffff, word >> 32);
        let words = (high >> 10 & 0x1f_ffff) as u32;
        Self {
            address: low & !3 | (high & 0xff) << 32,
            words,
            level: high >> 9 & 1 != 0,
            sync: high >> 31 != 0,
            opcode: if words == 0 { (high & 0xff) as u8 } else { 0 },
        }
    }

    /// The eight bytes.
    #[must_use]
    pub const fn word(self) -> u64 {
        let high = self.address >> 32 & 0xff | (self.words as u64) << 10 | (self.level as u64) << 9;
        self.address & 0xffff_fffc | (high | (self.sync as u64) << 31 | self.opcode as u64) << 32
    }
}

/// One method: a value for a register of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Method {
    /// The subchannel, to which `SET_OBJECT` binds a class.
    pub subchannel: u8,
    /// Which register: its offset in bytes.
    pub address: u32,
    /// The value.
    pub value: u32,
    /// The place of the value among the words; of an immediate one that of the header.
    pub place: usize,
}

/// The methods of a piece of a command stream.
#[derive(Debug, Clone)]
pub struct Stream<'a> {
    words: &'a [u32],
    place: usize,
    /// What is left of the last header: words, subchannel, next address, how the address grows.
    open: (u32, u8, u32, Grow),
    /// Words that are no header.
    unknown: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grow {
    Always,
    Once,
    Never,
}

impl<'a> Stream<'a> {
    /// The methods of these words.
    #[must_use]
    pub const fn new(words: &'a [u32]) -> Self {
        Self { words, place: 0, open: (0, 0, 0, Grow::Never), unknown: 0 }
    }

    /// Words that were no header, so far.
    #[must_use]
    pub const fn unknown(&self) -> usize {
        self.unknown
    }
}

impl Iterator for Stream<'_> {
    type Item = Method;

    fn next(&mut self) -> Option<Method> {
        loop {
            let word = *self.words.get(self.place)?;
            let place = self.place;
            self.place += 1;
            let (left, subchannel, address, grow) = self.open;
            if left > 0 {
                let next = if grow == Grow::Never { address } else { address.wrapping_add(4) };
                let grow = if grow == Grow::Once { Grow::Never } else { grow };
                self.open = (left - 1, subchannel, next, grow);
                return Some(Method { subchannel, address, value: word, place });
            }
            let (count, subchannel) = (word >> 16 & 0x1fff, (word >> 13 & 7) as u8);
            let address = (word & 0xfff) << 2;
            match word >> 29 {
                1 => self.open = (count, subchannel, address, Grow::Always),
                3 => self.open = (count, subchannel, address, Grow::Never),
                4 => return Some(Method { subchannel, address, value: count, place }),
                5 => self.open = (count, subchannel, address, Grow::Once),
                // A word of zeros is padding.
                _ => self.unknown += usize::from(word != 0),
            }
        }
    }
}

/// A method's name.
#[derive(Debug)]
pub(crate) struct Name {
    pub(crate) at: u32,
    /// Bytes between the elements of an array; 0: it is none.
    pub(crate) step: u32,
    pub(crate) name: &'static str,
}

/// The methods of a class.
#[derive(Debug)]
pub struct Class {
    /// Its number.
    pub number: u32,
    /// Its name.
    pub name: &'static str,
    pub(crate) methods: &'static [Name],
}

/// Methods of the host, which every subchannel has, end here.
const HOST: u32 = 0x100;

impl Class {
    /// The name of a method, and the element where it is an array.
    #[must_use]
    pub fn name(&self, address: u32) -> Option<(&'static str, Option<u32>)> {
        let after = self.methods.partition_point(|m| m.at <= address);
        let mut before = self.methods.get(..after)?.iter().rev();
        let last = before.next()?;
        if last.step == 0 {
            return (last.at == address).then_some((last.name, None));
        }
        // The elements of two arrays may alternate, as those of CALL_MME_MACRO and CALL_MME_DATA do.
        let mut arrays = core::iter::once(last).chain(before.take_while(|m| m.step > 0));
        let found = arrays.find(|m| (address - m.at).is_multiple_of(m.step))?;
        Some((found.name, Some((address - found.at) / found.step)))
    }
}

/// The methods of a class: its own, else those of the nearest older class of the same kind.
#[must_use]
pub fn class_of_methods(number: u32) -> Option<&'static Class> {
    let is = |class: &&Class| class.number & 0xff == number & 0xff && class.number <= number;
    CLASSES.iter().filter(is).max_by_key(|class| class.number)
}

/// The name of a method of a subchannel that has this class; below 0x100 the host's are there too.
#[must_use]
pub fn method_name(class: u32, address: u32) -> Option<(&'static str, Option<u32>)> {
    let own = class_of_methods(class).and_then(|class| class.name(address));
    own.or_else(|| class_of_methods(0xc86f).filter(|_| address < HOST)?.name(address))
}

/// A field of a descriptor.
#[derive(Debug)]
pub(crate) struct Bits {
    pub(crate) high: u32,
    pub(crate) low: u32,
    /// Bits between the elements of an array; 0: it is none.
    pub(crate) step: u32,
    pub(crate) name: &'static str,
}

/// The layout of a launch descriptor.
#[derive(Debug)]
pub struct Descriptor {
    /// The compute class.
    pub class: u32,
    /// The version.
    pub major: u32,
    /// See `major`.
    pub minor: u32,
    pub(crate) fields: &'static [Bits],
}

/// Elements of an array at most.
const ELEMENTS: u32 = 8;

/// The layout of a compute class; none of one that is older than Ampere.
#[must_use]
pub fn descriptor(class: u32) -> Option<&'static Descriptor> {
    DESCRIPTORS.iter().filter(|d| d.class <= class).max_by_key(|d| d.class)
}

/// A field with its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldValue {
    /// Its name.
    pub name: &'static str,
    /// Its element, of an array.
    pub element: Option<u32>,
    /// First and last bit.
    pub bits: (u32, u32),
    /// Its value.
    pub value: u64,
}

impl Descriptor {
    /// The fields of a descriptor's words that are not 0. Fields of more than 64 bits are left out.
    pub fn fields<'a>(&'static self, words: &'a [u32]) -> impl Iterator<Item = FieldValue> + 'a {
        self.fields.iter().flat_map(move |f| (0..self.elements(f)).map(move |n| (f, n))).filter_map(move |(f, n)| {
            let (low, high) = (f.low + n * f.step, f.high + n * f.step);
            let value = bits(words, low, high).filter(|value| *value != 0)?;
            let element = (f.step != 0).then_some(n);
            Some(FieldValue { name: f.name, element, bits: (low, high), value })
        })
    }

    /// How many elements an array has: the header does not say. It ends where another field begins.
    fn elements(&self, of: &Bits) -> u32 {
        if of.step == 0 {
            return 1;
        }
        let taken = |n: u32| {
            let (low, high) = (of.low + n * of.step, of.high + n * of.step);
            self.fields.iter().any(|f| f.name != of.name && f.low <= high && f.high >= low)
        };
        (1..ELEMENTS).find(|n| taken(*n)).unwrap_or(ELEMENTS)
    }

    /// An array whose name begins so; behind it a name may have the bits by which its value is shifted.
    pub(crate) fn array(&'static self, prefix: &str) -> Option<Array> {
        let field = self.fields.iter().find(|f| f.step != 0 && f.name.starts_with(prefix))?;
        let shift = field.name.rsplit_once("_SHIFTED").and_then(|(_, bits)| bits.parse().ok()).unwrap_or(0);
        Some(Array { field, shift })
    }

    /// A field by name; element 0 of an array.
    #[must_use]
    pub fn get(&self, words: &[u32], name: &str) -> Option<u64> {
        let found = self.fields.iter().find(|f| f.name == name)?;
        bits(words, found.low, found.high)
    }
}

/// An array of a descriptor.
pub(crate) struct Array {
    field: &'static Bits,
    shift: u32,
}

impl Array {
    /// The value of an element; 0 where the words do not have it.
    pub(crate) fn get(&self, words: &[u32], n: u32) -> u64 {
        let Bits { low, high, step, .. } = self.field;
        bits(words, low + n * step, high + n * step).map_or(0, |value| value << self.shift)
    }
}

/// Bits `low` to `high` of some words.
fn bits(words: &[u32], low: u32, high: u32) -> Option<u64> {
    let length = high.checked_sub(low)? + 1;
    if length > 64 {
        return None;
    }
    let mut value = 0_u64;
    let mut done = 0;
    while done < length {
        let at = low + done;
        let word = *words.get((at / 32) as usize)?;
        let part = (32 - at % 32).min(length - done);
        let mask = if part == 32 { u32::MAX } else { (1 << part) - 1 };
        value |= u64::from(word >> (at % 32) & mask) << done;
        done += part;
    }
    Some(value)
}
