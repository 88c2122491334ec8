//! What both sides must know about each call: generated tables, nothing typed by hand.
//!
//! The tables under `generated` are facts from `api/`. The few functions beside them only look things
//! up. All of it runs in the target too: no std, no allocation, and nothing that can panic, so no
//! indexing.
#![no_std]

mod behaviour;
pub mod capture;
pub mod filter;
pub mod generated;
mod glob;
pub mod known;
mod lookup;

pub use behaviour::{begins_capture, blocks, ends_capture, hands_out, resets};
pub use generated::export_tables::*;
pub use generated::functions::FUNCTIONS;
pub use generated::watched::{FAMILIES, PROFILERS, WATCHED};
pub use glob::glob;
pub use lookup::{in_family, is_profiler, is_soname, layer_of};

/// A watched library.
#[derive(Debug)]
pub struct Watched {
    /// Its DT_SONAME; `*` stands for any characters.
    pub soname: &'static str,
    /// One of `cutap_wire::names::layer`: 1 library, 2 runtime, 3 driver.
    pub layer: u8,
}
