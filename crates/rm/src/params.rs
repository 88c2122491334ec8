//! A struct that is filled by the names of its fields.

use crate::{Error, Record, Tables};
use alloc::vec;
use alloc::vec::Vec;

/// The bytes of a struct, all zero at first, with its layout.
///
/// ```
/// use cutap_rm::{Params, Tables};
/// # fn main() -> Result<(), cutap_rm::Error> {
/// let tables = Tables::select("580.142").ok_or(cutap_rm::Error::NoRecord)?.tables;
/// let mut params = Params::new(tables, "NVOS54_PARAMETERS")?;
/// params.set("hClient", 0xc1d0_0001)?.set("cmd", 0x2080_0110)?.set("paramsSize", 72)?;
/// assert_eq!(params.bytes().len(), 32);
/// assert_eq!(params.bytes().get(24), Some(&72));
/// assert_eq!(params.get("status")?, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Params {
    record: Record,
    bytes: Vec<u8>,
}

impl Params {
    /// A struct by name.
    ///
    /// # Errors
    /// The release has none of this name.
    pub fn new(tables: Tables, record: &str) -> Result<Self, Error> {
        tables.record(record).map(Self::of).ok_or(Error::NoRecord)
    }

    /// A struct, such as [`Control::params`](crate::Control::params).
    #[must_use]
    pub fn of(record: Record) -> Self {
        Self { record, bytes: vec![0; record.size()] }
    }

    /// Sets a number: `hClient`, `hUserdMemory[2]`, `params.flags`.
    ///
    /// # Errors
    /// There is no such number, or the value does not fit.
    pub fn set(&mut self, path: &str, value: u64) -> Result<&mut Self, Error> {
        self.record.place(path)?.put(&mut self.bytes, value)?;
        Ok(self)
    }

    /// Sets the bytes of an array or a struct from its beginning: a UUID, a text.
    ///
    /// # Errors
    /// There is no such field, or it has fewer bytes.
    pub fn set_bytes(&mut self, path: &str, value: &[u8]) -> Result<&mut Self, Error> {
        let place = self.record.place(path)?;
        if value.len() > place.size {
            return Err(Error::TooLarge);
        }
        let into = self.bytes.get_mut(place.offset..).and_then(|b| b.get_mut(..value.len())).ok_or(Error::Short)?;
        into.copy_from_slice(value);
        Ok(self)
    }

    /// A number.
    ///
    /// # Errors
    /// There is no such number.
    pub fn get(&self, path: &str) -> Result<u64, Error> {
        let place = self.record.place(path)?;
        place.take(&self.bytes).ok_or(if place.is_number { Error::Short } else { Error::NotANumber })
    }

    /// The layout.
    #[must_use]
    pub fn record(&self) -> Record {
        self.record
    }

    /// All bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// All bytes, for the driver to write to.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}
