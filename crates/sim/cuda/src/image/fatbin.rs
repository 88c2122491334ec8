//! Fat binaries: a header, then entries. Each entry is code for one architecture, plain or compressed with LZ4 or
//! Zstandard. The reader chooses the entry that an H200 would run. If there is none, it takes any entry, because no
//! code runs here. Of the others it reads only the headers: fat binaries may be large.

use super::source::Source;
use super::work::Work;
use super::{Image, LARGEST, elf, ptx, u16_at, u32_at, u64_at};
use crate::abi::{Answer, Fault};
use std::borrow::Cow;
use std::io::Read;

pub const MAGIC: u32 = 0xba55ed50;
const HEAD: u64 = 16;
const ENTRY_HEAD: u64 = 64;

const PTX: u16 = 1;
const ELF: u16 = 2;
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
/// One byte of LZ4 becomes at most so many.
const LZ4_RATIO: u64 = 255;
/// The simulated device.
const ARCHITECTURE: u32 = 90;

struct Entry {
    kind: u16,
    architecture: u32,
    flags: u64,
    /// Size of the content after decompression.
    full_size: u64,
    /// Where the content begins, and its bytes.
    start: u64,
    len: u64,
}

pub fn read(source: Source<'_>, work: &mut Work) -> Answer<Image> {
    let head = source.part(0, HEAD)?;
    let mut at = u64::from(u16_at(&head, 6)?);
    let end = at.checked_add(u64_at(&head, 8)?).ok_or(Fault::INVALID_IMAGE)?;
    if source.len().is_some_and(|len| len < end) {
        return Err(Fault::INVALID_IMAGE);
    }
    let mut best = None;
    while at.checked_add(ENTRY_HEAD).is_some_and(|after| after <= end) {
        let head = source.part(at, ENTRY_HEAD)?;
        let (size, next) = (u64::from(u32_at(&head, 4)?), u64_at(&head, 8)?);
        let (packed, start) = (u64::from(u32_at(&head, 16)?), at + size);
        let entry = Entry {
            kind: u16_at(&head, 0)?,
            architecture: u32_at(&head, 28)?,
            flags: u64_at(&head, 40)?,
            full_size: u64_at(&head, 56)?,
            start,
            len: if packed > 0 { packed } else { next },
        };
        let inside = start.checked_add(entry.len).is_some_and(|after| after <= end);
        // An entry is at least its header. So a small image has few entries, which do not overlap.
        let next = start.checked_add(next).filter(|_| inside && size >= ENTRY_HEAD);
        at = next.ok_or(Fault::INVALID_IMAGE)?;
        let fitness = entry.fitness();
        if matches!(entry.kind, PTX | ELF) && best.as_ref().is_none_or(|(most, _)| *most <= fitness) {
            best = Some((fitness, entry));
        }
    }
    best.ok_or(Fault::NO_BINARY_FOR_GPU)?.1.image(source, work)
}

impl Entry {
    /// Machine code for this architecture or an older one of its family, then the newest PTX that it can take.
    fn fitness(&self) -> (u32, u32) {
        let (own, theirs) = (ARCHITECTURE, self.architecture);
        match self.kind {
            ELF if theirs / 10 == own / 10 && theirs <= own => (3, theirs),
            PTX if theirs <= own => (2, theirs),
            _ => (1, theirs),
        }
    }

    fn image(&self, source: Source<'_>, work: &mut Work) -> Answer<Image> {
        let content = source.part(self.start, self.len)?;
        let code = self.unpacked(content, work)?;
        match (self.kind, u32_at(&code, 0)?) {
            (ELF, elf::MAGIC) => elf::read(&code),
            (PTX, _) => ptx::read(&Source::Bytes(&code).text()?),
            _ => Err(Fault::INVALID_IMAGE),
        }
    }

    fn unpacked<'a>(&self, content: Cow<'a, [u8]>, work: &mut Work) -> Answer<Cow<'a, [u8]>> {
        if self.flags & (LZ4 | ZSTD) == 0 {
            return Ok(content);
        }
        let full = self.full_size;
        if full > LARGEST {
            return Err(Fault::INVALID_IMAGE);
        }
        work.take(full)?;
        let unpacked = if self.flags & LZ4 != 0 {
            if full > content.len() as u64 * LZ4_RATIO {
                return Err(Fault::INVALID_IMAGE);
            }
            lz4_flex::block::decompress(&content, full as usize).map_err(|_| Fault::INVALID_IMAGE)?
        } else {
            zstd(&content, full)?
        };
        if unpacked.len() as u64 == full { Ok(Cow::Owned(unpacked)) } else { Err(Fault::INVALID_IMAGE) }
    }
}

/// At most `full` bytes, and some more if there are more.
fn zstd(content: &[u8], full: u64) -> Answer<Vec<u8>> {
    let mut stream = ruzstd::decoding::StreamingDecoder::new(content).map_err(|_| Fault::INVALID_IMAGE)?;
    // In small pieces: the decoder buffers all bytes of a request.
    let (mut unpacked, mut piece) = (Vec::new(), vec![0; 1 << 16]);
    while unpacked.len() as u64 <= full {
        let count = stream.read(&mut piece).map_err(|_| Fault::INVALID_IMAGE)?;
        if count == 0 {
            break;
        }
        unpacked.extend_from_slice(&piece[..count]);
    }
    Ok(unpacked)
}
