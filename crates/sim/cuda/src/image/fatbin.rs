//! Fat binaries: a header, then entries. Each entry is code for one architecture, plain or compressed with LZ4 or
//! Zstandard. The reader chooses the entry that an H200 would run. If there is none, it takes any entry, because no
//! code runs here.

use super::{Image, Memory, part, u16_at, u32_at, u64_at};
use crate::abi::{Answer, Fault};
use std::io::Read;

pub const MAGIC: u32 = 0xba55ed50;
const HEAD: u64 = 16;

const PTX: u16 = 1;
const ELF: u16 = 2;
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
/// The simulated device.
const ARCHITECTURE: u32 = 90;

struct Entry<'a> {
    kind: u16,
    architecture: u32,
    flags: u64,
    /// Size of the content after decompression.
    full_size: u64,
    content: &'a [u8],
}

pub fn read(at: Memory) -> Answer<Image> {
    let head = at.bytes(HEAD)?;
    let len = u64::from(u16_at(head, 6)?).checked_add(u64_at(head, 8)?).ok_or(Fault::INVALID_IMAGE)?;
    read_bytes(at.bytes(len)?)
}

pub fn read_bytes(all: &[u8]) -> Answer<Image> {
    let mut rest = all.get(usize::from(u16_at(all, 6)?)..).ok_or(Fault::INVALID_IMAGE)?;
    let mut entries = Vec::new();
    while rest.len() >= 64 {
        let (head, size) = (u64::from(u32_at(rest, 4)?), u64_at(rest, 8)?);
        let packed = u64::from(u32_at(rest, 16)?);
        entries.push(Entry {
            kind: u16_at(rest, 0)?,
            architecture: u32_at(rest, 28)?,
            flags: u64_at(rest, 40)?,
            full_size: u64_at(rest, 56)?,
            content: part(rest, head, if packed > 0 { packed } else { size })?,
        });
        let next = head.checked_add(size).filter(|n| *n > 0).ok_or(Fault::INVALID_IMAGE)?;
        rest = rest.get(next as usize..).unwrap_or_default();
    }
    let best = entries.iter().filter(|e| matches!(e.kind, PTX | ELF)).max_by_key(|e| e.fitness());
    best.ok_or(Fault::NO_BINARY_FOR_GPU)?.image()
}

impl Entry<'_> {
    /// Machine code for this architecture or an older one of its family, then the newest PTX that it can take.
    fn fitness(&self) -> (u32, u32) {
        let (own, theirs) = (ARCHITECTURE, self.architecture);
        match self.kind {
            ELF if theirs / 10 == own / 10 && theirs <= own => (3, theirs),
            PTX if theirs <= own => (2, theirs),
            _ => (1, theirs),
        }
    }

    fn image(&self) -> Answer<Image> {
        let full = usize::try_from(self.full_size).map_err(|_| Fault::INVALID_IMAGE)?;
        let unpacked = if self.flags & LZ4 != 0 {
            lz4_flex::block::decompress(self.content, full).map_err(|_| Fault::INVALID_IMAGE)?
        } else if self.flags & ZSTD != 0 {
            let mut stream = ruzstd::decoding::StreamingDecoder::new(self.content).map_err(|_| Fault::INVALID_IMAGE)?;
            let mut unpacked = Vec::new();
            stream.read_to_end(&mut unpacked).map_err(|_| Fault::INVALID_IMAGE)?;
            unpacked
        } else {
            return super::read_bytes(self.content);
        };
        super::read_bytes(&unpacked)
    }
}
