//! The functions of libc that stand behind those that we export, and functions of libc that another library may have
//! replaced. They are found by the link map and the objects' own tables.

use super::elf::is_function;
use super::map;
use super::objects::Object;
use crate::sys;
use crate::sys::libc::{Iterate, MutexInit, MutexLock};
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

/// The functions that we export, and where the next ones behind us in the link map are.
#[repr(C)]
pub struct Replaced {
    name: &'static [u8],
    /// The next object's: another preload's, or libc's.
    next: AtomicUsize,
    /// The last object's: libc's own.
    last: AtomicUsize,
}
pub static REPLACED: [Replaced; EXPORTED] =
    [new(b"dlsym"), new(b"dlvsym"), new(b"dladdr"), new(b"dladdr1"), new(b"prctl"), new(b"syscall"), new(b"dlopen")];
/// How many they are.
const EXPORTED: usize = 7;
const fn new(name: &'static [u8]) -> Replaced {
    Replaced { name, next: AtomicUsize::new(0), last: AtomicUsize::new(0) }
}
pub const DLSYM: usize = 0;
pub const DLVSYM: usize = 1;
const DLADDR: usize = 2;
pub const PRCTL: usize = 4;
pub const SYSCALL: usize = 5;
pub const DLOPEN: usize = 6;

/// Where in `REPLACED` the next function of a number is.
pub const fn place_of_next(which: usize) -> usize {
    which * size_of::<Replaced>() + core::mem::offset_of!(Replaced, next)
}

pub fn next(which: usize) -> usize {
    REPLACED.get(which).map_or(0, |r| r.next.load(Acquire))
}

/// Addresses of cutap's, in the order of `REPLACED`. They are those of this object's table of symbols: a name in the
/// code would lead to the function of a library in front of this one.
static EXPORTS: [AtomicUsize; EXPORTED] = [const { AtomicUsize::new(0) }; EXPORTED];

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
        dlsym(0, c"dlsym".as_ptr().cast());
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
    let (mut behind_us, mut next_dlsym) = (false, 0);
    map::each(|base, tables, ours| {
        let function = |name: &[u8]| {
            let mut symbol_address = 0;
            // SAFETY: the object is loaded.
            unsafe {
                tables.find(name, |symbol, _| {
                    let address = base.wrapping_add(symbol.value);
                    if is_function(symbol, base, address) {
                        symbol_address = address;
                    }
                    symbol_address != 0
                });
            }
            symbol_address
        };
        if ours {
            behind_us = true;
            let own = EXPORTS.iter().zip(&REPLACED);
            own.for_each(|(to, r)| to.store(function(r.name), Relaxed));
            return;
        }
        for r in &REPLACED {
            let address = function(r.name);
            if address == 0 {
                continue;
            }
            let is_first = behind_us && r.next.load(Relaxed) == 0;
            match r.name == b"dlsym" {
                true if is_first && next_dlsym == 0 => next_dlsym = address,
                false if is_first => r.next.store(address, Relaxed),
                _ => {}
            }
            REPLACED_SPAN.0.fetch_min(address, Relaxed);
            REPLACED_SPAN.1.fetch_max(address, Relaxed);
            r.last.store(address, Relaxed);
            // Since 2.34 it is libc's.
            if r.name == b"dlsym" {
                ALLOCATES.store(function(b"dl_iterate_phdr") == 0, Relaxed);
            }
        }
        let libc_functions =
            [(&ITERATE, "dl_iterate_phdr"), (&MUTEX_INIT, "pthread_mutex_init"), (&MUTEX_LOCK, "pthread_mutex_lock")];
        for (place, name) in libc_functions {
            match function(name.as_bytes()) {
                0 => {}
                address => place.store(address, Relaxed),
            }
        }
    });
    // Last: another thread takes all others for found when this one is.
    if let Some(dlsym) = REPLACED.get(DLSYM) {
        dlsym.next.store(next_dlsym, Release);
    }
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
/// Ours instead of libc's, for an object that is bound to libc's own. Not for one that exports dlsym or the function
/// itself: it would be sent round in a circle.
pub fn replacement(address: usize, user: &Object) -> Option<usize> {
    // SAFETY: the user is loaded: it is being rewritten or is asking.
    let exports = |name: &[u8]| unsafe { user.tables.find(name, |s, _| s.value != 0) };
    let name = || REPLACED.iter().find(|r| r.last.load(Relaxed) == address).map_or(&b""[..], |r| r.name);
    let wraps = || exports(b"dlsym") || exports(name());
    ours(address).filter(|_| !user.ours && !wraps())
}
/// Whether another library behind us has a function in front of this one of libc's.
pub fn has_other_behind(address: usize) -> bool {
    REPLACED.iter().any(|r| r.last.load(Relaxed) == address && r.next.load(Relaxed) != address)
}
/// The same as `replacement`, for any user.
pub fn ours(address: usize) -> Option<usize> {
    let which = REPLACED.iter().position(|r| r.last.load(Relaxed) == address)?;
    EXPORTS.get(which).map(|e| e.load(Relaxed)).filter(|&a| a != 0)
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
