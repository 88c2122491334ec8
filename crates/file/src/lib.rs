//! The bytes of a recording, `run.cutap`: what the files of a run directory hold, in blocks that are only
//! ever appended. Writer and reader side by side, so that they cannot drift; described for others in
//! `docs/reference/file-format.md`.
//!
//! Nothing here knows a call, opens a file or decides what is written when. Nothing here may panic on
//! bytes that were cut off, damaged or made to harm.
#![warn(missing_docs)]

mod block;
mod head;
mod reader;
mod writer;

pub use block::{Block, MOST_BYTES, Packing, kind};
pub use head::{Head, MAGIC, VERSION};
pub use reader::{Bytes, Cut, Error, Why, block_at, body, copy, read_fully, walk};
pub use writer::{Writer, pack};
