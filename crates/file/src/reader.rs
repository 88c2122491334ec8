//! Walks over the blocks of a file up to its end, or up to where it is cut off or damaged, and unpacks
//! a block's body when somebody asks for it. Walking reads heads only.

use crate::block::{Block, HEAD, Packing};
use crate::head::{Head, MAGIC};
use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

/// Bytes that can be read at any place: a file, or memory.
pub trait Bytes {
    /// Reads what there is at `at`, at most as much as the buffer holds.
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize>;
    /// Where the next bytes from `at` on are that somebody wrote; `None` if there are none. Where that is not known it
    /// is `at`.
    fn written_from(&self, at: u64) -> io::Result<Option<u64>> {
        Ok(Some(at))
    }
}

impl Bytes for File {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        FileExt::read_at(self, buffer, at)
    }
    fn written_from(&self, at: u64) -> io::Result<Option<u64>> {
        let seek = |to: u64, whence| {
            // SAFETY: an open file; no memory is touched.
            let place = unsafe { libc::lseek(self.as_raw_fd(), to as i64, whence) };
            u64::try_from(place).map_err(|_| io::Error::last_os_error())
        };
        // The place at which a writer continues stays unchanged.
        let place = seek(0, libc::SEEK_CUR)?;
        let data_start = seek(at, libc::SEEK_DATA);
        seek(place, libc::SEEK_SET)?;
        match data_start {
            Ok(from) => Ok(Some(from)),
            Err(e) if e.raw_os_error() == Some(libc::ENXIO) => Ok(None),
            // A file system that does not know.
            Err(_) => Ok(Some(at)),
        }
    }
}

impl Bytes for [u8] {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        let rest = usize::try_from(at).ok().and_then(|at| self.get(at..)).unwrap_or(&[]);
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }
}

/// Why nothing can be read.
#[derive(Debug)]
pub enum Error {
    /// It does not begin as a recording does.
    NotOurs,
    /// It is a recording of this version of the format, or of the run directory.
    OtherVersion(u32),
    /// The system's reason.
    Unreadable(io::Error),
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::Unreadable(error)
    }
}

/// Where reading stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Bytes from the beginning that were read.
    pub at: u64,
    /// Why.
    pub why: Why,
}

/// Why reading stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Behind the block that says that the recording ended in order.
    Ended,
    /// Behind a whole block: it is still being written, or its writer was killed.
    Open,
    /// Within a block, or with 0 bytes read within the file's beginning: it was cut off.
    CutOff,
    /// At bytes that are no block.
    Damaged,
}

/// Hands out the blocks of a file, each with the bytes that stand unchanged. `wire` is the version of
/// the run directory that the caller reads.
pub fn walk<B: Bytes + ?Sized>(file: &B, wire: u32, sink: &mut dyn FnMut(&Block, &[u8])) -> Result<Cut, Error> {
    let mut bytes = vec![0; Head::BYTES];
    let there = read_fully(file, &mut bytes, 0)?;
    let head = match Head::parse(&bytes[..there]) {
        Some(head) => head,
        None if there < Head::BYTES && bytes[..there].starts_with(&MAGIC.to_le_bytes()) => {
            return Ok(Cut { at: 0, why: Why::CutOff });
        }
        None => return Err(Error::NotOurs),
    };
    if !head.is_known() {
        return Err(Error::OtherVersion(head.version));
    }
    if head.wire != wire {
        return Err(Error::OtherVersion(head.wire));
    }
    let mut at = Head::BYTES as u64;
    let mut why = Why::Open;
    loop {
        bytes.resize(HEAD + 64, 0);
        let mut there = read_fully(file, &mut bytes, at)?;
        if there == 0 {
            return Ok(Cut { at, why });
        }
        let block = loop {
            match Block::parse(&bytes[..there], at) {
                Ok(Some(block)) => break block,
                // A disk that was full, or a machine that stopped, may leave zeros behind the last block.
                Ok(None) if only_zeros(file, at)? => return Ok(Cut { at, why: Why::CutOff }),
                Ok(None) => return Ok(Cut { at, why: Why::Damaged }),
                Err(wanted) if wanted <= bytes.len() => return Ok(Cut { at, why: Why::CutOff }),
                Err(wanted) => {
                    bytes.resize(wanted, 0);
                    there = read_fully(file, &mut bytes, at)?;
                }
            }
        };
        // Its last byte is there, or it is not whole.
        if read_fully(file, &mut [0], at + block.length() - 1)? == 0 {
            return Ok(Cut { at, why: Why::CutOff });
        }
        sink(&block, &bytes[HEAD..HEAD + usize::from(block.plain)]);
        why = if block.kind == crate::kind::END { Why::Ended } else { Why::Open };
        at += block.length();
    }
}

/// The block at a place where [`walk`] has found one, with the bytes that stand unchanged.
pub fn block_at<B: Bytes + ?Sized>(file: &B, at: u64) -> io::Result<(Block, Vec<u8>)> {
    let mut bytes = vec![0; HEAD + 64];
    loop {
        let there = read_fully(file, &mut bytes, at)?;
        match Block::parse(&bytes[..there], at) {
            Ok(Some(block)) => {
                bytes.truncate(HEAD + usize::from(block.plain));
                bytes.drain(..HEAD);
                return Ok((block, bytes));
            }
            Err(wanted) if wanted > bytes.len() => bytes.resize(wanted, 0),
            _ => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// Whether there is nothing but zeros from here to the end. Holes are stepped over: they may have any length.
fn only_zeros<B: Bytes + ?Sized>(file: &B, mut at: u64) -> io::Result<bool> {
    let mut piece = [0; 4096];
    loop {
        match file.written_from(at)? {
            Some(from) => at = from.max(at),
            None => return Ok(true),
        }
        let there = read_fully(file, &mut piece, at)?;
        if there == 0 || piece[..there].iter().any(|b| *b != 0) {
            return Ok(there == 0);
        }
        at += there as u64;
    }
}

/// What a thread unpacks with, kept from block to block.
#[derive(Default)]
struct Unpacker {
    stored: Vec<u8>,
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

thread_local! {
    static UNPACKER: RefCell<Unpacker> = RefCell::default();
}

/// Unpacks the body of a block into `out`. Damage is an error of kind `InvalidData`.
pub fn body<B: Bytes + ?Sized>(file: &B, block: &Block, out: &mut Vec<u8>) -> io::Result<()> {
    UNPACKER.with_borrow_mut(|unpacker| unpacker.body(file, block, out))
}

/// The bytes of a whole block as they stand in the file.
pub fn copy<B: Bytes + ?Sized>(file: &B, block: &Block, out: &mut Vec<u8>) -> io::Result<()> {
    out.resize(block.length() as usize, 0);
    let there = read_fully(file, out, block.start())?;
    out.truncate(there);
    if there as u64 == block.length() { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

impl Unpacker {
    fn body<B: Bytes + ?Sized>(&mut self, file: &B, block: &Block, out: &mut Vec<u8>) -> io::Result<()> {
        let stored = &mut self.stored;
        stored.resize(block.stored as usize, 0);
        let there = read_fully(file, stored, block.place)?;
        let damaged = || io::Error::from(io::ErrorKind::InvalidData);
        if there < stored.len() || crc32fast::hash(stored) != block.body_sum {
            out.clear();
            return Err(damaged());
        }
        if block.packing == Packing::None {
            out.clear();
            out.extend_from_slice(stored);
            return Ok(());
        }
        // What is in it is written over: to fill it with zeros first costs as much as unpacking.
        out.resize(block.raw as usize, 0);
        let bytes = match block.packing {
            Packing::None => None,
            Packing::Lz4 => lz4_flex::block::decompress_into(stored, out).ok(),
            Packing::Zstd => {
                let zstd = match &mut self.zstd {
                    Some(zstd) => zstd,
                    none => none.insert(zstd::bulk::Decompressor::new()?),
                };
                zstd.decompress_to_buffer(stored, out.as_mut_slice()).ok()
            }
        };
        if bytes != Some(out.len()) {
            out.clear();
            return Err(damaged());
        }
        Ok(())
    }
}

/// Reads until the buffer is full or there is no more; how much there was.
pub fn read_fully<B: Bytes + ?Sized>(file: &B, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], at + filled as u64) {
            Ok(0) => break,
            Ok(bytes) => filled += bytes,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}
