//! The record of a runtime's callback.

use crate::slots::rows;
use cutap_calls::{Role, has_role};

/// What the runtime passes with each callback: 0x78 bytes in 11.1 to 13.5.
#[repr(C)]
pub struct CallbackRecord {
    size: u32,
    _pad: u32,
    context_uid: u64,
    pub(super) stream_uid: u64,
    _reserved18: u64,
    correlation: *mut u64,
    /// The result, which the runtime reads again; null for functions that return no error code.
    pub result: *const u32,
    /// The function's name.
    pub name: *const u8,
    /// The parameter block.
    pub parameters: *const u64,
    pub(super) context: u64,
    stream: u64,
    id: u32,
    /// 0 enter, 1 exit.
    pub phase: u32,
    /// Name of the kernel of a launch.
    pub kernel: *const u8,
    _reserved60: u64,
    /// The instance's own cudaGetExportTable.
    pub export_table: Option<unsafe extern "C" fn(*mut *const usize, *const [u8; 16]) -> u32>,
    _reserved70: u64,
}
const _: () = assert!(size_of::<CallbackRecord>() == 0x78);

/// Words of a parameter block at most, and of one that nothing is known of.
pub(super) const BLOCK_WORDS: usize = 40;
const UNKNOWN_WORDS: usize = 6;

/// How many words a record of the function has.
pub fn block_words(remembered: u32) -> usize {
    rows::of(remembered).map_or(UNKNOWN_WORDS, |row| usize::from(row.ints).min(BLOCK_WORDS))
}

/// True for the functions whose record names a kernel.
pub fn is_launch(name: &[u8]) -> bool {
    has_role(name, Role::ReportsKernel)
}
