//! The code objects whose frames were met. Each has a number, by a hash of all that its name and lines are made from.
//! So another one in its place has another number, and one that is made again has the same. Name and lines are written
//! when the number is given, while the code is on this thread's stack and so cannot change.

use super::interpreter::{self, Interpreter};
use super::memory::{MOST, Memory};
use crate::process::names;
use crate::process::page;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};
use cutap_calls::python::Field;
use cutap_wire::diagnostic;
use cutap_wire::names::{LONGEST, Name, kind};
use cutap_wire::python::texts;

/// Code objects that have a number.
const CODES: usize = 1 << 16;
/// Places that are looked at for one.
const PROBES: usize = 64;
/// The hash of each number, minus one; 0: not given.
static HASHES: [AtomicU64; CODES] = [const { AtomicU64::new(0) }; CODES];
/// Its name is written.
static NAMED: [AtomicBool; CODES] = [const { AtomicBool::new(false) }; CODES];

/// Bytes of a table of lines that the hash has from its beginning, and from its end.
const LINES: usize = 64;
/// Of a code object with a longer table, a hash of the whole one, and how often its number was asked for.
static TABLES: [(AtomicU32, AtomicU32); CODES] = [const { (AtomicU32::new(0), AtomicU32::new(0)) }; CODES];
/// Each so manieth time the whole table is looked at, up to this length.
const TURNS: u32 = 16;
const LONGEST_TABLE: usize = 4096;
/// In the place of a hash: another code object came in the place of this one. It is no hash, for those are odd.
const REPLACED: u64 = 2;
/// Bytes of a text that it has, from its end.
const TEXT: usize = 64;
/// Of an object of variable size, where its size is.
const OBJECT_SIZE: usize = 16;

/// Bytes of a file's name that are kept: the last ones of a longer one.
const FILE: usize = 1024;
/// Bytes of a function's name: the first ones.
const FUNCTION: usize = MOST;

/// An odd number without a pattern: 2^64 divided by the golden ratio.
pub(super) const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Adds a word to a hash.
#[inline(always)]
pub(super) fn mixed(hash: u64, word: u64) -> u64 {
    let product = (hash ^ word).wrapping_mul(FACTOR);
    product ^ product >> 32
}

/// The number of a code object, 0: there is no room for another one. None: it makes no sense.
#[inline(always)]
pub fn number(python: &Interpreter, memory: Memory, code: usize) -> Option<u32> {
    let Some((hash, table)) = hash(python, memory, code) else {
        // A name of another type than Python's own texts, for one.
        return memory.is_proved.then_some(0);
    };
    let start = hash as usize;
    for place in (0..PROBES).map(|n| start.wrapping_add(n) % CODES) {
        let (Some(of), Some(named)) = (HASHES.get(place), NAMED.get(place)) else { continue };
        let there = of.load(Relaxed);
        if there == hash && named.load(Acquire) {
            if table.is_long() && !is_same(memory, table, place) {
                let _ = of.compare_exchange(hash, REPLACED, AcqRel, Relaxed);
                continue;
            }
            return Some(place as u32 + 1);
        }
        let is_ours = there == hash || there == 0 && of.compare_exchange(0, hash, AcqRel, Acquire).is_ok();
        if is_ours || of.load(Relaxed) == hash {
            // Another thread may be writing the same name: twice does no harm.
            if let Some((of_table, _)) = TABLES.get(place) {
                of_table.store(if table.is_long() { whole(memory, table) } else { 0 }, Relaxed);
            }
            describe(python, code, place as u32 + 1)?;
            named.store(true, Release);
            return Some(place as u32 + 1);
        }
    }
    page::count(diagnostic::PYTHON_NOT_KEPT, 1);
    Some(0)
}

/// What tells a code object from any other, also from one in its place. The parts do not wait for each other. Where a
/// table or a text is so long that only a part is looked at, its address is added.
#[inline(always)]
fn hash(python: &Interpreter, memory: Memory, code: usize) -> Option<(u64, Table)> {
    let first = memory.half(python.field(code, Field::CodeFirstLine)?)?;
    let lines = memory.address(python.field(code, Field::CodeLines)?)?;
    let file = memory.address(python.field(code, Field::CodeFile)?)?;
    let name = memory.address(python.field(code, Field::CodeName)?)?;
    // Of 3.11 and newer, the length of the code too.
    let size = memory.word(code.wrapping_add(OBJECT_SIZE))?;
    let length = memory.word(python.field(lines, Field::BytesSize)?)? as usize;
    let data = python.field(lines, Field::BytesData)?;
    let begin = memory.bytes(data, length.min(LINES), |bytes| of_bytes(bytes, length as u64))?;
    let last = LINES.min(length - length.min(LINES));
    let end = match last {
        0 => 0,
        last => memory.bytes(data.wrapping_add(length - last), last, |bytes| of_bytes(bytes, 0))?,
    };
    let table = Table { data, length };
    let own = of_numbers(size, first, if table.is_long() { lines as u64 } else { 0 });
    let texts = mixed(of_text(python, memory, file)?, of_text(python, memory, name)?.rotate_left(32));
    Some((mixed(mixed(own, texts), mixed(begin, end)) | 1, table))
}

/// In some versions a size has an odd meaning, and is near to a line. So it is spread first.
#[inline(always)]
fn of_numbers(size: u64, first: u32, address: u64) -> u64 {
    mixed(size.wrapping_mul(FACTOR) ^ address, first.into())
}

/// A table of lines.
#[derive(Clone, Copy)]
struct Table {
    data: usize,
    length: usize,
}

impl Table {
    /// Its middle is not in the hash.
    #[inline(always)]
    fn is_long(self) -> bool {
        self.length > 2 * LINES
    }
}

/// Whether the code object with a long table is still that of the place. It is looked at sometimes only.
#[inline(always)]
fn is_same(memory: Memory, table: Table, place: usize) -> bool {
    let Some((of_table, turn)) = TABLES.get(place) else { return true };
    let turns = turn.load(Relaxed).wrapping_add(1);
    turn.store(turns, Relaxed);
    turns % TURNS != 0 || whole(memory, table) == of_table.load(Relaxed)
}

/// A hash of a whole table.
#[cold]
#[inline(never)]
fn whole(memory: Memory, table: Table) -> u32 {
    let length = table.length.min(LONGEST_TABLE);
    let hash = (0..length).step_by(MOST).fold(FACTOR, |all, from| {
        let piece = memory.bytes(table.data.wrapping_add(from), MOST.min(length - from), |bytes| of_bytes(bytes, 0));
        mixed(all, piece.unwrap_or(0))
    });
    hash as u32
}

/// A text: its own hash, where Python knows it, else its last characters.
#[inline(always)]
fn of_text(python: &Interpreter, memory: Memory, text: usize) -> Option<u64> {
    if !interpreter::is_text(memory, text) {
        return None;
    }
    let own_hash = memory.word(python.field(text, Field::TextHash)?)?;
    if own_hash != u64::MAX {
        return Some(mixed(FACTOR, own_hash));
    }
    let characters = Characters::of(python, memory, text)?;
    let from = characters.bytes.saturating_sub(TEXT);
    let last = characters.bytes - from;
    let address = if from > 0 { text as u64 } else { FACTOR };
    memory.bytes(characters.at.wrapping_add(from), last, |bytes| mixed(address, of_bytes(bytes, from as u64)))
}

/// A hash of bytes: two words at a time, which do not wait for each other.
#[inline(always)]
pub(super) fn of_bytes(bytes: &[u8], seed: u64) -> u64 {
    let (pairs, rest) = bytes.as_chunks::<16>();
    let (mut one, mut two) = (seed ^ bytes.len() as u64, seed);
    let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    for pair in pairs {
        let [first, second] = pair.as_chunks::<8>().0 else { continue };
        one = (one ^ word(first)).wrapping_mul(FACTOR);
        two = (two ^ word(second)).wrapping_mul(FACTOR);
    }
    if let Some(first) = rest.first_chunk::<8>() {
        one = (one ^ word(first)).wrapping_mul(FACTOR);
    }
    // The last eight, of which some were there before.
    two ^= match bytes.last_chunk::<8>() {
        _ if rest.is_empty() => 0,
        Some(last) => word(last),
        None => bytes.iter().fold(0, |all, byte| all << 8 | u64::from(*byte)),
    };
    // A difference in the highest byte of a word is only in that of its lane: the lanes meet crosswise.
    mixed(one, two.wrapping_mul(FACTOR).rotate_left(32))
}

/// The characters of a text.
struct Characters {
    at: usize,
    bytes: usize,
    /// Bytes of each.
    width: u8,
}

impl Characters {
    #[inline(always)]
    fn of(python: &Interpreter, memory: Memory, text: usize) -> Option<Characters> {
        let length = memory.word(python.field(text, Field::TextLength)?)? as usize;
        let state = memory.half(python.field(text, Field::TextState)?)?;
        // Three bits of the width, compact, ASCII. Before them, by version, 2, 8 or 16 bits with a number up to 3.
        let fields = |at: u32| (state >> at & 7, state >> (at + 3) & 3);
        let is_width = |(width, _): &(u32, u32)| matches!(width, 1 | 2 | 4);
        let (width, rest) = [2, 8, 16].into_iter().map(fields).find(is_width)?;
        let begins = match rest {
            3 => Field::TextShort,
            1 => Field::TextLong,
            _ => return None,
        };
        let at = python.field(text, begins)?;
        let bytes = length.checked_mul(width as usize).filter(|bytes| *bytes < 1 << 30)?;
        Some(Characters { at, bytes, width: width as u8 })
    }
}

/// Writes the name and the lines of a code object.
#[cold]
#[inline(never)]
fn describe(python: &Interpreter, code: usize, number: u32) -> Option<()> {
    let memory = Memory { is_proved: false };
    let first = memory.half(python.field(code, Field::CodeFirstLine)?)?;
    let file = Characters::of(python, memory, memory.address(python.field(code, Field::CodeFile)?)?)?;
    let name = Characters::of(python, memory, memory.address(python.field(code, Field::CodeName)?)?)?;
    let lines = memory.address(python.field(code, Field::CodeLines)?)?;
    let length = memory.word(python.field(lines, Field::BytesSize)?)? as usize;
    let data = python.field(lines, Field::BytesData)?;
    let a = u64::from(number);
    let table = Name { kind: kind::PYTHON_LINES, ticks: 0, a, b: length as u64, c: 0, s: &[], t: &[] };
    names::write_copy(&table, data, length.min(LONGEST));
    let mut text = [0u8; FILE + FUNCTION];
    let file_bytes = file.bytes.min(FILE);
    let name_bytes = name.bytes.min(FUNCTION);
    let from = file.at.wrapping_add(file.bytes - file_bytes);
    // SAFETY: there is room for both.
    unsafe {
        crate::process::copy::checked(from, text.as_mut_ptr(), file_bytes);
        crate::process::copy::checked(name.at, text.as_mut_ptr().add(file_bytes), name_bytes);
    }
    let s = text.get(..file_bytes + name_bytes)?;
    let b = u64::from(first) | u64::from(python.lines) << 32;
    let c = texts(file_bytes as u16, file.width, name.width);
    names::write(&Name { kind: kind::PYTHON_CODE, ticks: 0, a, b, c, s, t: &[] });
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The highest byte of a word is in eight bits of a product only.
    #[test]
    fn changes_of_two_words_do_not_cancel() {
        for length in [16, 20, 24, 32, 40] {
            let changed = |one: u8, two: u8| {
                let mut bytes = [7u8; 40];
                bytes[7] ^= one;
                bytes[15] ^= two;
                of_bytes(&bytes[..length], 0)
            };
            let same = (0..=255).flat_map(|one| (0..=255).map(move |two| (one, two)));
            let same = same.filter(|(one, two)| changed(*one, *two) == changed(0, 0)).count();
            assert_eq!(same, 1, "{length} bytes");
        }
    }

    /// Of 3.8 to 3.10 the size has the number of positional parameters in its upper half.
    #[test]
    fn sizes_and_lines_do_not_cancel() {
        assert_ne!(of_numbers(1 << 32 | 3, 2, 0), of_numbers(2 << 32 | 3, 1, 0));
        assert_ne!(of_numbers(1, 2, 0), of_numbers(2, 1, 0));
        assert_ne!(of_numbers(1, 0, 2), of_numbers(2, 0, 1));
    }
}
