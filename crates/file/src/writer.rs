//! Appends blocks. Each is handed to the file in one write, so that a writer that dies between two
//! leaves whole blocks. When it is on disk is the system's affair.

use crate::block::{Block, HEAD};
use crate::head::{Head, VERSION};
use std::io::{self, Write};

/// Appends blocks to a file.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    buffer: Vec<u8>,
    bytes: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a file. `wire` is the version of the run folder.
    pub fn begin(mut out: W, wire: u32) -> io::Result<Writer<W>> {
        out.write_all(&Head { version: VERSION, wire }.bytes())?;
        Ok(Writer::go_on(out, Head::BYTES as u64))
    }

    /// Appends to a file of so many bytes that [`crate::walk`] has read to its end.
    pub fn go_on(out: W, bytes: u64) -> Writer<W> {
        Writer { out, buffer: Vec::new(), bytes }
    }

    /// Appends a block: of `block` the kind and the numbers count, `plain` stays as it is, `body` is
    /// packed.
    pub fn write(&mut self, block: Block, plain: &[u8], body: &[u8]) -> io::Result<()> {
        let most = lz4_flex::block::get_maximum_output_size(body.len());
        let behind = HEAD + plain.len();
        self.buffer.clear();
        self.buffer.resize(behind + most.max(body.len()), 0);
        let packed = lz4_flex::block::compress_into(body, &mut self.buffer[behind..]).ok();
        let packed = packed.filter(|bytes| *bytes < body.len());
        let stored = packed.unwrap_or(body.len());
        if packed.is_none() {
            self.buffer[behind..behind + stored].copy_from_slice(body);
        }
        let too_long = |_| io::Error::from(io::ErrorKind::InvalidInput);
        let block = Block {
            packed: packed.is_some(),
            plain: plain.len().try_into().map_err(too_long)?,
            raw: body.len().try_into().map_err(too_long)?,
            stored: stored.try_into().map_err(too_long)?,
            body_sum: crc32fast::hash(&self.buffer[behind..behind + stored]),
            ..block
        };
        self.buffer[..HEAD].copy_from_slice(&block.bytes(plain));
        self.buffer[HEAD..behind].copy_from_slice(plain);
        self.buffer.truncate(behind + stored);
        self.buffer.resize(block.length() as usize, 0);
        self.out.write_all(&self.buffer)?;
        self.bytes += block.length();
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
