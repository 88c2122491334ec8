//! Ranges and marks of the program, by NVTX. This library is the injection that NVTX looks for: each copy of NVTX's
//! headers calls `attach`, which puts functions of cutap into the pointers of the copy. Another tool that was named
//! before gets its calls from there.
//!
//! A range is recorded as a call of a function that has the range's name, with an enter record at its push and an
//! exit record at its pop. So readers find the calls of a range inside it. Its slot belongs to an object that has the
//! name of the range's domain.

pub mod attach;
pub mod capture_range;
mod counters;
mod domains;
mod functions;
mod growing_table;
pub mod looked_up_tool;
mod named;
pub mod other_path;
pub mod payload_extension;
mod payloads;
pub mod ranges;
mod read;
mod started;
mod text;
mod tool;
