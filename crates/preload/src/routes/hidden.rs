//! The functions in the tables that cuGetExportTable returns. A table is never moved or copied: its words are exchanged
//! in place for slots, once the whole table has shown that it holds functions of the library that returned it. What is
//! left alone is counted and listed.

use crate::capture::copy::checked;
use crate::loader::live;
use crate::loader::objects::Object;
use crate::slots::{self, thunks_x86_64::Frame};
use crate::{hook, start, sys};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};
use cutap_calls::Layer;
use cutap_calls::hidden::{SlotName, Treatment, table};
use cutap_hook::contract;
use cutap_wire::{PAGE, diagnostic};

/// Bytes of a table at most: ten times the longest known.
const MOST: usize = 64 * 1024;
/// Words that are looked at together.
const TOGETHER: usize = 64;

/// Why a table is left alone.
#[derive(Clone, Copy)]
enum Why {
    Profiler,
    Check,
    NoOwner,
    NoLength,
    Damaged,
    Unaligned,
    InText,
    Outside,
    Foreign,
    Protected,
}

impl Why {
    fn text(self) -> &'static [u8] {
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

/// Whether anything of the layer may be recorded or is wanted by a hook.
pub fn is_on() -> bool {
    start::armed::holds_layer(Layer::HIDDEN.number()) || hook::library::any(contract::HIDDEN)
}

/// The function of `frame`'s slot has returned this table. `profiler`: to one.
pub fn came(frame: &Frame, uuid: &[u8; 16], at: usize, profiler: bool) {
    let known = table(uuid);
    let why = match known.map(|t| t.treatment) {
        Some(Treatment::Runtime) => return,
        Some(Treatment::Left) => Err(Why::Check),
        _ if profiler => Err(Why::Profiler),
        _ => live::at(slots::function_of(frame.slot), |owner| {
            // SAFETY: in the loader's callback: the owner is mapped.
            unsafe { wrap(owner, uuid, at, known.map(|t| (t.sized, t.words)), is_known_at(at)) }
        })
        .unwrap_or(Err(Why::NoOwner)),
    };
    match why {
        Ok(()) => remember(at),
        Err(why) if first(uuid, why) => {
            start::count(diagnostic::HIDDEN_TABLE_LEFT, 1);
            let name = SlotName::new(uuid, 0);
            start::gap(diagnostic::HIDDEN_TABLE_LEFT, name.bytes().get(..8).unwrap_or(&[]), why.text());
        }
        Err(_) => {}
    }
}

/// Exchanges the words of a table. `before`: that was done before, so another tool may have taken words since.
///
/// # Safety
/// The owner is mapped.
unsafe fn wrap(
    owner: &Object,
    uuid: &[u8; 16],
    at: usize,
    known: Option<(bool, [u32; 5])>,
    before: bool,
) -> Result<(), Why> {
    if !at.is_multiple_of(8) {
        return Err(Why::Unaligned);
    }
    if at < owner.span.0 || at >= owner.span.1 {
        return Err(Why::Outside);
    }
    if owner.has_code(at) {
        return Err(Why::InText);
    }
    let words = match known {
        Some((false, words)) => 0..words.into_iter().max().unwrap_or(0) as usize,
        _ => {
            let mut size = 0usize;
            // SAFETY: a word of ours.
            if unsafe { checked(at, (&raw mut size).cast(), 8) } != 8 {
                return Err(Why::Damaged);
            }
            if owner.has_code(size) || slots::is_thunk(size) {
                return Err(Why::NoLength);
            }
            if !size.is_multiple_of(8) || !(16..=MOST).contains(&size) {
                return Err(Why::Damaged);
            }
            1..size / 8
        }
    };
    if owner.span.1 - at < words.end * 8 {
        return Err(Why::Outside);
    }
    let mut whole = Ok(());
    each(at, &words, |_, word| {
        if word != 0 && !slots::is_thunk(word) && !owner.has_code(word) {
            whole = Err(Why::Foreign);
        }
    })
    .ok_or(Why::Outside)?;
    match whole {
        Err(_) if before => return Ok(()),
        whole => whole?,
    }
    let mut writable = false;
    each(at, &words, |n, word| {
        if word == 0 || slots::is_thunk(word) || whole.is_err() {
            return;
        }
        let Some(thunk) = slots::for_word(at + n * 8, word, owner, SlotName::new(uuid, n as u32).bytes()) else {
            return;
        };
        if !writable {
            let (from, to) = ((at + words.start * 8) & !(PAGE - 1), (at + words.end * 8).next_multiple_of(PAGE));
            // SAFETY: adds a right to pages of the owner's data. They stay writable: another thread may be here too.
            writable = unsafe { sys::protect(from, to - from, sys::PROT_READ | sys::PROT_WRITE) };
            if !writable {
                whole = Err(Why::Protected);
            }
        }
        if writable {
            // SAFETY: an aligned word of a writable page.
            let place = unsafe { &*((at + n * 8) as *const AtomicUsize) };
            let _ = place.compare_exchange(word, thunk, AcqRel, Relaxed);
        }
    })
    .ok_or(Why::Outside)?;
    whole
}

/// Calls `f` with the number and the value of each word. `None`: not all can be read.
fn each(at: usize, words: &core::ops::Range<usize>, mut f: impl FnMut(usize, usize)) -> Option<()> {
    let mut from = words.start;
    while from < words.end {
        let mut some = [0usize; TOGETHER];
        let count = (words.end - from).min(TOGETHER);
        // SAFETY: a buffer of ours.
        if unsafe { checked(at + from * 8, some.as_mut_ptr().cast(), count * 8) } != count * 8 {
            return None;
        }
        some.iter().take(count).enumerate().for_each(|(n, word)| f(from + n, *word));
        from += count;
    }
    Some(())
}

/// Tables that are listed, and those whose words were exchanged. More are counted each time.
static LISTED: [AtomicU64; 256] = [const { AtomicU64::new(0) }; 256];
static DONE: [AtomicU64; 256] = [const { AtomicU64::new(0) }; 256];

/// True where this is to be counted: once for each table and reason.
fn first(uuid: &[u8; 16], why: Why) -> bool {
    let [a, b, c, d, ..] = *uuid;
    put(&LISTED, u64::from(u32::from_le_bytes([a, b, c, d])) << 8 | (why as u64 + 1))
}

fn remember(at: usize) {
    put(&DONE, at as u64);
}

fn is_known_at(at: usize) -> bool {
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
