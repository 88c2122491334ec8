//! Fields by name, and numbers in bytes: what a writer needs, without allocation. Look a place up once and keep it.

use crate::Error;
use crate::record::{Field, Form, Kind, Record};
use crate::tables::Tables;

/// Where a number or an array is in the bytes of a struct.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its first byte.
    pub offset: usize,
    /// How one number is stored.
    pub form: Form,
    /// First bit and number of bits, for a bit field.
    pub bits: Option<(u32, u32)>,
    /// All its bytes: of one number, of an array, or of a struct.
    pub size: usize,
    /// What the number means.
    pub kind: Kind,
    /// Whether it is one number, which [`Place::put`] can write.
    pub is_number: bool,
}

impl Tables {
    /// The place of a field, such as `hClient`, `hUserdMemory[2]`, `params.status` or `perGpuAttributes[1].gpuUuid`.
    ///
    /// # Errors
    /// There is no such struct or field, or an index is too large.
    pub fn place(self, record: &str, path: &str) -> Result<Place, Error> {
        self.record(record).ok_or(Error::NoRecord)?.place(path)
    }
}

impl Record {
    /// The place of a field, as [`Tables::place`] finds it.
    ///
    /// # Errors
    /// There is no such field, or an index is too large.
    pub fn place(self, path: &str) -> Result<Place, Error> {
        let (mut record, mut from) = (self, 0_usize);
        let mut steps = path.split('.').peekable();
        while let Some(step) = steps.next() {
            let (name, indices) = step.split_once('[').map_or((step, None), |(name, rest)| (name, Some(rest)));
            let (field, offset) = record.field(name).ok_or(Error::NoField)?;
            let (skip, left) = element(field, indices)?;
            let offset = from.checked_add(offset).and_then(|at| at.checked_add(skip)).ok_or(Error::NoField)?;
            if steps.peek().is_none() {
                let number = left == 1 && field.record().is_none();
                let size = left.checked_mul(field.element_size()).ok_or(Error::NoField)?;
                let (form, kind, bits) = (field.form(), field.kind(), field.bits());
                let whole = field.elements().is_some() && indices.is_none();
                return Ok(Place { offset, form, bits, size, kind, is_number: number && !whole });
            }
            record = field.record().filter(|_| left == 1).ok_or(Error::NoField)?;
            from = offset;
        }
        Err(Error::NoField)
    }
}

/// The bytes before the element that `1][2]` means, and how many elements are left of the array.
fn element(field: Field, indices: Option<&str>) -> Result<(usize, usize), Error> {
    let mut left = field.elements().unwrap_or(1);
    let mut skip = 0_usize;
    let Some(indices) = indices else { return Ok((0, left)) };
    let mut counts = field.counts();
    for index in indices.split('[') {
        let index: usize = index.strip_suffix(']').and_then(|i| i.parse().ok()).ok_or(Error::NoField)?;
        let count = counts.next().ok_or(Error::NoField)?;
        if index >= count {
            return Err(Error::Index);
        }
        left /= count.max(1);
        skip = index.checked_mul(left).and_then(|n| skip.checked_add(n)).ok_or(Error::Index)?;
    }
    Ok((skip.checked_mul(field.element_size()).ok_or(Error::Index)?, left))
}

impl Place {
    /// Writes the number. A negative one is its two's complement.
    ///
    /// # Errors
    /// It is no single number, the number does not fit, or the bytes end before it.
    pub fn put(self, bytes: &mut [u8], value: u64) -> Result<(), Error> {
        if !self.is_number {
            return Err(Error::NotANumber);
        }
        let width = self.bits.map_or(self.form.size() as u32 * 8, |(_, bits)| bits);
        if !fits(value, width, self.form.is_signed()) {
            return Err(Error::TooLarge);
        }
        let size = self.form.size();
        let into = self.offset.checked_add(size).and_then(|end| bytes.get_mut(self.offset..end)).ok_or(Error::Short)?;
        let value = match self.bits {
            Some((bit, bits)) => read(into) & !(mask(bits) << bit) | (value & mask(bits)) << bit,
            None => value,
        };
        into.iter_mut().zip(value.to_le_bytes()).for_each(|(to, from)| *to = from);
        Ok(())
    }

    /// Reads the number; of a signed form its sign is kept, as two's complement. None where the bytes end before it or
    /// it is no single number.
    #[must_use]
    pub fn take(self, bytes: &[u8]) -> Option<u64> {
        if !self.is_number {
            return None;
        }
        let from = bytes.get(self.offset..self.offset.checked_add(self.form.size())?)?;
        Some(number(from, self.form, self.bits))
    }
}

/// A number of at most eight bytes.
pub(crate) fn read(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// A field's number, with its sign.
pub(crate) fn number(bytes: &[u8], form: Form, bits: Option<(u32, u32)>) -> u64 {
    let value = read(bytes);
    let (value, width) = match bits {
        Some((bit, bits)) => (value >> bit & mask(bits), bits),
        None => (value, form.size() as u32 * 8),
    };
    let negative = form.is_signed() && width > 0 && value >> (width - 1) & 1 != 0;
    if negative { value | !mask(width) } else { value }
}

/// The low bits.
pub(crate) const fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

fn fits(value: u64, width: u32, signed: bool) -> bool {
    let negative = width > 0 && value | mask(width - 1) == u64::MAX;
    value <= mask(width) || signed && negative
}
