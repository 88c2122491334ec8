//! A limit of what a reader may look at. Parts of a damaged cubin may overlap: a small file then has many large parts,
//! or many long names. A reader takes each part from a number that the size of the file determines.

use crate::error::{Error, Result};

/// Bytes that may still be looked at.
pub(super) struct Work(u64);

impl Work {
    /// For a file of this size. A reader looks at each byte once or twice; names may share their ends.
    pub fn of(data: &[u8]) -> Self {
        Self(data.len() as u64 * 8 + (1 << 16))
    }

    /// # Errors
    /// It is more than the limit.
    pub fn take(&mut self, bytes: u64) -> Result<()> {
        self.0 = self.0.checked_sub(bytes).ok_or_else(|| Error::BadCubin("its parts overlap".to_owned()))?;
        Ok(())
    }
}
