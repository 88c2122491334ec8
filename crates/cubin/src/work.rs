//! A limit of what a reader may look at. Parts of a damaged image may overlap: a small image then has many large parts,
//! or many long names. A reader takes each part from a number that the size of the image determines.

use crate::LARGEST;
use crate::error::{Result, damaged};

/// Bytes that may still be looked at.
#[derive(Debug)]
pub struct Work(u64);

impl Work {
    /// For code of this size. A reader looks at each byte once or twice; names may share their ends.
    pub fn of(image: &[u8]) -> Self {
        Self(image.len() as u64 * 8 + (1 << 16))
    }

    /// For all unpacked code of an image.
    pub fn unpacking() -> Self {
        Self(LARGEST)
    }

    /// # Errors
    /// It is more than the limit.
    pub fn take(&mut self, bytes: u64) -> Result<()> {
        self.0 = self.0.checked_sub(bytes).ok_or_else(|| damaged("its parts overlap"))?;
        Ok(())
    }
}
