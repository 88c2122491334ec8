//! Tests of the crate from outside: real transcripts, the writer, the tables, arbitrary bytes.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod programs;
mod transcript;
