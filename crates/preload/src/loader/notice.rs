//! Noticing that objects came or went: list, barrier, rewrite. The order is the proof (rule 3):
//! who was listed is relocated once the loader's lock could be had, and is rewritten under the lock
//! that keeps it mapped, and only then is the snapshot published.
//!
//! Limits: another namespace (`dlmopen`) is listed if it exists when something is opened or looked up, on glibc
//! 2.35 and later. Namespaces after the first listed ones are not listed. While one exists, each look examines all
//! words again, because glibc does not report what was unloaded. A `fork()` waits two seconds at most for a look
//! that is in progress. A raw `clone` or `_Fork()` gives no notice, so a child of it that opens libraries may hang.

use super::objects::{self, Snapshot};
use super::words;
use super::{live, loaded, lock, map};
use crate::routes::{dlsym, suppress};
use crate::sys::libc::PhdrInfo;
use crate::{start, sys, thread};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::SeqCst};
use cutap_calls::Layer;
use cutap_wire::diagnostic;

/// Our own calls inside the loader's list: where the lock itself is not known, a child forked while it
/// was not zero must never make one.
static IN_FLIGHT: AtomicUsize = AtomicUsize::new(0);
static OFF: AtomicBool = AtomicBool::new(false);
/// Forks that libc has told of and that are not over, and the thread that makes the last of them. The list's lock is
/// not made new in a child, which would hang in its next dlopen: so nobody of us is inside while libc forks, as nobody
/// is who calls dlsym without us.
static FORKS: AtomicU32 = AtomicU32::new(0);
static FORKER: AtomicU32 = AtomicU32::new(0);
/// How often one waits for the other, 50 microseconds each time, a second or two together: a first look takes its time,
/// and so does the fork of a large process, but nobody may wait for good.
const TURNS: u32 = 20_000;
/// The loader bound a word behind our back: all words are to be looked at again.
static AGAIN: AtomicBool = AtomicBool::new(false);

/// The look at the end of the process: what is new now was never ours.
pub fn last() {
    if start::running() {
        look_if_changed(diagnostic::NEVER_NOTICED);
        start::leave_word_of_driver();
    }
}

/// Looks whether something was loaded or unloaded, and if so at all that is there.
pub fn notice() {
    look_if_changed(diagnostic::LATE_OBJECT);
}

fn look_if_changed(late: usize) {
    thread::fork::check();
    if is_off() {
        return;
    }
    lock::find();
    let mut counts = (0u64, 0u64);
    // SAFETY: the callback's own data.
    unsafe { iterate(counts_now, (&raw mut counts).cast()) };
    let (room, fresh, first) =
        objects::with(|s| (s.objects().len() + 64, counts != (s.adds, s.subs), false)).unwrap_or((512, true, true));
    let again = AGAIN.swap(false, SeqCst);
    if fresh || again {
        elsewhere();
        // Until the words are rewritten, and those of the constructors that ran before us.
        suppress::again();
        look(room, (!first).then_some(late), again);
        if objects::with(|s| s.objects().iter().any(|o| o.layer == Layer::DRIVER.number())) == Some(true) {
            start::driver_loaded();
            // One that the program is linked with has its bindings, which lead to slots.
            if !first {
                start::leave_word_of_driver();
            }
        }
    }
}

/// How often a list is made again because another thread has loaded something meanwhile.
const PATIENCE: u32 = 16;

fn look(mut room: usize, late: Option<usize>, again: bool) {
    let mut tries = 0;
    loop {
        let s = Snapshot::new(room);
        if s.is_null() {
            return;
        }
        // SAFETY: no other thread knows of it yet.
        let snapshot = unsafe { &mut *s };
        list(snapshot);
        if snapshot.missed() > 0 && room < 65536 {
            room = room * 2 + snapshot.missed();
            // SAFETY: no other thread knows of it.
            unsafe { snapshot.free() };
            continue;
        }
        if snapshot.missed() > 0 {
            start::count(diagnostic::TOO_MANY_OBJECTS, snapshot.missed() as u64);
        }
        objects::with(|was| carry_over(snapshot, was, again));
        dlsym::barrier();
        let mut rewrite =
            words::Rewrite { snapshot, late, numbered: false, stale: false, place: 0, hurry: tries >= PATIENCE };
        // SAFETY: the callback's own data.
        unsafe { iterate(finish_one, (&raw mut rewrite).cast()) };
        if rewrite.stale {
            // SAFETY: no other thread knows of it.
            unsafe { snapshot.free() };
            tries += 1;
            continue;
        }
        // SAFETY: made above, and not used after.
        unsafe { Snapshot::publish(s) };
        return;
    }
}

/// Tells once of libraries in other namespaces, whose calls nobody diverts.
fn elsewhere() {
    static TOLD: AtomicBool = AtomicBool::new(false);
    if !TOLD.load(SeqCst) {
        let mut told = false;
        // SAFETY: the callback's own data.
        unsafe { iterate(list_elsewhere, (&raw mut told).cast()) };
        TOLD.store(told, SeqCst);
    }
}

unsafe extern "C" fn list_elsewhere(_: *const PhdrInfo, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: called by the loader with our data, under its lock.
    unsafe {
        map::elsewhere(|path| {
            let name = path.rsplit(|b| *b == b'/').next().unwrap_or(path);
            if cutap_calls::layer_of(name) != 0 {
                start::gap_named(diagnostic::NAMESPACE, name);
                *data.cast::<bool>() = true;
            }
        });
    }
    1
}

/// What was looked at stays so, until something was unloaded: then an address may belong to another
/// library now.
fn carry_over(s: &mut Snapshot, was: &Snapshot, again: bool) {
    let unloaded = s.subs != was.subs || !s.is_alone() || !was.is_alone();
    let same_epoch = !unloaded && !again;
    for (place, o) in s.objects_mut().iter_mut().enumerate() {
        if let Some(old) = was.same(o, place) {
            o.done = old.done && same_epoch;
            o.id = old.id;
            // It may have been closed and opened again in the meantime.
            o.fresh = unloaded;
        }
    }
}

/// The loader is left to bind a word itself.
pub fn look_again() {
    AGAIN.store(true, SeqCst);
    suppress::again();
}

/// True in a child that was forked while another thread was inside the loader's list.
pub fn is_off() -> bool {
    OFF.load(SeqCst)
}

/// The child of a fork: may it ask the loader again?
pub fn forked() {
    let ours = IN_FLIGHT.swap(0, SeqCst) != 0;
    if lock::was_taken().unwrap_or(ours) {
        OFF.store(true, SeqCst);
        suppress::never();
        start::count(diagnostic::FORKED_IN_LOADER, 1);
    }
    objects::forked();
    live::forked();
    loaded::forked();
}

/// Called by libc before a fork: those that are inside the list come out.
pub fn before_fork() {
    FORKER.store(sys::gettid(), SeqCst);
    FORKS.fetch_add(1, SeqCst);
    // Who forks inside the list itself keeps the others waiting there.
    let mut turns = if lock::is_mine() { 0 } else { TURNS };
    while turns > 0 && IN_FLIGHT.load(SeqCst) != 0 {
        sys::sleep_us(50);
        turns -= 1;
    }
}

/// Called by libc in the parent.
pub fn after_fork() {
    let _ = FORKS.fetch_update(SeqCst, SeqCst, |forks| forks.checked_sub(1));
}

/// Called by libc in the child.
pub fn after_fork_in_child() {
    FORKS.store(0, SeqCst);
}

/// This thread goes inside the list; further inside, if it is there already, for then a fork waits for it.
fn go_in() {
    for _ in 0..TURNS {
        IN_FLIGHT.fetch_add(1, SeqCst);
        if FORKS.load(SeqCst) == 0 || lock::is_mine() || FORKER.load(SeqCst) == sys::gettid() {
            return;
        }
        IN_FLIGHT.fetch_sub(1, SeqCst);
        sys::sleep_us(50);
    }
    // A handler may have left the fork by siglongjmp: nobody waits for that one again.
    FORKS.store(0, SeqCst);
    IN_FLIGHT.fetch_add(1, SeqCst);
}

/// Lists through the loader, counted.
///
/// # Safety
/// `data` is what `f` takes.
pub unsafe fn iterate(f: crate::sys::libc::PhdrCallback, data: *mut c_void) {
    if is_off() {
        return;
    }
    if let Some(call) = dlsym::loaders_list() {
        // A handler that left by siglongjmp would leave the loader's lock taken.
        let signals = sys::block_signals();
        go_in();
        // SAFETY: the caller's promise.
        unsafe { call(f, data) };
        IN_FLIGHT.fetch_sub(1, SeqCst);
        sys::restore_signals(signals);
    }
}

unsafe extern "C" fn counts_now(info: *const PhdrInfo, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: called by the loader with our data.
    unsafe { *data.cast::<(u64, u64)>() = ((*info).adds, (*info).subs) };
    1
}

/// Fills a snapshot. Most of what is there was there at the last look.
fn list(snapshot: &mut Snapshot) {
    struct Both<'a, 'b>(&'a mut Snapshot, Option<&'b Snapshot>);
    unsafe extern "C" fn one(info: *const PhdrInfo, _: usize, data: *mut c_void) -> c_int {
        // SAFETY: called by the loader with our data.
        unsafe {
            let Both(snapshot, before) = &mut *data.cast::<Both>();
            snapshot.add(&*info, *before);
        }
        0
    }
    let fill = |snapshot: &mut Snapshot, before: Option<&Snapshot>| {
        let mut both = Both(snapshot, before);
        // SAFETY: the callback's own data.
        unsafe { iterate(one, (&raw mut both).cast()) };
    };
    let knew = objects::with(|before| fill(snapshot, Some(before))).is_some();
    if !knew || !snapshot.is_alone() {
        snapshot.clear();
        fill(snapshot, None);
    }
}

unsafe extern "C" fn finish_one(info: *const PhdrInfo, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: called by the loader with our data, under its lock.
    unsafe { (*data.cast::<words::Rewrite>()).object(&*info) };
    0
}
