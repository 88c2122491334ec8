//! What is remembered of nodes of autograd until they run: where each was made, by its number and its thread. A later
//! node takes the place of an older one whose number is a multiple of the room apart. Also the types of nodes.

use super::codes::{FACTOR, mixed, of_bytes};
use super::memory::Memory;
use crate::process::{copy, names};
use crate::sys::{Opened, Table};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use cutap_wire::names::{Name, kind};

/// Nodes that are remembered.
const NODES: usize = 1 << 18;
/// Of each the number of the stack that made it, and above it what tells it from others. 0: none.
#[unsafe(link_section = ".bss.cutap_tables")]
static MADE_AT: Table<AtomicU64, NODES> = Table([const { AtomicU64::new(0) }; NODES]);
static OPENED: Opened = Opened::all();
/// Bits of the number of a stack.
const STACK_BITS: u32 = 20;

/// Passes that are remembered, and the places that are looked at for one.
const PASSES: usize = 1 << 10;
const PASS_PROBES: usize = 8;
/// Of each the number of the stack that began it, and above it its address.
static BEGAN_AT: [AtomicU64; PASSES] = [const { AtomicU64::new(0) }; PASSES];

/// Types of nodes that have a number.
const TYPES: usize = 1 << 12;
const TYPE_PROBES: usize = 32;
static TYPE_HASHES: [AtomicU64; TYPES] = [const { AtomicU64::new(0) }; TYPES];
static TYPE_NAMED: [AtomicBool; TYPES] = [const { AtomicBool::new(false) }; TYPES];
/// Bytes of a name.
const LONGEST: usize = 512;
/// Bytes of a name that tell a type from another in its place.
const TOLD_BY: usize = 32;

fn place(thread: u64, sequence: u64) -> usize {
    sequence.wrapping_add(thread.wrapping_mul(FACTOR >> 40)) as usize % NODES
}

fn tag(thread: u64, sequence: u64) -> u64 {
    mixed(mixed(FACTOR, thread), sequence) << STACK_BITS
}

/// At start: no node is remembered.
pub fn close() {
    OPENED.close(&MADE_AT);
}

/// A node was made.
#[inline(always)]
pub fn remember(thread: u64, sequence: u64, stack: u32) {
    let place = place(thread, sequence);
    if let Some(entry) = MADE_AT.get(place).filter(|_| OPENED.reach(&MADE_AT, place)) {
        entry.store(tag(thread, sequence) | u64::from(stack), Relaxed);
    }
}

/// The stack that made a node; None: the node is not remembered.
#[inline(always)]
pub fn made_at(thread: u64, sequence: u64) -> Option<u32> {
    let entry = MADE_AT.get(place(thread, sequence))?.load(Relaxed);
    let stack = entry & ((1 << STACK_BITS) - 1);
    (entry != 0 && entry ^ stack == tag(thread, sequence)).then_some(stack as u32)
}

fn pass_entries(pass: usize) -> impl Iterator<Item = &'static AtomicU64> {
    let start = mixed(FACTOR, pass as u64) as usize;
    (0..PASS_PROBES).filter_map(move |n| BEGAN_AT.get(start.wrapping_add(n) % PASSES))
}

/// Addresses are multiples of 16, below 1 << 47.
fn pass_tag(pass: usize) -> u64 {
    (pass as u64 >> 4) << STACK_BITS
}

/// A backward pass began.
pub fn remember_pass(pass: usize, stack: u32) {
    let (of, word) = (pass_tag(pass), pass_tag(pass) | u64::from(stack));
    for entry in pass_entries(pass) {
        let there = entry.load(Relaxed);
        let is_its = there == 0 || there >> STACK_BITS == of >> STACK_BITS;
        if is_its && entry.compare_exchange(there, word, Relaxed, Relaxed).is_ok() {
            return;
        }
    }
    if let Some(entry) = pass_entries(pass).next() {
        entry.store(word, Relaxed);
    }
}

/// The stack that began a pass, 0: it is not known.
pub fn began_at(pass: usize) -> u32 {
    let of = pass_tag(pass) >> STACK_BITS;
    let word = pass_entries(pass).map(|entry| entry.load(Relaxed)).find(|word| *word >> STACK_BITS == of);
    word.map_or(0, |word| (word & ((1 << STACK_BITS) - 1)) as u32)
}

/// The number of the type whose table of virtual functions this is, 0: there is no room for another one. None: it makes
/// no sense.
pub fn of_type(memory: Memory, table: usize) -> Option<u32> {
    let text = memory.address(memory.address(table.wrapping_sub(8))?.wrapping_add(8))?;
    let hash = mixed(mixed(FACTOR, table as u64), text as u64);
    let in_page = 4096 - (text & 4095);
    let hash = memory.bytes(text, TOLD_BY.min(in_page), |bytes| mixed(hash, of_bytes(bytes, 0)))? | 1;
    let start = (hash >> 8) as usize;
    for place in (0..TYPE_PROBES).map(|n| start.wrapping_add(n) % TYPES) {
        let (Some(of), Some(named)) = (TYPE_HASHES.get(place), TYPE_NAMED.get(place)) else { continue };
        let there = of.load(Relaxed);
        if there == hash && named.load(Acquire) {
            return Some(place as u32 + 1);
        }
        if there != 0 && there != hash {
            continue;
        }
        let length = name_length(text)?;
        if of.compare_exchange(0, hash, AcqRel, Acquire).is_ok() || of.load(Relaxed) == hash {
            let name = Name { kind: kind::NODE_TYPE, ticks: 0, a: place as u64 + 1, b: 0, c: 0, s: &[], t: &[] };
            names::write_copy(&name, text, length);
            named.store(true, Release);
            return Some(place as u32 + 1);
        }
    }
    Some(0)
}

/// Whether a mangled name stands there, and how long it is.
#[cold]
#[inline(never)]
fn name_length(text: usize) -> Option<usize> {
    let may = |c: u8| c == 0 || c == b'*' || c == b'_' || c == b'.' || c == b'$' || c.is_ascii_alphanumeric();
    copy::text_length(text, LONGEST, may).filter(|length| *length > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_threads() {
        remember(1, 7, 3);
        remember(2, 7, 4);
        remember(1, 8, 5);
        assert_eq!([made_at(1, 7), made_at(2, 7), made_at(1, 8)], [Some(3), Some(4), Some(5)]);
        assert_eq!([made_at(3, 7), made_at(1, 9)], [None, None]);
        // The place is taken by a later one.
        remember(1, 7 + NODES as u64, 6);
        assert_eq!([made_at(1, 7), made_at(1, 7 + NODES as u64)], [None, Some(6)]);
    }

    #[test]
    fn passes_in_one_place() {
        for n in 1..200 {
            remember_pass(n << 20, n as u32);
            assert_eq!(began_at(n << 20), n as u32);
        }
        remember_pass(5 << 20, 0);
        assert_eq!([began_at(5 << 20), began_at(0x7777_0000)], [0, 0]);
    }
}
