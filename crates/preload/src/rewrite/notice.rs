//! Noticing that objects came or went: list, barrier, rewrite. The order is the proof (rule 3):
//! who was listed is relocated once the loader's lock could be had, and is rewritten under the lock
//! that keeps it mapped, and only then is the snapshot published.
//!
//! Limits: another namespace (`dlmopen`) is listed if it exists when something is opened or looked up, on glibc
//! 2.35 and later. Namespaces after the first listed ones are not listed. While one exists, each look examines all
//! words again, because glibc does not report what was unloaded. A `fork()` waits two seconds at most for a look
//! that is in progress. A raw `clone` or `_Fork()` gives no notice, so a child of it that opens libraries may hang.

use super::words;
use crate::loader::objects::{self, Snapshot};
use crate::loader::{find_lock, list, map, real};
use crate::process::{folder, fork, names, page, run};
use crate::runtime::suppress;
use crate::sys::libc::PhdrInfo;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering::SeqCst};
use cutap_calls::Layer;
use cutap_wire::diagnostic;

/// The look at the end of the process: what is new now was never ours.
pub fn last() {
    if run::is_running() {
        look_if_changed(diagnostic::NEVER_NOTICED);
        folder::leave_word_of_driver();
    }
}

/// Looks whether something was loaded or unloaded, and if so at all that is there.
pub fn notice() {
    look_if_changed(diagnostic::LATE_OBJECT);
}

fn look_if_changed(late: usize) {
    fork::check();
    if list::is_off() {
        return;
    }
    find_lock::find();
    let mut counts = (0u64, 0u64);
    // SAFETY: the callback's own data.
    unsafe { list::iterate(counts_now, (&raw mut counts).cast()) };
    let (room, fresh, first) =
        objects::with(|s| (s.objects().len() + 64, counts != (s.adds, s.subs), false)).unwrap_or((512, true, true));
    let recheck = words::are_to_be_looked_at();
    if fresh || recheck {
        elsewhere();
        // Until the words are rewritten, and those of the constructors that ran before us.
        suppress::resume_all();
        rewrite_and_publish(room, (!first).then_some(late), recheck);
        if objects::with(|s| s.objects().iter().any(|o| o.layer == Layer::DRIVER.number())) == Some(true) {
            folder::driver_loaded();
            // One that the program is linked with has its bindings, which lead to slots.
            if !first {
                folder::leave_word_of_driver();
            }
        }
    }
}

/// How often a list is made again because another thread has loaded something meanwhile.
const PATIENCE: u32 = 16;

fn rewrite_and_publish(mut room: usize, late: Option<usize>, recheck: bool) {
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
            page::count(diagnostic::TOO_MANY_OBJECTS, snapshot.missed() as u64);
        }
        objects::with(|was| carry_over(snapshot, was, recheck));
        real::barrier();
        let mut rewrite = words::Rewrite {
            snapshot,
            late,
            numbered: false,
            autograd: None,
            stale: false,
            place: 0,
            hurry: tries >= PATIENCE,
        };
        // SAFETY: the callback's own data.
        unsafe { list::iterate(finish_one, (&raw mut rewrite).cast()) };
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
        let mut is_reported = false;
        // SAFETY: the callback's own data.
        unsafe { list::iterate(list_elsewhere, (&raw mut is_reported).cast()) };
        TOLD.store(is_reported, SeqCst);
    }
}

unsafe extern "C" fn list_elsewhere(_: *const PhdrInfo, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: called by the loader with our data, under its lock.
    unsafe {
        map::elsewhere(|path| {
            let name = path.rsplit(|b| *b == b'/').next().unwrap_or(path);
            if cutap_calls::layer_of(name) != 0 {
                names::gap_named(diagnostic::NAMESPACE, name);
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
            o.rewritten = old.rewritten && same_epoch;
            o.id = old.id;
            // It may have been closed and opened again in the meantime.
            o.fresh = unloaded;
        }
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
        unsafe { list::iterate(one, (&raw mut both).cast()) };
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
