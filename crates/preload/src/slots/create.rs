//! Making slots: which functions have one, which interceptors it has, and which frame.
//!
//! A slot is filled before its number is published by one compare-and-swap in the hash, so a child that forked in the
//! middle loses nothing but a number.

use super::code::{Code, code, thunk};
use super::hooks::{self, Info};
use super::interceptors::{self, Candidate};
use super::slot::Slot;
use super::table::{slot, state_number, take_number, take_numbers};
use super::{extension, plan, rows};
use crate::loader::objects::Object;
use crate::loader::{announce, forks};
use crate::process::{armed, folder, names, own, page, run};
use crate::ring::counts::THUNKS;
use crate::ring::kept_calls;
use core::sync::atomic::{AtomicU32, Ordering::*};
use cutap_calls::hidden::is_slot_name;
use cutap_calls::{Layer, Role, has_role};
use cutap_hook::contract;
use cutap_wire::kept_calls::{ContextCall, Wanted};
use cutap_wire::names::{HIDDEN, Name, kind, route, shape};
use cutap_wire::{control, diagnostic};

const HASH: usize = THUNKS * 4;
static BY_ADDRESS: [AtomicU32; HASH] = [const { AtomicU32::new(0) }; HASH];

/// Where in `BY_ADDRESS` a key is looked for first. Keys are multiples of 8, or of 16 if they are functions. Those of
/// 8 KiB share a page of the table, for each new page costs as much as the rest of the look-up.
fn cell_of(key: usize) -> usize {
    const IN_PAGE: usize = 4096 / size_of::<AtomicU32>();
    const PAGES: usize = HASH / IN_PAGE;
    let page = (key >> 13).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    (page % PAGES) * IN_PAGE + (key >> 3) % IN_PAGE
}

/// The address to hand out for `real`, a function `name` of `owner`; `None`: the real one.
pub fn for_function(real: usize, owner: &Object, name: &[u8], how: u8) -> Option<usize> {
    let name = if owner.only_listed { cutap_calls::listed(name)?.as_bytes() } else { name };
    // The runtime's own cuKernelGetName is a separate slot, for it may be called because we watch.
    let load = owner.id | if interceptors::is_self_induced_name(name, how) { 1 << 31 } else { 0 };
    // A word of a table may hold the same function: that is another slot.
    let is = |s: &Slot| !is_slot_name(s.name());
    find_or_make(real, real, load, is, || create(real, owner, load, owner.layer, name, how))
}

/// The address to put into a word of an export table in place of `real`; `None`: it stays.
pub fn for_word(word: usize, real: usize, owner: &Object, name: &[u8]) -> Option<usize> {
    let create_slot = || create(real, owner, owner.id, Layer::HIDDEN.number(), name, route::EXPORT_TABLE);
    find_or_make(word, real, owner.id, |s| s.name() == name, create_slot)
}

/// Finds the slot of a function and load, by a key that tells such slots apart.
fn find_or_make(
    key: usize,
    real: usize,
    load: u32,
    is: impl Fn(&Slot) -> bool,
    create_slot: impl Fn() -> Option<u32>,
) -> Option<usize> {
    let mut cell = cell_of(key);
    let mut number = 0;
    loop {
        let at = BY_ADDRESS.get(cell % HASH)?;
        let mut occupant = at.load(Acquire);
        if occupant == 0 {
            if number == 0 {
                number = create_slot()? + 1;
            }
            match at.compare_exchange(0, number, AcqRel, Acquire) {
                Ok(_) => return Some(thunk(number as usize - 1)),
                Err(existing) => occupant = existing,
            }
        }
        let s = slot(occupant - 1)?;
        if s.function.load(Relaxed) == real && s.object.load(Relaxed) == load && is(s) {
            return Some(thunk(occupant as usize - 1));
        }
        cell += 1;
    }
}

/// A thunk for a function that no symbol names and that is not recorded: only `interceptors` run.
pub fn for_interceptors(real: usize, interceptors: u32) -> Option<usize> {
    let n = take_number()?;
    let s = slot(n)?;
    s.real.store(real, Relaxed);
    s.function.store(real, Relaxed);
    s.interceptors.store(interceptors, Relaxed);
    s.entry.store(code()?.frame as usize, Release);
    Some(thunk(n as usize))
}

fn create(real: usize, owner: &Object, load: u32, of: u8, name: &[u8], how: u8) -> Option<u32> {
    if own::create_once() {
        forks::watch();
    }
    let cxx = name.starts_with(b"_Z");
    if cxx && run::flags() & control::CXX_NAMES == 0 {
        page::count(diagnostic::CXX_NOT_ASKED, 1);
        return None;
    }
    let code = code()?;
    let is_selected = armed::is_selected(of, owner.name(), name);
    let is_recorded = is_selected || armed::may_be_recorded(of, owner.name(), name);
    let candidate = Candidate { layer: of, library: owner.name(), name, route: how, is_recorded, is_selected };
    let interceptors = interceptors::chosen(&candidate);
    let of_kernel = interceptors & interceptors::KERNEL != 0;
    // Nothing is done to a function of the syscall layer that is neither recorded nor followed.
    let followed = of_kernel && extension::extension(|of| (of.is_on)() && (of.follows)(name)) == Some(true);
    if of_kernel && !followed && interceptors & interceptors::RECORD == 0 {
        return None;
    }
    let layer = hook_layer(of);
    // A C++ function's arguments by value may be larger than what a frame passes on.
    let hooked =
        !cxx && !of_kernel && !interceptors::is_self_induced_name(name, how) && hooks::want(layer, owner.name(), name);
    // Without a folder nothing can be told of it. The parent of a vfork child may have one later.
    if interceptors == 0 && !hooked || !folder::ensure_folder() {
        return None;
    }
    let is_state = interceptors & interceptors::RECORD != 0 && is_state(of, name);
    let n = take_numbers(if is_state { 2 } else { 1 })?;
    announce::announce(owner);
    if interceptors & interceptors::SUBMIT != 0 {
        extension::extension(|of| (of.announce)(owner));
    }
    let row = if cxx { 0 } else { rows::find(name, false, owner.major()) };
    let shape = rows::of(row).map_or(shape(6, 0, 0), |r| shape(r.ints, r.vectors, r.stack));
    let hidden = if is_selected { 0 } else { HIDDEN };
    let origin = u64::from(owner.id) | u64::from(how) << 32 | u64::from(cxx) << 40 | hidden | shape << 44;
    let record = Name { kind: kind::SLOT, ticks: 0, a: n.into(), b: origin, c: real as u64, s: name, t: &[] };
    let text = names::write(&record)?;
    if is_state {
        // Readers do not show the calls that are recorded although recording is off.
        names::write(&Name { a: u64::from(state_number(n)), b: origin | HIDDEN, ..record });
        [n, state_number(n)].into_iter().for_each(|n| kept_calls::keep_slot(n, wanted_of(name)));
    }
    let s = slot(n)?;
    s.real.store(real, Relaxed);
    s.function.store(real, Relaxed);
    if interceptors & interceptors::SELF_INDUCED != 0
        && has_role(name, Role::KernelFunction)
        && let Some(ours) = (code.kernel_function)(real)
    {
        s.real.store(ours, Relaxed);
    }
    if hooked && let Some(info) = hooks::info(n, real, owner, layer, name) {
        if interceptors == 0 {
            s.info.store(info, Release);
        } else if let Some(inner) = for_info(code, real, info) {
            s.real.store(inner, Relaxed);
        }
    }
    s.object.store(load, Relaxed);
    s.interceptors.store(interceptors, Relaxed);
    s.row.store(row, Relaxed);
    let state = if is_state { plan::STATE } else { 0 };
    // Hooks and stacks need each call.
    let is_chatter = interceptors == interceptors::RECORD && !hooked && counts_chatter(name);
    let chatter = if is_chatter { plan::CHATTER } else { 0 };
    s.plan.store(plan::of_row(row) | state | chatter, Relaxed);
    s.set_name(text, name.len());
    s.update_wanted(|| armed::is_selected_now(of, owner.name(), name));
    let to = match interceptors {
        _ if cxx => code.cxx_note as usize,
        0 => code.hooked as usize,
        interceptors::RECORD if hooked => code.gate as usize,
        interceptors::RECORD if is_chatter => (code.chatter)(row, owner).unwrap_or(code.gate as usize),
        interceptors::RECORD => match (code.fast)(n, row, owner) {
            Some((at, first)) => {
                s.first.store(first, Relaxed);
                at
            }
            None => code.gate as usize,
        },
        _ if interceptors & interceptors::STACK != 0 => code.call_stack as usize,
        interceptors::RECORD_SELF_INDUCED if of != Layer::HIDDEN.number() => {
            // Those that are the program's may have the fast frame.
            if let Some((_, first)) = (code.fast)(n, row, owner) {
                s.first.store(first, Relaxed);
            }
            code.own_calls as usize
        }
        _ => code.frame as usize,
    };
    s.entry.store(to, Release);
    Some(n)
}

/// How a flight recorder keeps calls on which later ones depend.
fn wanted_of(name: &[u8]) -> Wanted {
    match () {
        () if has_role(name, Role::CurrentContext) => Wanted::Context(ContextCall::Sets),
        () if has_role(name, Role::PushesContext) => Wanted::Context(ContextCall::Pushes),
        () if has_role(name, Role::PopsContext) => Wanted::Context(ContextCall::Pops),
        () => Wanted::Yes,
    }
}

/// Whether calls of a function are recorded although recording is off: those of the driver and of toolkit libraries.
/// A runtime makes and ends things by calls of the driver.
fn is_state(layer: u8, name: &[u8]) -> bool {
    let layers = [Layer::DRIVER.number(), Layer::LIBRARY.number()];
    layers.contains(&layer) && core::str::from_utf8(name).is_ok_and(cutap_calls::keeps_state)
}

/// Whether calls of a function are counted, because it starts no work.
pub fn counts_chatter(name: &[u8]) -> bool {
    run::flags() & control::COUNT_CHATTER != 0 && core::str::from_utf8(name).is_ok_and(cutap_calls::is_chatter)
}

const _: () = assert!(
    Layer::LIBRARY.bit() == contract::LIBRARY
        && Layer::RUNTIME.bit() == contract::RUNTIME
        && Layer::DRIVER.bit() == contract::DRIVER
        && Layer::HIDDEN.bit() == contract::HIDDEN
);

/// A layer as the contract with hooks has it.
fn hook_layer(layer: u8) -> u32 {
    Layer::of_number(layer).map_or(0, Layer::bit)
}

/// The inner thunk of a function that is recorded and has hooks: the frame around them.
fn for_info(code: &Code, real: usize, info: Info) -> Option<usize> {
    let n = take_number()?;
    let s = slot(n)?;
    s.real.store(real, Relaxed);
    s.function.store(real, Relaxed);
    s.info.store(info, Release);
    s.entry.store(code.hooked as usize, Release);
    Some(thunk(n as usize))
}
