//! The table of slots, and the numbers of those that have no thunk. `create` fills them.

use super::code::{THUNK_BYTES, thunk};
use super::slot::Slot;
use crate::process::{names, page};
use crate::ring::counts::THUNKS;
use crate::ring::record::Answer;
use crate::sys::{Opened, Table};
use core::sync::atomic::{AtomicU32, Ordering::*};
use cutap_wire::diagnostic;
use cutap_wire::names::{Name, kind};

/// The thunks know where it lies.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".bss.cutap_tables")]
static CUTAP_SLOTS: Table<Slot, THUNKS> = Table([const { Slot::new() }; THUNKS]);
static OPENED: Opened = Opened::all();

/// At start: no slot is in use.
pub fn close() {
    OPENED.close(&CUTAP_SLOTS);
}

/// Numbers given to thunks, and to functions of runtime instances, which have none.
static NEXT: AtomicU32 = AtomicU32::new(0);
static NEXT_RUNTIME: AtomicU32 = AtomicU32::new(THUNKS as u32);

/// Where a thunk that has a number and no function leads to.
pub fn lead(n: u32, to: usize) -> Option<usize> {
    slot(n)?.entry.store(to, Release);
    Some(thunk(n as usize))
}

/// True for an address inside the array of thunks.
pub fn is_thunk(address: usize) -> bool {
    address.wrapping_sub(thunk(0)) < THUNKS * THUNK_BYTES
}

/// How many thunks have a number.
pub(super) fn count() -> u32 {
    NEXT.load(Acquire).min(THUNKS as u32)
}

/// Those that have a number.
pub fn all() -> impl Iterator<Item = &'static Slot> {
    CUTAP_SLOTS.iter().take(NEXT.load(Acquire) as usize)
}

/// The slot with this number.
#[inline(always)]
pub fn slot(n: u32) -> Option<&'static Slot> {
    CUTAP_SLOTS.get(n as usize)
}

/// The real function behind a thunk's address.
pub fn real_of(address: usize) -> Option<usize> {
    is_thunk(address)
        .then(|| slot(((address - thunk(0)) / THUNK_BYTES) as u32).map_or(0, |s| s.function.load(Relaxed)))
        .filter(|&r| r != 0)
}
/// The function of a slot.
pub fn function_of(n: u32) -> usize {
    slot(n).map_or(0, |s| s.function.load(Relaxed))
}
/// What a look-up gave, as its record has it.
pub fn answer(address: usize) -> Answer {
    let slot = number_of(address).map_or(0, |n| u64::from(n) + 1);
    Answer { function: real_of(address).unwrap_or(address), slot }
}
/// The slot number of a thunk's address.
pub fn number_of(address: usize) -> Option<u32> {
    is_thunk(address).then(|| ((address - thunk(0)) / THUNK_BYTES) as u32)
}
/// The number of the slot at an address.
pub fn number_at(slot: usize) -> u32 {
    ((slot - &raw const CUTAP_SLOTS as usize) / size_of::<Slot>()) as u32
}
/// The load that a slot belongs to.
pub fn object_of(n: u32) -> u32 {
    slot(n).map_or(0, |s| s.object.load(Relaxed))
}
/// What is known of a slot's function: its row, for `rows::of`.
#[inline(always)]
pub fn row_of(n: u32) -> u32 {
    slot(n).map_or(0, |s| s.row.load(Relaxed))
}
/// A slot's name.
pub fn name_of(n: u32) -> &'static [u8] {
    slot(n).map_or(&[], Slot::name)
}

/// The slot of a function of a load.
pub fn find(object: u32, name: &[u8]) -> Option<u32> {
    (0..NEXT.load(Acquire)).find(|&n| object_of(n) == object && name_of(n) == name)
}

/// A number for a thunk.
pub fn take_number() -> Option<u32> {
    take_numbers(1)
}

/// So many numbers for thunks, one behind the other: the first.
pub fn take_numbers(count: u32) -> Option<u32> {
    // Before a number is taken, for none is given back: where the table cannot be opened it may be later.
    let room = |n: u32| OPENED.reach(&CUTAP_SLOTS, (n + count - 1) as usize);
    let number = room(NEXT.load(Relaxed)).then(|| NEXT.fetch_add(count, Relaxed)).filter(|n| room(*n));
    if number.is_none() {
        page::count(diagnostic::NO_SLOT_LEFT, 1);
    }
    number
}

/// The number in the records of calls of a slot that are made while recording is off, if the slot has `plan::STATE`.
pub fn state_number(n: u32) -> u32 {
    n + 1
}

/// A number that no thunk has.
pub fn number_without_thunk() -> u32 {
    NEXT_RUNTIME.fetch_add(1, Relaxed)
}

/// A number for a function of a runtime instance, with its name in the stream; `words` that the records of
/// its parameter block have.
pub fn runtime_slot(instance: u32, callback: u32, words: u8, name: &[u8]) -> u32 {
    let n = number_without_thunk();
    let text = Name {
        kind: kind::RUNTIME_SLOT,
        ticks: 0,
        a: n.into(),
        b: instance.into(),
        c: u64::from(callback) | u64::from(words) << 32,
        s: name,
        t: &[],
    };
    names::write(&text);
    n
}
