//! Copies the clocks of the GPUs into the recording, as far as their file has grown.

use cutap_file::{Block, Writer, kind};
use cutap_trace::RunPath;
use cutap_wire::gpu_clocks::{FILE, MAX_BYTES};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes of a block at most.
const PIECE: usize = 1 << 18;

/// How far the file was copied.
#[derive(Debug, Default)]
pub struct ClockCopy {
    copied: u64,
}

impl ClockCopy {
    /// A block of a recording that is added to.
    pub fn add_block(&mut self, block: &Block) {
        self.copied = self.copied.max(block.at.saturating_add(block.raw.into()));
    }

    /// Copies what is new. An error is the recording's: clocks that cannot be read now may be readable later.
    pub fn round(&mut self, run: &RunPath, writer: &mut Writer<File>) -> io::Result<()> {
        let path = run.join(FILE);
        let Ok(file) = path.open_file(false) else { return Ok(()) };
        let mut buffer = vec![0; PIECE];
        while self.copied < MAX_BYTES {
            let Ok(read @ 1..) = file.read_at(&mut buffer, self.copied) else { return Ok(()) };
            writer.write(Block::new(kind::CLOCKS, 0, 0, self.copied), &[], buffer.get(..read).unwrap_or(&[]))?;
            self.copied += read as u64;
        }
        Ok(())
    }
}
