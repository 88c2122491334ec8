//! The images that the linker of this driver makes: a magic number, the total length in bytes, then each image after
//! its length.

use super::source::Source;
use super::{Image, piece};
use crate::abi::{Answer, Fault};
use crate::engine::refused;
use crate::generated::limited;
use cutap_cubin::{Work, is_elf, number};

pub const MAGIC: u32 = u32::from_le_bytes(*b"cutL");
const HEAD: u64 = 16;

/// Combines images. A single piece of machine code stays unchanged. Linked images become their pieces.
pub fn link(images: &[Vec<u8>]) -> Vec<u8> {
    if let [one] = images
        && is_elf(one)
    {
        return one.clone();
    }
    let mut linked = [u64::from(MAGIC).to_le_bytes(), [0; 8]].concat();
    for image in images {
        if is_linked(image) {
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

fn is_linked(image: &[u8]) -> bool {
    number::<4>(image, 0) == Some(MAGIC.into())
}

pub fn read(source: Source<'_>, work: &mut Work) -> Answer<Image> {
    let length = |bytes: &[u8], at: u64| number::<8>(bytes, at as usize).ok_or(Fault::INVALID_IMAGE);
    let end = length(&source.bytes(0, HEAD)?, 8)?;
    let bytes = source.bytes(0, end)?;
    let parts = Source::Bytes(&bytes);
    let mut all = Image::default();
    let mut at = HEAD;
    while at < end {
        let size = length(&bytes, at)?;
        let image = parts.bytes(at + 8, size)?;
        if is_linked(&image) {
            return Err(Fault::INVALID_IMAGE);
        }
        let image = piece(Source::Bytes(&image), work)?;
        if at == HEAD {
            all = image;
        } else {
            // Two pieces of machine code would need a linker.
            refused::on_gpus(limited::LINK_COMPLETE)?;
            all.kernels.extend(image.kernels);
            all.variables.extend(image.variables);
        }
        at += 8 + size;
    }
    Ok(all)
}
