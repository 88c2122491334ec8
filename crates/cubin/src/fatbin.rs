//! Fat binaries: a header, then entries. Each is machine code or PTX for one architecture, plain or compressed with LZ4
//! or Zstandard. Listing them reads only their headers: fat binaries may be large.

use crate::error::{Error, Result};
use crate::source::{Source, number};
use crate::work::Work;
use crate::{LARGEST, elf};
use std::borrow::Cow;
use std::io::Read as _;

/// The first bytes of a fat binary.
pub const MAGIC: u32 = 0xba55_ed50;
const HEAD: u64 = 16;
const ENTRY_HEAD: u64 = 64;

const PTX: u64 = 1;
const ELF: u64 = 2;
/// Code for this architecture alone, as of sm_90a.
const SPECIFIC: u64 = 1 << 20;
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
/// One byte of LZ4 becomes at most so many.
const LZ4_RATIO: u64 = 255;

/// What an entry holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Ptx,
    Cubin,
    Other,
}

/// An entry, as its header describes it.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    pub kind: Kind,
    /// The compute capability, without the dot.
    pub architecture: u32,
    flags: u64,
    /// Size of the content after decompression.
    full_size: u64,
    /// Where the content begins, and its bytes.
    start: u64,
    length: u64,
}

fn short() -> Error {
    damaged("it is shorter than its headers say")
}

fn damaged(reason: impl std::fmt::Display) -> Error {
    Error::Fatbin(reason.to_string())
}

/// Whether bytes begin as a fat binary.
pub fn is_fatbin(bytes: &[u8]) -> bool {
    number::<4>(bytes, 0) == Some(MAGIC.into())
}

/// The entries in order. The first error is the end.
///
/// # Errors
/// The header says more than there is.
pub fn entries<S: Source + ?Sized>(source: &S) -> Result<impl Iterator<Item = Result<Entry>>> {
    let head = source.part(0, HEAD).ok_or_else(short)?;
    let (start, length) = number::<2>(&head, 6).zip(number::<8>(&head, 8)).ok_or_else(short)?;
    let end = start.checked_add(length).ok_or_else(short)?;
    if source.length().is_some_and(|length| length < end) {
        return Err(short());
    }
    let mut at = Some(start);
    Ok(std::iter::from_fn(move || {
        let start = at.filter(|at| at.checked_add(ENTRY_HEAD).is_some_and(|after| after <= end))?;
        let entry = Entry::read(source, start, end);
        at = entry.map(|(_, next)| next);
        Some(entry.map(|(entry, _)| entry).ok_or_else(short))
    }))
}

impl Entry {
    /// The entry at an offset, and the offset of the next.
    fn read<S: Source + ?Sized>(source: &S, at: u64, end: u64) -> Option<(Self, u64)> {
        let head = source.part(at, ENTRY_HEAD)?;
        let (head_size, size, packed) = (number::<4>(&head, 4)?, number::<8>(&head, 8)?, number::<4>(&head, 16)?);
        let start = at.checked_add(head_size)?;
        let entry = Self {
            kind: match number::<2>(&head, 0)? {
                PTX => Kind::Ptx,
                ELF => Kind::Cubin,
                _ => Kind::Other,
            },
            architecture: number::<4>(&head, 28)? as u32,
            flags: number::<8>(&head, 40)?,
            full_size: number::<8>(&head, 56)?,
            start,
            length: if packed > 0 { packed } else { size },
        };
        let is_inside = start.checked_add(entry.length).is_some_and(|after| after <= end);
        // An entry is at least its header. So a small image has few entries, which do not overlap.
        let next = start.checked_add(size).filter(|_| is_inside && head_size >= ENTRY_HEAD)?;
        Some((entry, next))
    }

    /// Whether it is for its architecture alone (sm_90a), and no later one.
    pub fn is_specific(&self) -> bool {
        self.flags & SPECIFIC != 0
    }

    /// The code of the entry. A cubin begins as ELF.
    ///
    /// # Errors
    /// The content is damaged, or is more than `work` allows.
    pub fn code<'a, S: Source + ?Sized>(&self, source: &'a S, work: &mut Work) -> Result<Cow<'a, [u8]>> {
        let content = source.part(self.start, self.length).ok_or_else(short)?;
        let code = self.unpacked(content, work)?;
        if self.kind == Kind::Cubin && !elf::is_elf(&code) { Err(damaged("an entry is no cubin")) } else { Ok(code) }
    }

    fn unpacked<'a>(&self, content: Cow<'a, [u8]>, work: &mut Work) -> Result<Cow<'a, [u8]>> {
        if self.flags & (LZ4 | ZSTD) == 0 {
            return Ok(content);
        }
        let full = self.full_size;
        let is_lz4 = self.flags & LZ4 != 0;
        if full > LARGEST || is_lz4 && full > content.len() as u64 * LZ4_RATIO {
            return Err(damaged("an entry is too large"));
        }
        work.take(full)?;
        let unpacked = if is_lz4 {
            lz4_flex::block::decompress(&content, full as usize).map_err(damaged)?
        } else {
            zstd(&content, full)?
        };
        if unpacked.len() as u64 != full {
            return Err(damaged(format!("an entry of {full} bytes has {}", unpacked.len())));
        }
        Ok(Cow::Owned(unpacked))
    }
}

/// At most `full` bytes, and some more if there are more.
fn zstd(content: &[u8], full: u64) -> Result<Vec<u8>> {
    let mut stream = ruzstd::decoding::StreamingDecoder::new(content).map_err(damaged)?;
    // In small pieces: the decoder buffers all bytes of a request.
    let (mut unpacked, mut piece) = (Vec::new(), vec![0; 1 << 16]);
    while unpacked.len() as u64 <= full {
        let count = stream.read(&mut piece).map_err(damaged)?;
        if count == 0 {
            break;
        }
        unpacked.extend_from_slice(piece.get(..count).unwrap_or_default());
    }
    Ok(unpacked)
}
