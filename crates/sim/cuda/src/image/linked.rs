//! The images that the linker of this driver makes: a magic number, the total length in bytes, then each image after
//! its length.

use super::source::Source;
use super::work::Work;
use super::{Image, elf, part, piece, u32_at, u64_at};
use crate::abi::{Answer, Fault};

pub const MAGIC: u32 = u32::from_le_bytes(*b"cutL");
const HEAD: u64 = 16;

/// Combines images. A single piece of machine code stays unchanged. Linked images become their pieces.
pub fn link(images: &[Vec<u8>]) -> Vec<u8> {
    if let [one] = images
        && u32_at(one, 0) == Ok(elf::MAGIC)
    {
        return one.clone();
    }
    let mut linked = [u64::from(MAGIC).to_le_bytes(), [0; 8]].concat();
    for image in images {
        if u32_at(image, 0) == Ok(MAGIC) {
            linked.extend_from_slice(image.get(HEAD as usize..).unwrap_or_default());
        } else {
            linked.extend_from_slice(&(image.len() as u64).to_le_bytes());
            linked.extend_from_slice(image);
        }
    }
    let len = linked.len() as u64;
    linked[8..16].copy_from_slice(&len.to_le_bytes());
    linked
}

pub fn read(source: Source<'_>, work: &mut Work) -> Answer<Image> {
    let len = u64_at(&source.part(0, HEAD)?, 8)?;
    let bytes = source.part(0, len)?;
    let mut all = Image::default();
    let mut at = HEAD;
    while at < len {
        let size = u64_at(&bytes, at as usize)?;
        let one = part(&bytes, at + 8, size)?;
        if u32_at(one, 0)? == MAGIC {
            return Err(Fault::INVALID_IMAGE);
        }
        let one = piece(Source::Bytes(one), work)?;
        all.kernels.extend(one.kernels);
        all.variables.extend(one.variables);
        at += 8 + size;
    }
    Ok(all)
}
