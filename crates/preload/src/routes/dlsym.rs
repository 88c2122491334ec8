//! dlsym, dlvsym, dladdr, dladdr1. With a real handle the answer does not depend on the caller: call
//! on, look at the address. With RTLD_DEFAULT and RTLD_NEXT it does: a name that no watched library
//! defines jumps on with the caller's return address in place, others are asked through a `ret`
//! inside the caller's own object.
//!
//! It must work before our constructor ran, inside any constructor, and with no run directory at all.

use crate::exec::{self, vfork};
use crate::loader::objects::{self, Object};
use crate::loader::{list, live, real};
use crate::nvtx::looked_up_tool;
use crate::process::{injection, names, page, switch};
use crate::rewrite::{injection_path, libc, notice, profiler};
use crate::ring::record;
use crate::slots::code::code;
use crate::slots::{create, patched, table};
use crate::sys::arch::shadow_stack;
use crate::sys::{self, allowed};
use cutap_calls::Layer;
use cutap_wire::diagnostic;
use cutap_wire::names::route;
use cutap_wire::record::{PASSED_ON, lookup};

const RTLD_NEXT: usize = usize::MAX;
const RTLD_DEFAULT: usize = 0;

type Real = unsafe extern "C" fn(usize, *const u8, *const u8) -> usize;

/// dlsym and dlvsym alike: a third argument does no harm.
///
/// # Safety
/// `real` is one of the two, with the arguments of a real request.
unsafe fn call(real: usize, handle: usize, name: *const u8, version: *const u8) -> usize {
    // SAFETY: the caller's promise.
    unsafe { core::mem::transmute::<usize, Real>(real)(handle, name, version) }
}

/// What the exported dlsym and dlvsym do first, in a process that has started. 0: jump on to the real one.
///
/// # Safety
/// Arguments of a request of the program's, with a name.
pub unsafe fn intercept(handle: usize, name: *const u8, version: *const u8, caller: usize) -> usize {
    // SAFETY: the program's string.
    let text = unsafe { sys::text(name, 4096) };
    if allowed::has_own_filter() {
        if cutap_calls::in_family(text) {
            page::count(diagnostic::LOOKUP_JUMPED, 1);
        }
        return 0;
    }
    notice::notice();
    let real = real::next(if version.is_null() { real::DLSYM } else { real::DLVSYM });
    if real == 0 {
        return 0;
    }
    let answer = if handle == RTLD_DEFAULT || handle == RTLD_NEXT {
        // SAFETY: as above.
        unsafe { ask_as_caller(real, handle, text, name, version, caller) }
    } else {
        // SAFETY: as above.
        let address = unsafe { call(real, handle, name, version) };
        Some(instead_of_libcs(address).unwrap_or_else(|| hand_out(address, text, caller, route::DLSYM)))
    };
    patched::look_at_some(answer.unwrap_or(0));
    if switch::lookups() {
        let which = if version.is_null() { lookup::DLSYM } else { lookup::DLVSYM };
        let status = if answer.is_some() { 0 } else { PASSED_ON };
        record::lookup(which, caller, handle, 0, &table::answer(answer.unwrap_or(0)), status, text);
    }
    // 0 jumps on and asks once more: the answer is the same, and dlerror is as the real one leaves it.
    answer.unwrap_or(0)
}

/// What a look-up by name gives, for a function of libc's that was found in libc itself: one that starts programs, or
/// vfork.
fn instead_of_libcs(found: usize) -> Option<usize> {
    exec::entry_for(found).or_else(|| vfork::entry_for(found))
}

/// # Safety
/// As `intercept`.
unsafe fn ask_as_caller(
    real: usize,
    handle: usize,
    text: &[u8],
    name: *const u8,
    version: *const u8,
    caller: usize,
) -> Option<usize> {
    let is_profilers = || profiler::is_name(text);
    if !real::is_loader_name(text) && !is_request(text, caller) && !is_profilers() && !exported_by_watched(text) {
        return None;
    }
    let Some(gate) = live::at(caller, Object::ret).flatten().filter(|_| !shadow_stack()) else {
        page::count(diagnostic::LOOKUP_JUMPED, 1);
        return None;
    };
    // SAFETY: the gate is a `ret` in the caller's object, which is running and so stays mapped.
    let address = unsafe { (code()?.call_through)(real, handle, name, version, gate) };
    Some(hand_out(address, text, caller, route::DLSYM))
}

/// True when a library whose requests to the kernel are recorded looks up a function that makes them.
fn is_request(name: &[u8], caller: usize) -> bool {
    libc::is_on() && libc::is_name(name) && live::at(caller, libc::is_user) == Some(true)
}

/// True when a watched library that is loaded defines the name.
fn exported_by_watched(name: &[u8]) -> bool {
    let mut bases = [0usize; 128];
    objects::with(|s| {
        for (to, o) in bases.iter_mut().zip(s.objects().iter().filter(|o| o.layer != 0)) {
            *to = o.base;
        }
    });
    live::each(
        |base| base != 0 && bases.contains(&base),
        // SAFETY: under the loader's lock.
        |o| (o.layer != 0 && unsafe { o.tables.find(name, |_, _| true) }).then_some(()),
    )
    .is_some()
}

/// The slot of the function that `found` is, or `found` itself.
pub fn hand_out(found: usize, name: &[u8], caller: usize, how: u8) -> usize {
    if found == 0 {
        return 0;
    }
    if let Some(entry) = looked_up_tool::replacement(found, name) {
        return entry;
    }
    if real::is_replaced(found) {
        return replaced_for(found, caller).unwrap_or(found);
    }
    if is_request(name, caller) {
        let slot = libc::slot_at(found, name, how).or_else(|| injection_path::slot_for(found, name, caller));
        return slot.unwrap_or(found);
    }
    if injection::is_answered()
        && let Some(slot) = injection_path::slot_for(found, name, caller)
    {
        return slot;
    }
    if profiler::is_name(name)
        && let Some(slot) = profiler::slot_at(found, name, caller)
    {
        return slot;
    }
    // The driver's own look-ups get the real pointers.
    let watched = live::at(found, |owner| {
        // SAFETY: under the loader's lock.
        owner.layer != 0 && owner.has_code(found) && unsafe { owner.has_function(name, found) }
    });
    if watched == Some(true) && live::at(caller, |user| user.layer) != Some(Layer::DRIVER.number()) {
        let slot = live::at(found, |owner| create::for_function(found, owner, name, how));
        return slot.flatten().unwrap_or(found);
    }
    if watched.is_none() && how == route::DLSYM && cutap_calls::in_family(name) {
        // A child that may not ask the loader knows no library that its parent had not looked at.
        match list::is_off() {
            true => page::count(diagnostic::LOOKUP_JUMPED, 1),
            false => names::gap_named(diagnostic::OTHER_NAMESPACE, name),
        }
    }
    found
}

/// Ours instead of libc's dlsym, which somebody looked up. A wrapper in front of us calls on to us; one
/// behind us, which we call ourselves, must not come back.
fn replaced_for(found: usize, caller: usize) -> Option<usize> {
    let mut us_first = false;
    let in_front = live::each(
        |_| true,
        |o| {
            us_first |= o.ours;
            (caller >= o.span.0 && caller < o.span.1).then_some(!us_first)
        },
    )?;
    if in_front {
        return real::ours(found);
    }
    // Ours would call another library's that is behind us, and the caller may be a part of that.
    if real::has_other_behind(found) {
        return None;
    }
    live::at(caller, |user| real::replacement(found, user)).flatten()
}

/// dladdr and dladdr1 of a pointer that we handed out answer for the real function.
///
/// # Safety
/// The program's arguments.
pub unsafe extern "C" fn describe(address: usize, a: usize, b: usize, c: usize, which: usize) -> usize {
    real::find_next();
    let real = real::next(which);
    if real == 0 {
        return 0;
    }
    let address = table::real_of(address).unwrap_or(address);
    // SAFETY: dladdr takes two of these, dladdr1 all four.
    unsafe {
        core::mem::transmute::<usize, unsafe extern "C" fn(usize, usize, usize, usize) -> usize>(real)(address, a, b, c)
    }
}
