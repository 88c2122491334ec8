//! Appends blocks. Each is handed to the file in one write, so that a writer that dies between two
//! leaves whole blocks. When it is on disk is the system's affair.

use crate::block::{Block, HEAD, Packing};
use crate::head::{Head, VERSION};
use std::cell::RefCell;
use std::io::{self, Write};

/// Appends blocks to a file.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    buffer: Vec<u8>,
    bytes: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a file. `wire` is the version of the run directory.
    pub fn begin(mut out: W, wire: u32) -> io::Result<Writer<W>> {
        out.write_all(&Head { version: VERSION, wire }.bytes())?;
        Ok(Writer::go_on(out, Head::BYTES as u64))
    }

    /// Appends to a file of so many bytes that [`crate::walk`] has read to its end.
    pub fn go_on(out: W, bytes: u64) -> Writer<W> {
        Writer { out, buffer: Vec::new(), bytes }
    }

    /// Appends a block: of `block` the kind and the numbers count, `plain` stays unchanged, `body` is
    /// packed with LZ4.
    pub fn write(&mut self, block: Block, plain: &[u8], body: &[u8]) -> io::Result<()> {
        pack(Packing::Lz4, block, plain, body, &mut self.buffer)?;
        self.out.write_all(&self.buffer)?;
        self.bytes += self.buffer.len() as u64;
        Ok(())
    }

    /// Appends a block that [`pack`] has made.
    pub fn append(&mut self, packed: &[u8]) -> io::Result<()> {
        self.out.write_all(packed)?;
        self.bytes += packed.len() as u64;
        Ok(())
    }

    /// Bytes of whole blocks so far: what a file is cut back to when a write failed halfway.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The file.
    pub fn out(&mut self) -> &mut W {
        &mut self.out
    }
}

/// Level of Zstandard: higher ones pack recordings hardly better, and take longer.
const LEVEL: i32 = 1;

thread_local! {
    /// What a thread packs with, kept from block to block.
    static ZSTD: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
}

/// Makes the bytes of a block, in `out`; the body stands unchanged where packing would make it longer.
pub fn pack(packing: Packing, block: Block, plain: &[u8], body: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    let most = match packing {
        Packing::None => 0,
        Packing::Lz4 => lz4_flex::block::get_maximum_output_size(body.len()),
        Packing::Zstd => zstd::zstd_safe::compress_bound(body.len()),
    };
    let body_start = HEAD + plain.len();
    out.clear();
    out.resize(body_start + most.max(body.len()), 0);
    let packed = match packing {
        Packing::None => None,
        Packing::Lz4 => lz4_flex::block::compress_into(body, &mut out[body_start..]).ok(),
        Packing::Zstd => ZSTD.with_borrow_mut(|zstd| {
            let zstd = match zstd {
                Some(zstd) => zstd,
                none => none.insert(zstd::bulk::Compressor::new(LEVEL)?),
            };
            io::Result::Ok(zstd.compress_to_buffer(body, &mut out[body_start..]).ok())
        })?,
    };
    let packed = packed.filter(|bytes| *bytes < body.len());
    let stored = packed.unwrap_or(body.len());
    if packed.is_none() {
        out[body_start..body_start + stored].copy_from_slice(body);
    }
    let too_long = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let block = Block {
        packing: if packed.is_some() { packing } else { Packing::None },
        plain: plain.len().try_into().map_err(too_long)?,
        raw: body.len().try_into().map_err(too_long)?,
        stored: stored.try_into().map_err(too_long)?,
        body_sum: crc32fast::hash(&out[body_start..body_start + stored]),
        ..block
    };
    out[..HEAD].copy_from_slice(&block.bytes(plain));
    out[HEAD..body_start].copy_from_slice(plain);
    out.truncate(body_start + stored);
    out.resize(block.length() as usize, 0);
    Ok(())
}
