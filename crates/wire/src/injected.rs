//! `RUN/inject`: what rules do to calls. `cutap` writes it before the program starts. The hook library `crates/inject`
//! maps it in each process, and counts there. All processes of the run count together.
//!
//! The patterns in [`Armed`] stay for the whole run: only their functions are hooked. Rules stand in one of two banks.
//! `cutap ctl PID rules` writes the other bank and turns [`Head::generation`] then. So a reader never waits: it copies
//! a row, and looks behind that whether the bank was being written meanwhile.

mod rows;

pub use rows::*;

use core::sync::atomic::{AtomicU32, AtomicU64};

/// Name of the file in the run directory.
pub const FILE: &str = "inject";
/// Names of functions of all rules at most, and patterns that are armed. The hooks of a run have as many places.
pub const ROWS: usize = 48;
/// Bytes of a name of a function, with the zero behind it.
pub const NAME: usize = 128;
/// Bytes of a name of a parameter, with the zero behind it.
pub const PARAMETER: usize = 48;
/// Bytes of the text of a rule.
pub const TEXT: usize = 256;
/// Conditions of a rule at most.
pub const CONDITIONS: usize = 4;
/// Counters: each rule takes one, also those that replace others.
pub const COUNTERS: usize = 1024;
/// Call sites that a survey counts at most.
pub const SITES: usize = 8192;
/// Bytes of the name of a module.
pub const MODULE: usize = 64;
/// What the file begins with.
pub const MAGIC: u64 = u64::from_le_bytes(*b"cutapinj");

/// The head of the file.
#[repr(C)]
#[derive(Debug)]
pub struct Head {
    /// [`MAGIC`].
    pub magic: u64,
    /// [`crate::VERSION`].
    pub version: u32,
    /// Number of armed patterns.
    pub armed: u32,
    /// The first number of the chances.
    pub seed: AtomicU64,
    /// Counts the replacements. The bank of its lowest bit holds.
    pub generation: AtomicU64,
    /// The generation that is being written, or the one that holds.
    pub writing: AtomicU64,
    /// The counter that the next rule takes.
    pub next_counter: AtomicU32,
    /// Number of [`Class`] rows.
    pub classes: u32,
    /// 1: call sites are counted in [`Site`] rows, which the file has then.
    pub surveys: u32,
    /// 1: what a rule with a fault of the GPU does later is possible, as all functions of the driver are armed.
    pub has_faults: u32,
    /// Rows of each bank.
    pub rows: [AtomicU32; 2],
    /// The driver's functions that write this thread's context and its device, filled up with zeros.
    pub asking: [[u8; PARAMETER]; 2],
}

/// A pattern whose functions are hooked.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Armed {
    /// Pattern of the functions' names, filled up with zeros.
    pub name: [u8; NAME],
    /// Layers, as a hook library names them.
    pub layers: u32,
    /// 0.
    pub reserved: u32,
}

/// What a rule counts.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Counter {
    /// Calls that fulfil the conditions.
    pub matched: AtomicU64,
    /// Those that were acted on.
    pub acted: AtomicU64,
    /// Actions that the function does not allow.
    pub refused: AtomicU64,
}

/// What is known of a function. Rows are sorted by the hash.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Class {
    /// [`name_hash`] of its name.
    pub hash: u64,
    /// Bits of [`class`].
    pub bits: u64,
}

/// Bits of [`Class::bits`].
pub mod class {
    /// It returns a status.
    pub const STATUS: u64 = 1;
    /// It fails in a context in which the GPU had a fault.
    pub const FAILS_AFTER_FAULT: u64 = 2;
    /// It says that earlier work has failed.
    pub const REPORTS: u64 = 4;
    /// It starts work and returns before that is done.
    pub const ASYNCHRONOUS: u64 = 8;
    /// It ends a context, or the primary one of a device.
    pub const RESETS: u64 = 16;
    /// Its first argument is the context that it ends.
    pub const ENDS_CONTEXT: u64 = 32;
}

/// A call site: where calls of a function return to.
#[repr(C)]
#[derive(Debug)]
pub struct Site {
    /// 0: free; else hash of function, module and offset.
    pub key: AtomicU64,
    /// Calls.
    pub calls: AtomicU64,
    /// Calls that failed.
    pub failed: AtomicU64,
    /// Offset in the module.
    pub offset: AtomicU64,
    /// 1 once the rest is written.
    pub is_written: AtomicU32,
    /// The layer of the function, as a hook library names it.
    pub layer: AtomicU32,
    /// File name of the module, filled up with zeros.
    pub module: [core::sync::atomic::AtomicU8; MODULE],
    /// Name of the function.
    pub function: [core::sync::atomic::AtomicU8; NAME],
}

/// Where the parts of the file begin.
pub mod part {
    use super::{Armed, Class, Counter, Head, ROWS, Row, SITES, Site};

    /// The armed patterns.
    pub const ARMED: usize = size_of::<Head>();
    /// The first bank of [`Row`]s; the second one follows.
    pub const BANKS: usize = ARMED + ROWS * size_of::<Armed>();
    /// The counters.
    pub const COUNTERS: usize = BANKS + 2 * ROWS * size_of::<Row>();
    /// The classes of functions.
    pub const CLASSES: usize = COUNTERS + super::COUNTERS * size_of::<Counter>();

    /// The sites, behind so many classes.
    pub const fn sites(classes: usize) -> usize {
        CLASSES + classes * size_of::<Class>()
    }

    /// Bytes of a whole file.
    pub const fn bytes(classes: usize, surveys: bool) -> usize {
        sites(classes) + if surveys { SITES * size_of::<Site>() } else { 0 }
    }
}

/// FNV-1a of a name.
pub const fn name_hash(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut at = 0;
    while at < bytes.len() {
        // In bounds: the loop's condition.
        #[allow(clippy::indexing_slicing, reason = "the loop ends before the length")]
        let byte = bytes[at];
        hash = (hash ^ byte as u64).wrapping_mul(0x100_0000_01b3);
        at += 1;
    }
    hash
}

/// Text without the zeros behind it.
pub fn text(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    bytes.get(..end).unwrap_or(&[])
}
