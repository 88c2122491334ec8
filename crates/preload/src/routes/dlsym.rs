//! dlsym, dlvsym, dladdr, dladdr1. With a real handle the answer does not depend on the caller: call
//! on, look at the address. With RTLD_DEFAULT and RTLD_NEXT it does: a name that no watched library
//! defines jumps on with the caller's return address in place, others are asked through a `ret`
//! inside the caller's own object.
//!
//! It must work before our constructor ran, inside any constructor, and with no run directory at all.

use crate::loader::elf::is_function;
use crate::loader::objects::{self, Object};
use crate::loader::{live, map, notice, words};
use crate::sys::libc::{Iterate, MutexInit, MutexLock};
use crate::sys::{self, x86_64::shadow_stack};
use crate::thread::record;
use crate::{slots, start};
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use cutap_calls::Layer;
use cutap_wire::diagnostic;
use cutap_wire::names::route;
use cutap_wire::record::{PASSED_ON, lookup};

const RTLD_NEXT: usize = usize::MAX;
const RTLD_DEFAULT: usize = 0;

/// The functions that we export, and where the next ones behind us in the link map are.
struct Replaced {
    name: &'static [u8],
    /// The next object's: another preload's, or libc's.
    next: AtomicUsize,
    /// The last object's: libc's own.
    last: AtomicUsize,
}
static REPLACED: [Replaced; 4] = [new(b"dlsym"), new(b"dlvsym"), new(b"dladdr"), new(b"dladdr1")];
const fn new(name: &'static [u8]) -> Replaced {
    Replaced { name, next: AtomicUsize::new(0), last: AtomicUsize::new(0) }
}
const DLSYM: usize = 0;
const DLVSYM: usize = 1;
const DLADDR: usize = 2;

fn next(which: usize) -> usize {
    REPLACED.get(which).map_or(0, |r| r.next.load(Relaxed))
}

/// The real dlsym, for a jump.
pub extern "C" fn next_dlsym() -> usize {
    find_next();
    next(DLSYM)
}
/// The real dlvsym, for a jump. musl has none, and no versions: its dlsym takes the same request without one.
pub extern "C" fn next_dlvsym() -> usize {
    find_next();
    let real = next(DLVSYM);
    if real == 0 { next(DLSYM) } else { real }
}

/// libc's own dlsym and dlvsym, for what the loader itself would answer: nobody's wrapper is asked.
pub fn loaders_own() -> (usize, usize) {
    find_next();
    let last = |which: usize| REPLACED.get(which).map_or(0, |r| r.last.load(Relaxed));
    (last(DLSYM), last(DLVSYM))
}

/// glibc before 2.34: the loader's own dlsym lies in libdl and allocates at its first call in each thread.
static ALLOCATES: AtomicBool = AtomicBool::new(false);

/// Makes that first call for this thread, while no signal handler can stand in the middle of another allocation: a
/// handler's first call of a lazy word asks dlsym too, where the loader's own binding would allocate nothing.
pub fn ask_once() {
    let (dlsym, _) = loaders_own();
    if dlsym != 0 && ALLOCATES.load(Relaxed) {
        // SAFETY: the loader's function of that name.
        let dlsym = unsafe { core::mem::transmute::<usize, extern "C" fn(usize, *const u8) -> usize>(dlsym) };
        dlsym(RTLD_DEFAULT, c"dlsym".as_ptr().cast());
    }
}

/// The same for another thread, which was not met before: no handler comes in between.
pub fn without_signals<T>(ask: impl FnOnce() -> T) -> T {
    if !ALLOCATES.load(Relaxed) {
        return ask();
    }
    let signals = sys::block_signals();
    let answer = ask();
    sys::restore_signals(signals);
    answer
}

/// libc's own `dl_iterate_phdr`, whoever has one of that name in front of it.
static ITERATE: AtomicUsize = AtomicUsize::new(0);

/// See `ITERATE`.
pub fn loaders_list() -> Option<Iterate> {
    find_next();
    let at = ITERATE.load(Relaxed);
    // SAFETY: libc's function of that name.
    (at != 0).then(|| unsafe { core::mem::transmute::<usize, Iterate>(at) })
}

/// libc's own `pthread_mutex_init` and `pthread_mutex_lock`: a sanitizer that has some in front of them would report a
/// ring's mutex, which a new thread takes over from a dead one.
static MUTEX_INIT: AtomicUsize = AtomicUsize::new(0);
static MUTEX_LOCK: AtomicUsize = AtomicUsize::new(0);

/// See `MUTEX_INIT`.
pub fn libcs_mutex() -> Option<(MutexInit, MutexLock)> {
    find_next();
    let (init, lock) = (MUTEX_INIT.load(Relaxed), MUTEX_LOCK.load(Relaxed));
    // SAFETY: libc's functions of these names.
    (init != 0 && lock != 0).then(|| unsafe {
        (core::mem::transmute::<usize, MutexInit>(init), core::mem::transmute::<usize, MutexLock>(lock))
    })
}

/// Finds the next dlsym, and libc's own functions, by the link map and the objects' own hash tables.
/// `dlvsym(RTLD_NEXT)` would skip another preload's, and needs to know the version.
pub fn find_next() {
    if next(DLSYM) != 0 {
        return;
    }
    let mut behind_us = false;
    map::each(|base, tables, ours| {
        if ours {
            behind_us = true;
            return;
        }
        let function = |name: &[u8]| {
            let mut found = 0;
            // SAFETY: the object is loaded.
            unsafe {
                tables.find(name, |symbol, _| {
                    let address = base.wrapping_add(symbol.value);
                    if is_function(symbol, base, address) {
                        found = address;
                    }
                    found != 0
                });
            }
            found
        };
        for r in &REPLACED {
            let address = function(r.name);
            if address == 0 {
                continue;
            }
            if behind_us && r.next.load(Relaxed) == 0 {
                r.next.store(address, Relaxed);
            }
            REPLACED_SPAN.0.fetch_min(address, Relaxed);
            REPLACED_SPAN.1.fetch_max(address, Relaxed);
            r.last.store(address, Relaxed);
            // Since 2.34 it is libc's.
            if r.name == b"dlsym" {
                ALLOCATES.store(function(b"dl_iterate_phdr") == 0, Relaxed);
            }
        }
        let others =
            [(&ITERATE, "dl_iterate_phdr"), (&MUTEX_INIT, "pthread_mutex_init"), (&MUTEX_LOCK, "pthread_mutex_lock")];
        for (place, name) in others {
            match function(name.as_bytes()) {
                0 => {}
                address => place.store(address, Relaxed),
            }
        }
    });
}

/// Where those lie: each word of each object is asked about.
static REPLACED_SPAN: (AtomicUsize, AtomicUsize) = (AtomicUsize::new(usize::MAX), AtomicUsize::new(0));

/// True for the address of libc's own dlsym and its kin.
#[inline]
pub fn is_replaced(address: usize) -> bool {
    let near = address >= REPLACED_SPAN.0.load(Relaxed) && address <= REPLACED_SPAN.1.load(Relaxed);
    near && REPLACED.iter().any(|r| r.last.load(Relaxed) == address)
}
/// True for a name that we export.
pub fn is_loader_name(name: &[u8]) -> bool {
    name.starts_with(b"dl") && REPLACED.iter().any(|r| r.name == name)
}
/// Ours instead of libc's, for an object that is bound to libc's own. Not for one that exports dlsym
/// itself: it would be sent round in a circle.
pub fn replacement(address: usize, user: &Object) -> Option<usize> {
    let which = REPLACED.iter().position(|r| r.last.load(Relaxed) == address)?;
    // SAFETY: the user is loaded: it is being rewritten or is asking.
    let wraps = unsafe { user.tables.find(b"dlsym", |s, _| s.value != 0) };
    if wraps || user.ours { None } else { crate::slots::exports().get(which).copied().filter(|&a| a != 0) }
}

/// Takes and gives back the loader's lock: who was listed before is relocated after. By dladdr, which
/// leaves the program's dlerror alone.
pub fn barrier() {
    find_next();
    let real = REPLACED.get(DLADDR).map_or(0, |r| r.last.load(Relaxed));
    if real != 0 {
        let mut info = [0usize; 8];
        // SAFETY: libc's dladdr with room for its four words.
        unsafe {
            core::mem::transmute::<usize, unsafe extern "C" fn(usize, *mut usize) -> c_int>(real)(
                barrier as *const () as usize,
                info.as_mut_ptr(),
            );
        }
    }
}

type Real = unsafe extern "C" fn(usize, *const u8, *const u8) -> usize;

/// dlsym and dlvsym alike: a third argument does no harm.
///
/// # Safety
/// `real` is one of the two, with the arguments of a real request.
unsafe fn call(real: usize, handle: usize, name: *const u8, version: *const u8) -> usize {
    // SAFETY: the caller's promise.
    unsafe { core::mem::transmute::<usize, Real>(real)(handle, name, version) }
}

/// What the exported dlsym and dlvsym do first. 0: jump on to the real one.
///
/// # Safety
/// Arguments of a request of the program's.
pub unsafe extern "C" fn ask(handle: usize, name: *const u8, version: *const u8, caller: usize) -> usize {
    find_next();
    if name.is_null() || !start::running() {
        return 0;
    }
    notice::notice();
    // SAFETY: the program's string.
    let text = unsafe { sys::text(name, 4096) };
    let real = next(if version.is_null() { DLSYM } else { DLVSYM });
    if real == 0 {
        return 0;
    }
    let answer = if handle == RTLD_DEFAULT || handle == RTLD_NEXT {
        // SAFETY: as above.
        unsafe { ask_as_caller(real, handle, text, name, version, caller) }
    } else {
        // SAFETY: as above.
        let found = unsafe { call(real, handle, name, version) };
        Some(hand_out(found, text, caller, route::DLSYM))
    };
    if start::lookups() {
        let which = if version.is_null() { lookup::DLSYM } else { lookup::DLVSYM };
        let status = if answer.is_some() { 0 } else { PASSED_ON };
        record::lookup(which, caller, handle, 0, answer.unwrap_or(0), status, text);
    }
    // 0 jumps on and asks once more: the answer is the same, and dlerror is as the real one leaves it.
    answer.unwrap_or(0)
}

/// # Safety
/// As `ask`.
unsafe fn ask_as_caller(
    real: usize,
    handle: usize,
    text: &[u8],
    name: *const u8,
    version: *const u8,
    caller: usize,
) -> Option<usize> {
    if !is_loader_name(text) && !exported_by_watched(text) {
        return None;
    }
    let Some(gate) = live::at(caller, Object::ret).flatten().filter(|_| !shadow_stack()) else {
        start::count(diagnostic::LOOKUP_JUMPED, 1);
        return None;
    };
    // SAFETY: the gate is a `ret` in the caller's object, which is running and so stays mapped.
    let found = unsafe { crate::slots::thunks_x86_64::call_through(real, handle, name, version, gate) };
    Some(hand_out(found, text, caller, route::DLSYM))
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
    if is_replaced(found) {
        return replaced_for(found, caller).unwrap_or(found);
    }
    // The driver's own look-ups get the real pointers.
    let watched = live::at(found, |owner| {
        // SAFETY: under the loader's lock.
        owner.layer != 0 && owner.has_code(found) && unsafe { words::function_of(owner, name, found) }
    });
    if watched == Some(true) && live::at(caller, |user| user.layer) != Some(Layer::DRIVER.number()) {
        let slot = live::at(found, |owner| slots::for_function(found, owner, name, how));
        return slot.flatten().unwrap_or(found);
    }
    if watched.is_none() && how == route::DLSYM && cutap_calls::in_family(name) {
        // A child that may not ask the loader knows no library that its parent had not looked at.
        match notice::is_off() {
            true => start::count(diagnostic::LOOKUP_JUMPED, 1),
            false => start::gap_named(diagnostic::OTHER_NAMESPACE, name),
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
        let which = REPLACED.iter().position(|r| r.last.load(Relaxed) == found)?;
        return crate::slots::exports().get(which).copied().filter(|&a| a != 0);
    }
    live::at(caller, |user| replacement(found, user)).flatten()
}

/// dladdr and dladdr1 of a pointer that we handed out answer for the real function.
///
/// # Safety
/// The program's arguments.
pub unsafe extern "C" fn describe(address: usize, a: usize, b: usize, c: usize, which: usize) -> usize {
    find_next();
    let real = next(which);
    if real == 0 {
        return 0;
    }
    let address = slots::real_of(address).unwrap_or(address);
    // SAFETY: dladdr takes two of these, dladdr1 all four.
    unsafe {
        core::mem::transmute::<usize, unsafe extern "C" fn(usize, usize, usize, usize) -> usize>(real)(address, a, b, c)
    }
}
