//! Three functions of PyTorch's autograd, in runs that keep Python frames: they get slots, which are not recorded.
//! PyTorch calls its own exports through words that the loader binds at the first call. Such a word gets the slot
//! before.
//!
//! Limits: a function of the same name in another library is passed by, and calls of a PyTorch that is linked otherwise
//! are not seen.

use crate::loader::elf::{Rela, Sym};
use crate::loader::objects::{Object, Snapshot};
use crate::python::{self, backward};
use crate::slots::create;
use crate::slots::interceptors::{NODE_MADE, NODE_RUNS, PASS_BEGINS};
use core::sync::atomic::{AtomicUsize, Ordering::*};
use cutap_calls::generated::python::{AUTOGRAD, NODES};

/// The functions of a PyTorch that is loaded.
#[derive(Clone, Copy)]
pub struct Functions {
    /// Where its library lies.
    base: usize,
    /// Each with its name and its interceptor.
    all: [(usize, &'static [u8], u32); 3],
}

/// Slots that were made, of all that were loaded: function, slot.
const MOST: usize = 12;
static SLOTS: [(AtomicUsize, AtomicUsize); MOST] = [const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; MOST];

/// PyTorch's functions, if it is loaded and known. Only under the loader's lock.
pub fn find(snapshot: &Snapshot) -> Option<Functions> {
    if !python::is_on() {
        return None;
    }
    let library = snapshot.objects().iter().find(|o| o.live && o.name() == AUTOGRAD.library)?;
    let layout = || NODES.iter().enumerate().find_map(|(n, of)| Some((n, export(library, of.execute)?)));
    let functions = (|| {
        let (n, execute) = layout()?;
        let of_nodes = [export(library, AUTOGRAD.numbers_node)?, export(library, AUTOGRAD.evaluate)?];
        Some((export(library, AUTOGRAD.thread)?, n, execute, of_nodes))
    })();
    let Some((thread, n, execute, [numbers_node, evaluate])) = functions else {
        backward::unknown(library.name());
        return None;
    };
    static FOUND: AtomicUsize = AtomicUsize::new(0);
    if FOUND.swap(thread, AcqRel) != thread {
        backward::set_functions(thread, n);
    }
    let execute_name = NODES.get(n)?.execute;
    let all = [
        (numbers_node, AUTOGRAD.numbers_node, NODE_MADE),
        (execute, execute_name, PASS_BEGINS),
        (evaluate, AUTOGRAD.evaluate, NODE_RUNS),
    ];
    Some(Functions { base: library.base, all })
}

/// The address of something that an object exports.
fn export(object: &Object, name: &[u8]) -> Option<usize> {
    let mut address = None;
    let defined = |symbol: &Sym, _: usize| {
        address = (symbol.value != 0).then(|| object.base.wrapping_add(symbol.value));
        address.is_some()
    };
    // SAFETY: the object is live, and the loader's lock keeps it so.
    unsafe { object.tables.find(name, defined) };
    address
}

impl Functions {
    /// The slot for a word of `of` that holds `value`: one of the functions, or the loader's way to bind it.
    ///
    /// # Safety
    /// `symbol` is that of the word, in the tables of `of`, which is mapped.
    pub unsafe fn slot(&self, of: &Object, word: &Rela, symbol: &Sym, value: usize) -> Option<usize> {
        let exact = |address: usize| self.all.iter().find(|(function, ..)| *function == address);
        let (function, _, interceptor) = match exact(value) {
            Some(same) => same,
            None if !word.is_jump_slot() || !of.has_code(value) => return None,
            None if symbol.section != 0 => exact(of.base.wrapping_add(symbol.value))?,
            None => {
                // SAFETY: the caller's promise.
                let name = unsafe { of.tables.string(symbol.name as usize) };
                self.all.iter().find(|(_, of, _)| *of == name)?
            }
        };
        slot(*function, *interceptor)
    }

    /// The words of an object were looked at, and so many lead to slots now.
    pub fn looked_at(&self, of: &Object, slots: u32) {
        // At a later look they lead there already.
        static CHECKED: AtomicUsize = AtomicUsize::new(0);
        if of.base == self.base && CHECKED.swap(of.base, AcqRel) != of.base && slots & NEEDED != NEEDED {
            backward::unknown(b"it calls its own functions directly");
        }
    }

    /// Which function a slot has that `slot` gave.
    pub fn which(&self, slot: usize) -> u32 {
        let is_it = |(_, of): &&(AtomicUsize, AtomicUsize)| of.load(Relaxed) == slot;
        let function = SLOTS.iter().find(is_it).map_or(0, |(function, _)| function.load(Relaxed));
        self.all.iter().find(|(of, ..)| *of == function).map_or(0, |(_, _, interceptor)| *interceptor)
    }
}

/// What PyTorch's own library has to call through words.
const NEEDED: u32 = NODE_MADE | NODE_RUNS;

/// Only under the loader's lock.
fn slot(function: usize, interceptor: u32) -> Option<usize> {
    for (of, slot) in &SLOTS {
        let occupant = of.compare_exchange(0, function, AcqRel, Acquire);
        if occupant.is_err_and(|other| other != function) {
            continue;
        }
        let existing = slot.load(Acquire);
        if existing != 0 {
            return Some(existing);
        }
        let new = create::for_interceptors(function, interceptor)?;
        slot.store(new, Release);
        return Some(new);
    }
    None
}
