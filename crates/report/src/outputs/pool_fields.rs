//! The fields of JSON lines on pools of allocators, for `json_schema`.

use crate::call::columns::{RANK, RUN};
use crate::outputs::field_row::FieldRow;

/// A pool of an allocator on a device.
pub const POOL: &[FieldRow] = &[
    ("of", "string", "the allocator: `PyTorch`"),
    ("device", "string", "`device 0`, `CPU`"),
    ("pid", "integer", "process"),
    ("folder", "string", "its directory in the run directory"),
    ("peak_bytes", "integer", "most that it had handed out"),
    ("peak_ns", "integer", "when, CLOCK_MONOTONIC"),
    ("peak_reserved_bytes", "integer", "what it had of CUDA then"),
    ("end_bytes", "integer", "handed out at the end"),
    ("end_reserved_bytes", "integer", "what it had of CUDA at the end"),
    ("run?", "string", RUN),
    ("rank?", "integer", RANK),
];

/// A line that asks for blocks.
pub const POOL_LINE: &[FieldRow] = &[
    ("of", "string", "the allocator: `PyTorch`"),
    ("line", "string", "file, line and function that asked for the blocks"),
    ("count", "integer", "blocks"),
    ("bytes", "integer", "all of them"),
    ("peak_bytes", "integer", "held at the peak of each pool"),
    ("peak_share", "number", "the part of those peaks, 0 to 1"),
    ("end_bytes", "integer", "held at the end"),
];

/// A request without a block.
pub const POOL_REFUSED: &[FieldRow] = &[
    ("of", "string", "the allocator: `PyTorch`"),
    ("device", "string", "`device 0`"),
    ("line", "string", "file, line and function that asked for it"),
    ("ns", "integer", "when, CLOCK_MONOTONIC"),
    ("bytes", "integer", "what was wanted"),
    ("live_bytes", "integer", "handed out at that time"),
    ("reserved_bytes", "integer", "what the pool had of CUDA"),
];
