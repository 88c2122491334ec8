//! Fat binaries: a header, then entries. Each is machine code or PTX for one architecture, plain or compressed with LZ4
//! or Zstandard.

use crate::error::{Error, Result};
use std::borrow::Cow;
use std::io::Read as _;

const MAGIC: u32 = 0xba55_ed50;
const PTX: u16 = 1;
const ELF: u16 = 2;
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
/// No image of code is larger. It bounds what a damaged size makes this reader allocate.
const LARGEST: u64 = 1 << 28;

/// Code for a GPU.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Code<'a> {
    Cubin(Cow<'a, [u8]>),
    Ptx(Cow<'a, [u8]>),
}

#[derive(Debug, Clone, Copy)]
struct Entry<'a> {
    kind: u16,
    architecture: u32,
    flags: u64,
    /// Size of the content after decompression.
    full_size: u64,
    content: &'a [u8],
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Result<u64> {
    let part = bytes.get(at..).and_then(|rest| rest.first_chunk::<N>()).ok_or_else(short)?;
    Ok(part.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

fn short() -> Error {
    damaged("it is shorter than its headers say")
}

fn damaged(why: impl std::fmt::Display) -> Error {
    Error::BadFatbin(why.to_string())
}

/// Whether bytes begin as a fat binary.
pub(crate) fn is_fatbin(bytes: &[u8]) -> bool {
    bytes.first_chunk::<4>().is_some_and(|magic| u32::from_le_bytes(*magic) == MAGIC)
}

/// The code of a fat binary that runs best on a GPU: machine code of its generation, the newest first; then PTX.
pub(crate) fn choose(bytes: &[u8], gpu: u32) -> Result<Code<'_>> {
    let entries = entries(bytes)?;
    let fitness = |entry: &Entry<'_>| match (entry.kind, entry.architecture) {
        (ELF, own) if own / 10 == gpu / 10 && own <= gpu => Some((2, own)),
        (PTX, own) if own <= gpu => Some((1, own)),
        _ => None,
    };
    let best = entries.iter().filter_map(|entry| Some((fitness(entry)?, entry))).max_by_key(|(fitness, _)| *fitness);
    match best {
        Some((_, entry)) => entry.code(),
        None => {
            let name = |entry: &Entry<'_>| {
                let kind = if entry.kind == PTX { "PTX of " } else { "" };
                format!("{kind}sm_{}", entry.architecture)
            };
            let has: Vec<_> = entries.iter().filter(|entry| matches!(entry.kind, PTX | ELF)).map(name).collect();
            let has = if has.is_empty() { "nothing".to_owned() } else { has.join(", ") };
            Err(Error::NoCode { has, gpu })
        }
    }
}

fn entries(bytes: &[u8]) -> Result<Vec<Entry<'_>>> {
    let (head, length) = (number::<2>(bytes, 6)?, number::<8>(bytes, 8)?);
    let end = head.checked_add(length).ok_or_else(short)?;
    let (head, end) = (usize::try_from(head).map_err(damaged)?, usize::try_from(end).map_err(damaged)?);
    let mut rest = bytes.get(head..end).ok_or_else(short)?;
    let mut entries = Vec::new();
    while rest.len() >= 64 {
        let (head, size) = (number::<4>(rest, 4)?, number::<8>(rest, 8)?);
        let packed = number::<4>(rest, 16)?;
        let content = head.checked_add(if packed > 0 { packed } else { size }).filter(|_| head >= 64);
        let next = head.checked_add(size).ok_or_else(short)?;
        let content = content.and_then(|end| rest.get(head as usize..usize::try_from(end).ok()?)).ok_or_else(short)?;
        entries.push(Entry {
            kind: number::<2>(rest, 0)? as u16,
            architecture: number::<4>(rest, 28)? as u32,
            flags: number::<8>(rest, 40)?,
            full_size: number::<8>(rest, 56)?,
            content,
        });
        rest = rest.get(usize::try_from(next).map_err(damaged)?..).unwrap_or_default();
    }
    Ok(entries)
}

impl<'a> Entry<'a> {
    fn code(&self) -> Result<Code<'a>> {
        let content = self.unpacked()?;
        Ok(if self.kind == PTX { Code::Ptx(content) } else { Code::Cubin(content) })
    }

    fn unpacked(&self) -> Result<Cow<'a, [u8]>> {
        if self.flags & (LZ4 | ZSTD) == 0 {
            return Ok(Cow::Borrowed(self.content));
        }
        let full =
            Some(self.full_size).filter(|size| *size <= LARGEST).ok_or_else(|| damaged("an entry is too large"))?;
        // LZ4 reaches 255 to 1.
        let unpacked = if self.flags & LZ4 != 0 {
            let full = full.min(self.content.len() as u64 * 256) as usize;
            lz4_flex::block::decompress(self.content, full).map_err(damaged)?
        } else {
            zstd(self.content, full)?
        };
        if unpacked.len() as u64 != self.full_size {
            return Err(damaged(format!("an entry of {} bytes has {}", self.full_size, unpacked.len())));
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
