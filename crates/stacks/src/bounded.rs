//! Reads a file in pieces, and no more than a limit in all. The numbers that say how much is to be read stand in the
//! file itself, and a file with holes may say any number.

use object::{ReadCache, ReadRef};
use std::cell::Cell;
use std::fs::File;
use std::ops::Range;

pub struct Bounded {
    file: ReadCache<File>,
    remaining: Cell<u64>,
}

impl Bounded {
    /// Reads at most `most` bytes.
    pub fn new(file: File, most: u64) -> Bounded {
        Bounded { file: ReadCache::new(file), remaining: Cell::new(most) }
    }

    fn take(&self, bytes: u64) -> Result<(), ()> {
        // More than the file holds is refused before there is memory for it.
        let length = ReadRef::len(&self.file)?;
        self.remaining.set(self.remaining.get().checked_sub(bytes).filter(|_| bytes <= length).ok_or(())?);
        Ok(())
    }
}

impl std::fmt::Debug for Bounded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bounded").field("remaining", &self.remaining).finish_non_exhaustive()
    }
}

impl<'data> ReadRef<'data> for &'data Bounded {
    fn len(self) -> Result<u64, ()> {
        ReadRef::len(&self.file)
    }
    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'data [u8], ()> {
        self.take(size)?;
        self.file.read_bytes_at(offset, size)
    }
    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'data [u8], ()> {
        self.file.read_bytes_at_until(range, delimiter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_the_limit_is_read() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(100 << 30).unwrap();
        let bounded = Bounded::new(file, 1 << 20);
        let read = |bytes| (&bounded).read_bytes_at(0, bytes).is_ok();
        assert_eq!([50 << 30, 200 << 30, 1 << 19, 1 << 18, 1 << 19].map(read), [false, false, true, true, false]);
    }
}
