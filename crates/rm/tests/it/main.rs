//! Tests of the crate from outside: real transcripts, the writer, the tables, arbitrary bytes.
#![cfg(feature = "alloc")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod any;
mod fuzz;
mod programs;
mod properties;
mod submission;
mod tables;
mod transcript;
mod work;
mod writer;
