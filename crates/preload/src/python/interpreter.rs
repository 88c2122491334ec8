//! The process's Python: which it is, and where it keeps things. It is looked for at the first call whose frames are
//! wanted, and again when a library was loaded, until there is one.

use super::memory::Memory;
use crate::loader::elf::Sym;
use crate::loader::objects::{NAME, Object};
use crate::loader::{list, live, lock};
use crate::process::names;
use crate::process::path::Shared;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use cutap_calls::generated::python::{COOKIE, DEBUG_FREE_THREADED, DEBUG_VERSION, LAYOUTS, RUNTIME, THREAD, VERSION};
use cutap_calls::python::{FIELDS, Field, Layout, OBJECT_TYPE, TYPE_NAME, is_other_python, layout};
use cutap_wire::diagnostic;

/// As the offset of a field: there is none.
pub const NONE: u32 = u32::MAX;

/// A Python.
#[derive(Clone, Copy)]
pub struct Interpreter {
    /// Where its object lies.
    base: usize,
    /// The function that returns the state of this thread.
    thread: usize,
    /// `_PyRuntime`.
    runtime: usize,
    offsets: [u32; FIELDS],
    /// See `Layout::lines`.
    pub lines: u8,
    /// See `Layout::index_bytes`.
    pub index_bytes: u8,
}

/// Pythons that are met one after the other: a program may unload one and load another.
const MOST_PYTHONS: usize = 4;
static INTERPRETERS: Shared<[Interpreter; MOST_PYTHONS]> = Shared(UnsafeCell::new(
    [Interpreter { base: 0, thread: 0, runtime: 0, offsets: [NONE; FIELDS], lines: 0, index_bytes: 0 }; MOST_PYTHONS],
));
/// How many of them were met: the last one is that of the process.
static MET: AtomicUsize = AtomicUsize::new(0);
/// What the loader had counted when the last one was seen to be there.
static SEEN_AT: AtomicU64 = AtomicU64::new(0);

const NOT_YET: u8 = 0;
const BEING_MADE: u8 = 1;
const READY: u8 = 2;
const UNUSABLE: u8 = 3;
static STATE: AtomicU8 = AtomicU8::new(NOT_YET);
/// Objects that the loader had added when we looked last, plus one.
static LOOKED: AtomicU64 = AtomicU64::new(0);
/// Stacks that were read by copies and made sense.
static PROOFS: AtomicU32 = AtomicU32::new(0);
/// So many prove the layout.
const ENOUGH: u32 = 16;
/// The types of code and of text; 0: not met yet.
static CODE_TYPE: AtomicUsize = AtomicUsize::new(0);
static TEXT_TYPE: AtomicUsize = AtomicUsize::new(0);

/// The process's Python, if there is one that is known.
#[inline(always)]
pub fn interpreter() -> Option<&'static Interpreter> {
    if STATE.load(Acquire) != READY {
        return find_python();
    }
    let python = met(MET.load(Acquire).wrapping_sub(1))?;
    // SAFETY: written before the state became READY, and never after.
    let python = unsafe { &*python };
    match lock::changes() {
        Some(changes) if changes == SEEN_AT.load(Relaxed) => Some(python),
        changes => is_there(python, changes).then_some(python),
    }
}

#[inline(always)]
fn met(n: usize) -> Option<*mut Interpreter> {
    // SAFETY: one of the array.
    (n < MOST_PYTHONS).then(|| unsafe { INTERPRETERS.0.get().cast::<Interpreter>().add(n) })
}

/// Something was loaded or unloaded: whether this Python is still there. If not, another one is looked for.
#[cold]
fn is_there(python: &Interpreter, changes: Option<u64>) -> bool {
    if lock::is_mine() {
        return false;
    }
    let is_it = |object: &Object| {
        export(object, THREAD) == Some(python.thread) && export(object, RUNTIME) == Some(python.runtime)
    };
    // A child that may not ask the loader has what its parent had.
    if list::is_off() || live::each(|base| base == python.base, |object| is_it(object).then_some(())).is_some() {
        SEEN_AT.store(changes.unwrap_or(0), Relaxed);
        return true;
    }
    if STATE.compare_exchange(READY, BEING_MADE, AcqRel, Acquire).is_ok() {
        CODE_TYPE.store(0, Relaxed);
        TEXT_TYPE.store(0, Relaxed);
        PROOFS.store(0, Relaxed);
        LOOKED.store(0, Relaxed);
        STATE.store(NOT_YET, Release);
    }
    false
}

#[cold]
fn find_python() -> Option<&'static Interpreter> {
    let adds = lock::adds().map_or(1, |adds| adds + 1);
    if LOOKED.load(Acquire) == adds || lock::is_mine() {
        return None;
    }
    if STATE.compare_exchange(NOT_YET, BEING_MADE, AcqRel, Acquire).is_err() {
        return None;
    }
    let (mut is_unknown, mut name, mut length) = (false, [0u8; NAME], 0);
    let result = live::each(
        |_| true,
        |object| {
            let python = match of_object(object) {
                Found::Nothing => return None,
                Found::Python(python) => Some(python),
                Found::Unknown => None,
            };
            is_unknown = python.is_none();
            let text = if object.name().is_empty() { &b"the program"[..] } else { object.name() };
            name.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
            length = text.len().min(NAME);
            Some(python)
        },
    );
    let count = MET.load(Relaxed);
    let state = match (result.flatten(), met(count)) {
        (Some(python), Some(place)) => {
            // SAFETY: only the thread that made the state BEING_MADE is here. No other one reads this place before
            // READY.
            unsafe { *place = python };
            MET.store(count + 1, Release);
            READY
        }
        (Some(_), None) => UNUSABLE,
        (None, _) if is_unknown => {
            names::gap_named(diagnostic::PYTHON_UNKNOWN, name.get(..length).unwrap_or(&[]));
            UNUSABLE
        }
        (None, _) => NOT_YET,
    };
    LOOKED.store(if lock::adds().is_some() { adds } else { 1 }, Release);
    STATE.store(state, Release);
    if state == READY { interpreter() } else { None }
}

enum Found {
    /// It is no Python.
    Nothing,
    /// One that is not known.
    Unknown,
    Python(Interpreter),
}

fn of_object(object: &Object) -> Found {
    if is_other_python(object.name()) {
        return Found::Unknown;
    }
    let Some(thread) = export(object, THREAD) else { return Found::Nothing };
    match export(object, RUNTIME)
        .zip(layout_of(object))
        .and_then(|(runtime, of)| filled(object.base, thread, runtime, of))
    {
        Some(python) => Found::Python(python),
        None => Found::Unknown,
    }
}

/// The address of something that an object exports.
fn export(object: &Object, name: &[u8]) -> Option<usize> {
    let mut address = None;
    let defined = |symbol: &Sym, _: usize| {
        let is_defined = symbol.section != 0 && symbol.value != 0;
        if is_defined {
            address = Some(object.base.wrapping_add(symbol.value));
        }
        is_defined
    };
    // SAFETY: the loader's list has the object now.
    unsafe { object.tables.find(name, defined) };
    address
}

fn layout_of(object: &Object) -> Option<&'static Layout> {
    let checked = Memory { is_proved: false };
    if let Some(version) = export(object, VERSION) {
        let version = checked.half(version)?;
        return if version >> 24 == 3 { layout((version >> 16) as u8) } else { None };
    }
    LAYOUTS.iter().rev().find(|of| !of.symbol.is_empty() && export(object, of.symbol).is_some())
}

/// The offsets, also those that the interpreter itself knows.
fn filled(base: usize, thread: usize, runtime: usize, of: &Layout) -> Option<Interpreter> {
    let checked = Memory { is_proved: false };
    if checked.bytes(runtime, COOKIE.len(), |bytes| bytes == COOKIE) == Some(true) {
        let version = checked.word(runtime + DEBUG_VERSION)?;
        let is_known = (version >> 16) as u8 == of.minor && checked.word(runtime + DEBUG_FREE_THREADED)? == 0;
        if !is_known {
            return None;
        }
    }
    let mut offsets = [NONE; FIELDS];
    for (field, to) in offsets.iter_mut().enumerate() {
        *to = match of.offset(field) {
            None => continue,
            Some((offset, false)) => offset as u32,
            Some((place, true)) => u32::try_from(checked.word(runtime + place)?).ok().filter(|at| *at < 1 << 20)?,
        };
    }
    Some(Interpreter { base, thread, runtime, offsets, lines: of.lines, index_bytes: of.index_bytes })
}

impl Interpreter {
    /// The offset of a field, or [`NONE`].
    #[inline(always)]
    fn offset(&self, field: Field) -> u32 {
        self.offsets.get(field as usize).copied().unwrap_or(NONE)
    }

    /// Where a field of a struct is, if this version has it.
    #[inline(always)]
    pub fn field(&self, of: usize, field: Field) -> Option<usize> {
        let offset = self.offset(field);
        (offset != NONE).then(|| of.wrapping_add(offset as usize))
    }

    /// The state of this thread, 0: it has none, or the interpreter is ending.
    #[inline(always)]
    pub fn thread_state(&self) -> usize {
        // SAFETY: CPython's function of that name; it takes nothing and reads a word of the thread.
        let state = unsafe { core::mem::transmute::<usize, extern "C" fn() -> usize>(self.thread)() };
        if self.is_ending_for(state) { 0 } else { state }
    }

    /// Another thread ends the interpreter, and may give back the state and the frames of this one.
    #[inline(always)]
    pub fn is_ending_for(&self, state: usize) -> bool {
        let ending = self.field(self.runtime, Field::RuntimeFinalizing).and_then(|at| self.memory().address(at));
        ending.is_some_and(|by| by != 0 && by != state)
    }

    /// How its memory is read by now.
    #[inline(always)]
    pub fn memory(&self) -> Memory {
        Memory { is_proved: PROOFS.load(Relaxed) >= ENOUGH }
    }
}

/// A stack was read by copies, from its innermost frame to its end.
pub fn made_sense() {
    PROOFS.fetch_add(1, Relaxed);
}

/// A stack made no sense. Before the layout has proved right, it is wrong: nothing is read any more.
#[cold]
pub fn made_no_sense() -> bool {
    if PROOFS.load(Relaxed) >= ENOUGH {
        return false;
    }
    if STATE.swap(UNUSABLE, AcqRel) != UNUSABLE {
        names::gap_named(diagnostic::PYTHON_UNKNOWN, b"its frames are not where they were expected");
    }
    true
}

/// Whether an object is code.
#[inline(always)]
pub fn is_code(memory: Memory, object: usize) -> bool {
    is_of(memory, object, &CODE_TYPE, b"code\0")
}

/// Whether an object is a text.
#[inline(always)]
pub fn is_text(memory: Memory, object: usize) -> bool {
    is_of(memory, object, &TEXT_TYPE, b"str\0")
}

#[inline(always)]
fn is_of(memory: Memory, object: usize, type_address: &AtomicUsize, name: &[u8]) -> bool {
    match memory.address(object.wrapping_add(OBJECT_TYPE)) {
        Some(of) if of != 0 && of == type_address.load(Relaxed) => true,
        Some(of) => type_address.load(Relaxed) == 0 && is_named(of, type_address, name),
        None => false,
    }
}

/// The first object of a type: the type has this name.
#[cold]
fn is_named(of: usize, type_address: &AtomicUsize, name: &[u8]) -> bool {
    let checked = Memory { is_proved: false };
    let is_named = |at| checked.bytes(at, name.len(), |text| text == name);
    let named = checked.address(of.wrapping_add(TYPE_NAME)).and_then(is_named) == Some(true);
    if named {
        type_address.store(of, Relaxed);
    }
    named
}

/// A forked child has the same interpreter; its parent may have been looking for it.
pub fn forked() {
    let _ = STATE.compare_exchange(BEING_MADE, NOT_YET, AcqRel, Acquire);
    LOOKED.store(0, Relaxed);
}
