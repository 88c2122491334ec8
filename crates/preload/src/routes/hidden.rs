//! The conditions for exchanging the words of a table that cuGetExportTable returned, and the list of tables that
//! failed them. Reads and changes no memory of the program: `export_table` does. If a program requests a table that a
//! profiler shares, the calls of the profiler are recorded too.

use crate::process::armed;
use crate::slots::hooks;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering::*};
use cutap_calls::hidden::Table;
use cutap_calls::{Layer, Role, function_with};
use cutap_hook::contract;

/// Bytes of a table at most: ten times the longest known.
const MOST: usize = 64 * 1024;

/// Why a table is left alone.
#[derive(Clone, Copy)]
pub enum Why {
    /// A profiler requested it.
    Profiler,
    /// The keyed check.
    Check,
    /// The library is gone.
    NoOwner,
    /// Word 0 is a function of an unknown table.
    NoLength,
    /// Word 0 is no size.
    Damaged,
    /// Not a multiple of 8.
    Unaligned,
    /// In an executable segment.
    InText,
    /// Not in the library, or not readable.
    Outside,
    /// A word is no function of the library.
    Foreign,
    /// mprotect refused.
    Protected,
}

impl Why {
    /// For the list at the end.
    pub fn text(self) -> &'static [u8] {
        match self {
            Why::Profiler => b"requested by a profiler",
            Why::Check => b"part of the runtime's keyed check",
            Why::NoOwner => b"the library that returned it is not loaded",
            Why::NoLength => b"no size word, and no known length",
            Why::Damaged => b"its size word is damaged",
            Why::Unaligned => b"it is not aligned",
            Why::InText => b"it lies in an executable segment",
            Why::Outside => b"it lies outside the library that returned it",
            Why::Foreign => b"a pointer in it leads outside the library's code",
            Why::Protected => b"its page could not be made writable",
        }
    }
}

/// The words of a table at `at` that should be functions. `inside` and `text` are the library's span and its code;
/// `first` is word 0.
pub fn words(
    at: usize,
    inside: (usize, usize),
    text: (usize, usize),
    known: Option<&Table>,
    first: Option<usize>,
) -> Result<Range<usize>, Why> {
    let is_code = |address: usize| address >= text.0 && address < text.1;
    if !at.is_multiple_of(8) {
        return Err(Why::Unaligned);
    }
    if at < inside.0 || at >= inside.1 {
        return Err(Why::Outside);
    }
    if is_code(at) {
        return Err(Why::InText);
    }
    let words = match known {
        Some(table) if !table.sized => 0..table.words.into_iter().max().unwrap_or(0) as usize,
        _ => match first {
            Some(size) if is_code(size) => return Err(Why::NoLength),
            Some(size) if size.is_multiple_of(8) && (16..=MOST).contains(&size) => 1..size / 8,
            _ => return Err(Why::Damaged),
        },
    };
    if inside.1 - at < words.end * 8 { Err(Why::Outside) } else { Ok(words) }
}

/// Tables that are listed, and those whose words were exchanged. More are counted each time.
static LISTED: [AtomicU64; 256] = [const { AtomicU64::new(0) }; 256];
static DONE: [AtomicU64; 256] = [const { AtomicU64::new(0) }; 256];

/// True where this is to be counted: once for each table and reason.
pub fn first(uuid: &[u8; 16], why: Why) -> bool {
    let [a, b, c, d, ..] = *uuid;
    put(&LISTED, u64::from(u32::from_le_bytes([a, b, c, d])) << 8 | (why as u64 + 1))
}

/// The words of the table at this address were exchanged.
pub fn remember(at: usize) {
    put(&DONE, at as u64);
}

/// Whether they were before: another tool may have taken words since.
pub fn is_known_at(at: usize) -> bool {
    DONE.iter().map(|place| place.load(Relaxed)).take_while(|known| *known != 0).any(|known| known == at as u64)
}

/// False where the value is there already.
fn put(list: &[AtomicU64], value: u64) -> bool {
    for place in list {
        match place.compare_exchange(0, value, Relaxed, Relaxed) {
            Ok(_) => return true,
            Err(known) if known == value => return false,
            Err(_) => {}
        }
    }
    true
}

/// The function of NVML that returns its export tables.
pub const NVML: &[u8] = function_with(Role::NvmlExportTable).as_bytes();

/// Whether anything of the layer may be recorded or is wanted by a hook.
pub fn is_on() -> bool {
    armed::holds_layer(Layer::HIDDEN.number()) || hooks::any(contract::HIDDEN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_calls::hidden::table;

    #[test]
    fn what_a_table_must_show() {
        let of = |at, known, first| words(at, (0x1000, 0x9000), (0x2000, 0x3000), known, first);
        assert_eq!(of(0x4000, None, Some(0x38)).ok(), Some(1..7));
        let storage = table(&cutap_calls::STORAGE_TABLE);
        assert_eq!(of(0x4000, storage, Some(0x2100)).ok(), Some(0..3));
        for (at, first, why) in [
            (0x4004, 0x38, Why::Unaligned),
            (0x9000, 0x38, Why::Outside),
            (0x8ff8, 0x38, Why::Outside),
            (0x2100, 0x38, Why::InText),
            (0x4000, 0x2100, Why::NoLength),
            (0x4000, 0x39, Why::Damaged),
            (0x4000, 8, Why::Damaged),
            (0x4000, usize::MAX - 7, Why::Damaged),
        ] {
            assert_eq!(of(at, None, Some(first)).err().map(Why::text), Some(why.text()));
        }
        assert!(of(0x4000, None, None).is_err());
    }
}
