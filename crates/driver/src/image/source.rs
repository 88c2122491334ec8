//! Where an image is: at an address of the program, where only its content determines its length, or in bytes that
//! hold all of it.

use crate::abi::{Answer, Fault, copied, copied_text};
use cutap_cubin::LARGEST;
use std::borrow::Cow;

#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// Memory of the program is copied before it is read. It may end early, and another thread may change it.
    Program(u64),
    Bytes(&'a [u8]),
}

impl<'a> Source<'a> {
    /// For an address that a program passed as an image.
    pub fn at(address: u64) -> Answer<Self> {
        if address == 0 { Err(Fault::INVALID_VALUE) } else { Ok(Source::Program(address)) }
    }

    /// INVALID_IMAGE for a part outside the image or outside of memory, and for one that is too large.
    pub fn bytes(&self, offset: u64, length: u64) -> Answer<Cow<'_, [u8]>> {
        cutap_cubin::Source::part(self, offset, length).ok_or(Fault::INVALID_IMAGE)
    }

    /// The text up to its zero.
    pub fn text(self) -> Answer<Cow<'a, [u8]>> {
        match self {
            Source::Bytes(bytes) => Ok(Cow::Borrowed(bytes.split(|byte| *byte == 0).next().unwrap_or(bytes))),
            Source::Program(address) => {
                copied_text(address, LARGEST as usize).map(Cow::Owned).map_err(|_| Fault::INVALID_IMAGE)
            }
        }
    }
}

impl cutap_cubin::Source for Source<'_> {
    fn part(&self, offset: u64, length: u64) -> Option<Cow<'_, [u8]>> {
        match *self {
            Source::Bytes(bytes) => bytes.part(offset, length),
            Source::Program(_) if length > LARGEST => None,
            Source::Program(address) => copied(address.checked_add(offset)?, length).map(Cow::Owned).ok(),
        }
    }

    fn length(&self) -> Option<u64> {
        match self {
            Source::Bytes(bytes) => Some(bytes.len() as u64),
            Source::Program(_) => None,
        }
    }
}
