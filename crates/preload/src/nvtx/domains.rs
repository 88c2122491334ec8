//! Domains and registered strings: what the handles of the program stand for. Without another tool the handles are
//! ours. A handle is entered once and never taken out, because the program may use it at any time.

use super::growing_table::{Entry, GrowingTable};
use super::tool;
use crate::process::{armed, names, page, switch};
use crate::slots::table;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::*};
use cutap_calls::Layer;
use cutap_wire::diagnostic;
use cutap_wire::names::{DEFAULT_DOMAIN, Name, kind, route, shape};

/// The domain of functions that name none.
pub const DEFAULT: u32 = 0;
/// Its name.
const DEFAULT_NAME: &[u8] = DEFAULT_DOMAIN.as_bytes();
/// Domains in the first part of the table. There are 63 times as many at most; others are as the default domain.
const DOMAINS: usize = 1 << 9;
/// Handles in the first part of the table. There are 63 times as many at most; strings beyond them have no text.
const HANDLES: usize = 1 << 12;
/// Places of each part at which a handle is looked for.
const PROBES: usize = 32;
/// The objects of domains have numbers from here on, beside those of loaded libraries.
const FIRST_OBJECT: u32 = 1 << 30;
/// Handles that are given out begin here: the kernel maps nothing there without being asked to.
const FIRST_HANDLE: usize = 1 << 50;

/// What is recorded of a range, and the slot that says it.
#[derive(Clone, Copy)]
pub enum Moment {
    Range,
    Mark,
    Start,
    End,
}

impl Moment {
    /// The route that identifies it in names, the words of its records, and whether only its beginning is recorded.
    const fn shape(self) -> (u8, u8, bool) {
        match self {
            Moment::Range => (route::NVTX_RANGE, 3, false),
            Moment::Mark => (route::NVTX_MARK, 3, true),
            Moment::Start => (route::NVTX_START, 4, true),
            Moment::End => (route::NVTX_END, 1, true),
        }
    }
}

/// A domain: its name in the names file, and its slots plus one.
struct Domain {
    name: AtomicUsize,
    length: AtomicU32,
    slots: [AtomicU32; 4],
}

// SAFETY: a domain of zeros has no name.
unsafe impl Entry for Domain {}

static ALL: GrowingTable<Domain, DOMAINS> = GrowingTable::new(
    [const { Domain { name: AtomicUsize::new(0), length: AtomicU32::new(0), slots: [const { AtomicU32::new(0) }; 4] } };
        DOMAINS],
);
static COUNT: AtomicU32 = AtomicU32::new(1);

/// What a handle stands for: the number of a domain, or a text in the names file with its length.
struct Handle {
    handle: AtomicUsize,
    meaning: AtomicUsize,
    length: AtomicU32,
}

// SAFETY: a handle of zeros is free.
unsafe impl Entry for Handle {}

static OPEN_HANDLES: GrowingTable<Handle, HANDLES> = GrowingTable::new(
    [const { Handle { handle: AtomicUsize::new(0), meaning: AtomicUsize::new(0), length: AtomicU32::new(0) } };
        HANDLES],
);

fn next_handle() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(FIRST_HANDLE);
    NEXT.fetch_add(16, Relaxed)
}

/// Which handles are looked for: a tool may number domains and strings apart.
#[derive(Clone, Copy)]
enum Of {
    Domain,
    Text,
}

fn key(handle: usize, of: Of) -> usize {
    handle << 1 | of as usize
}

/// The places of a part where a key may be. A later place is in use only if those before it are.
fn places(part: &'static [Handle], key: usize) -> impl Iterator<Item = &'static Handle> {
    let first = (key >> 4 ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    (0..PROBES).filter_map(move |n| part.get((first + n) & (part.len() - 1)))
}

/// The entry of a handle that is known.
fn find(handle: usize, of: Of) -> Option<&'static Handle> {
    let key = key(handle, of);
    let in_part = |part| {
        let used = places(part, key).map(|entry| (entry, entry.handle.load(Acquire)));
        used.take_while(|(_, occupant)| *occupant != 0).find(|(_, occupant)| *occupant == key)
    };
    OPEN_HANDLES.parts().find_map(in_part).map(|(entry, _)| entry)
}

/// The entry of a handle, or the free one where it belongs. None if there is no room.
fn entry(handle: usize, of: Of) -> Option<&'static Handle> {
    let key = key(handle, of);
    let take = |part| {
        places(part, key).find(|entry| {
            let occupant = entry.handle.compare_exchange(0, key, AcqRel, Acquire);
            occupant.is_ok() || occupant == Err(key)
        })
    };
    find(handle, of).or_else(|| (0..).map_while(|n| OPEN_HANDLES.part_or_new(n)).find_map(take))
}

/// The handle that the program gets. `tool_handle` is that of another tool, or 0.
fn handle_for_program(tool_handle: usize) -> usize {
    if tool_handle == 0 && !tool::is_attached() { next_handle() } else { tool_handle }
}

/// A domain was created. `tool_handle` is the handle of another tool, or 0. Returns the program's handle.
pub fn create(name: &[u8], tool_handle: usize) -> usize {
    let handle = handle_for_program(tool_handle);
    let is_known = find(handle, Of::Domain).is_some_and(|entry| name_of(entry.meaning.load(Acquire) as u32) == name);
    if handle == 0 || is_known || switch::has_left() {
        return handle;
    }
    let number = COUNT.fetch_add(1, AcqRel);
    match ALL.get_or_new(number as usize).and_then(|_| entry(handle, Of::Domain)) {
        Some(entry) => announce(number, name).into_iter().for_each(|()| entry.meaning.store(number as usize, Release)),
        None => page::count(diagnostic::RANGE_NAME_LOST, 1),
    }
    handle
}

/// Writes the object of a domain.
fn announce(number: u32, name: &[u8]) -> Option<()> {
    let (object, layer) = (u64::from(object_of(number)), u64::from(Layer::NVTX.number()));
    let record = Name { kind: kind::OBJECT, ticks: 0, a: object, b: object, c: layer, s: name, t: &[] };
    let text = names::write(&record)?;
    let domain = ALL.get(number as usize)?;
    domain.length.store(name.len() as u32, Relaxed);
    domain.name.store(text as usize, Release);
    Some(())
}

/// The number of a domain's handle.
pub fn number_of(handle: usize) -> u32 {
    if handle == 0 {
        return DEFAULT;
    }
    find(handle, Of::Domain).map_or(DEFAULT, |entry| entry.meaning.load(Acquire) as u32)
}

/// The object of a domain, whose slots and schemas name it.
pub fn object_of(number: u32) -> u32 {
    FIRST_OBJECT | number
}

/// The name of a domain.
pub fn name_of(number: u32) -> &'static [u8] {
    announced(number).unwrap_or(DEFAULT_NAME)
}

/// The name of a domain whose object is written.
fn announced(number: u32) -> Option<&'static [u8]> {
    let domain = ALL.get(number as usize)?;
    let name = domain.name.load(Acquire) as *const u8;
    if name.is_null() {
        return None;
    }
    // SAFETY: `announce` put text there that is in the names file's mapping, which is never given back.
    Some(unsafe { core::slice::from_raw_parts(name, domain.length.load(Relaxed) as usize) })
}

/// The slot of what is recorded in a domain. None if it cannot be announced.
pub fn slot(number: u32, of: Moment) -> Option<u32> {
    let place = ALL.get(number as usize)?.slots.get(of as usize)?;
    match place.load(Acquire) {
        0 => {}
        slot => return Some(slot - 1),
    }
    if announced(number).is_none() {
        announce(number, DEFAULT_NAME)?;
    }
    let (route, words, is_moment) = of.shape();
    let slot = table::number_without_thunk();
    let origin = u64::from(object_of(number)) | u64::from(route) << 32 | u64::from(is_moment) << 40;
    let origin = origin | shape(words, 0, 0) << 44;
    names::write(&Name { kind: kind::SLOT, ticks: 0, a: slot.into(), b: origin, c: 0, s: b"range", t: &[] })?;
    // Two threads may both have made one: each is as good.
    place.store(slot + 1, Release);
    Some(slot)
}

/// Whether the filter wants ranges of this name.
pub fn is_selected(number: u32, text: &[u8]) -> bool {
    armed::is_selected_now(Layer::NVTX.number(), name_of(number), text)
}

/// A string was registered. `tool_handle` as in `create`. Returns the program's handle.
pub fn register(text: &[u8], tool_handle: usize) -> usize {
    let handle = handle_for_program(tool_handle);
    if handle == 0 || switch::has_left() {
        return handle;
    }
    let Some(entry) = entry(handle, Of::Text) else {
        page::count(diagnostic::RANGE_NAME_LOST, 1);
        return handle;
    };
    if let Some(at) = keep_text(text) {
        entry.length.store(text.len() as u32, Relaxed);
        entry.meaning.store(at as usize, Release);
    }
    handle
}

/// Keeps a text for as long as the process lives; where it is.
pub fn keep_text(text: &[u8]) -> Option<*const u8> {
    names::write(&Name { kind: kind::FILLER, ticks: 0, a: 0, b: 0, c: 0, s: text, t: &[] })
}

/// A text that was kept at an address; 0: none.
pub fn kept_text(at: usize, length: u32) -> &'static [u8] {
    if at == 0 {
        return &[];
    }
    // SAFETY: `keep_text` gave the address; it is in the names file's mapping, which is never given back.
    unsafe { core::slice::from_raw_parts(at as *const u8, length as usize) }
}

/// The text of a registered string.
pub fn registered(handle: usize) -> &'static [u8] {
    find(handle, Of::Text).map_or(&[], |entry| kept_text(entry.meaning.load(Acquire), entry.length.load(Relaxed)))
}
