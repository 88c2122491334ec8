//! Where an image is.

use std::borrow::Cow;

/// Bytes that hold all of an image, or memory where only its content gives its length.
pub trait Source {
    /// A part of the image; none for one outside of the image or of memory, and for one that is too large.
    fn part(&self, offset: u64, length: u64) -> Option<Cow<'_, [u8]>>;

    /// The length, where it is known.
    fn length(&self) -> Option<u64>;
}

impl Source for [u8] {
    fn part(&self, offset: u64, length: u64) -> Option<Cow<'_, [u8]>> {
        let end = usize::try_from(offset.checked_add(length)?).ok()?;
        self.get(offset as usize..end).map(Cow::Borrowed)
    }

    fn length(&self) -> Option<u64> {
        Some(self.len() as u64)
    }
}

/// The number in `N` bytes of an image.
pub fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let part = bytes.get(at..)?.first_chunk::<N>()?;
    Some(part.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}
