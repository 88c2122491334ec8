//! The packed tables, as `crates/registry` writes them: sections of records of fixed size, all numbers little endian.
//! A number that leads outside gives an empty record, never a panic. Knows no meaning.
//!
//! | section | record |
//! | --- | --- |
//! | texts | length in two bytes, then UTF-8 |
//! | structs | name, size, first field, number of fields, 1 for a union |
//! | fields | name, type, offset; form, kind, first bit, bits in a byte each; three counts; struct, enum, pointer |
//! | enums | name, first value, number of values |
//! | values | name; value in eight bytes |
//! | pointers | target, form, direction, 0 in a byte each; element, struct, selector, two counts, fixed count |
//! | rows | number, name, parameters, struct, other struct, size, privilege, properties, rights |
//! | names | name, struct |
//! | releases | version; first and number of places in `index` for each list |
//! | index | place in rows or names |
//! | cuda | branch, major, minor |

/// The tables.
static BYTES: &[u8] = include_bytes!("generated/tables.bin");

/// No record.
pub(crate) const NONE: u32 = u32::MAX;

/// A section, in the order of the file.
#[derive(Clone, Copy)]
pub(crate) enum Section {
    Texts,
    Structs,
    Fields,
    Enums,
    Values,
    Pointers,
    Rows,
    Names,
    Releases,
    Index,
    Cuda,
}

impl Section {
    const fn record_size(self) -> usize {
        match self {
            Self::Texts => 1,
            Self::Structs => 20,
            Self::Fields => 40,
            Self::Enums | Self::Values | Self::Cuda => 12,
            Self::Pointers => 28,
            Self::Rows => 36,
            Self::Names => 8,
            Self::Releases => 4 + 7 * 8,
            Self::Index => 4,
        }
    }

    fn bytes(self) -> &'static [u8] {
        let head = Bytes(BYTES.get(8 + self as usize * 8..).unwrap_or_default());
        let (from, length) = (head.word(0) as usize, head.word(4) as usize);
        from.checked_add(length).and_then(|end| BYTES.get(from..end)).unwrap_or_default()
    }

    /// How many records it has.
    pub(crate) fn count(self) -> u32 {
        u32::try_from(self.bytes().len() / self.record_size()).unwrap_or(0)
    }

    /// A record; none for `NONE` and other numbers that lead outside.
    pub(crate) fn get(self, at: u32) -> Option<Bytes> {
        let size = self.record_size();
        let from = (at as usize).checked_mul(size)?;
        self.bytes().get(from..from.checked_add(size)?).map(Bytes)
    }
}

/// A record.
#[derive(Clone, Copy)]
pub(crate) struct Bytes(&'static [u8]);

impl Bytes {
    /// Four bytes; 0 outside.
    pub(crate) fn word(self, at: usize) -> u32 {
        self.0.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b))
    }

    /// Eight bytes; 0 outside.
    pub(crate) fn long(self, at: usize) -> i64 {
        self.0.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| i64::from_le_bytes(*b))
    }

    pub(crate) fn byte(self, at: usize) -> u8 {
        self.0.get(at).copied().unwrap_or(0)
    }

    /// The text whose place is at `at`.
    pub(crate) fn text(self, at: usize) -> &'static str {
        let texts = Section::Texts.bytes().get(self.word(at) as usize..).unwrap_or_default();
        let Some((length, rest)) = texts.split_first_chunk() else { return "" };
        let text = rest.get(..usize::from(u16::from_le_bytes(*length))).unwrap_or_default();
        core::str::from_utf8(text).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_of_this_layout() {
        assert_eq!(BYTES.get(..8), Some(&b"CUTAPRM\x01"[..]));
        for (section, least) in
            [(Section::Structs, 2000), (Section::Fields, 10_000), (Section::Rows, 2000), (Section::Releases, 10)]
        {
            assert!(section.count() >= least);
            assert_eq!(section.bytes().len() % section.record_size(), 0);
            assert!(section.get(section.count()).is_none() && section.get(NONE).is_none());
        }
    }
}
