//! Looking at an object that is loaded right now, under the loader's own lock. A snapshot remembers
//! objects that may be gone by the time it is read: their names are copies, but their tables must be
//! read here, or not at all. One kind of process looks at its snapshot: a child that was forked in the
//! middle of the loader's list. It can never ask for the list again, and has no other threads that unload.

use super::list::{is_off, iterate};
use super::objects::{self, Object, describe};
use crate::sys::libc::PhdrInfo;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::*};

/// Calls `f` with each loaded object until it gives something.
pub fn find<R>(mut f: impl FnMut(&PhdrInfo) -> Option<R>) -> Option<R> {
    struct Search<'a, R> {
        f: &'a mut dyn FnMut(&PhdrInfo) -> Option<R>,
        answer: Option<R>,
    }
    unsafe extern "C" fn one<R>(info: *const PhdrInfo, _: usize, data: *mut c_void) -> c_int {
        // SAFETY: called by the loader with our data.
        unsafe {
            let search = &mut *data.cast::<Search<R>>();
            search.answer = (search.f)(&*info);
            search.answer.is_some().into()
        }
    }
    let mut search = Search { f: &mut f, answer: None };
    // SAFETY: the callback's own data.
    unsafe { iterate(one::<R>, (&raw mut search).cast()) };
    search.answer
}

/// Calls `f` with the object that holds `address`.
pub fn at<R>(address: usize, f: impl FnOnce(&Object) -> R) -> Option<R> {
    if is_off() {
        return objects::with(|s| s.objects().iter().find(|o| address >= o.span.0 && address < o.span.1).map(f))
            .flatten();
    }
    let mut f = Some(f);
    // The last look knows where it is and all of it, if nothing was loaded since, anywhere: then what is still there is
    // the same.
    let in_snapshot = objects::with(|s| {
        let of = |o: &&Object| o.id != 0 && address >= o.span.0 && address < o.span.1;
        let o = s.objects().iter().find(of)?;
        find(|info| {
            let here = o.base == info.addr && o.path == info.name && s.adds == info.adds;
            (here && info.contains(address)).then(|| f.take().map(|f| f(o)))
        })
    });
    if let Some(result) = in_snapshot.flatten().flatten() {
        return Some(result);
    }
    find(|info| {
        if !info.contains(address) {
            return None;
        }
        // SAFETY: in the loader's callback: the object is mapped.
        let mut o = unsafe { describe(info) };
        o.id = load_id(&o);
        f.take().map(|f| f(&o))
    })
}

/// The same, with the layer of the object that holds `other`. The loader is asked once for both.
pub fn at_with_layer_of<R>(address: usize, other: usize, f: impl FnOnce(&Object, Option<u8>) -> R) -> Option<R> {
    let mut f = Some(f);
    let in_snapshot = objects::with(|s| {
        let of = |address: usize| s.objects().iter().find(|o| o.id != 0 && address >= o.span.0 && address < o.span.1);
        let (o, beside) = (of(address)?, of(other)?);
        let (mut holds_it, mut holds_other) = (false, false);
        find(|info| {
            let is = |o: &Object| o.base == info.addr && o.path == info.name && s.adds == info.adds;
            holds_it |= is(o) && info.contains(address);
            holds_other |= is(beside) && info.contains(other);
            (holds_it && holds_other).then(|| f.take().map(|f| f(o, Some(beside.layer))))
        })
    });
    if let Some(result) = in_snapshot.flatten().flatten() {
        return Some(result);
    }
    let layer = at(other, |o| o.layer);
    f.take().and_then(|f| at(address, |o| f(o, layer)))
}

/// Calls `f` with each loaded object that `wanted` says yes to, in the loader's order, until it gives
/// something.
pub fn each<R>(wanted: impl Fn(usize) -> bool, mut f: impl FnMut(&Object) -> Option<R>) -> Option<R> {
    if is_off() {
        return objects::with(|s| s.objects().iter().filter(|o| wanted(o.base)).find_map(f)).flatten();
    }
    find(|info| {
        if !wanted(info.addr) {
            return None;
        }
        // SAFETY: in the loader's callback: the object is mapped.
        let mut o = unsafe { describe(info) };
        o.id = load_id(&o);
        f(&o)
    })
}

/// Loads that have a number.
pub const MAX: usize = 8192;

/// A load's number: the same library at the same address is the same load, another one is not.
/// Only under the loader's lock.
pub fn load_id(o: &Object) -> u32 {
    load_id_as(o, 0)
}

/// The number of one that came in the place of another, by what tells its file from that one's.
pub fn load_id_as(o: &Object, file: u64) -> u32 {
    static LOADS: [(AtomicUsize, AtomicU64); MAX] = [const { (AtomicUsize::new(0), AtomicU64::new(0)) }; MAX];
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = o.name().iter().fold(0xcbf2_9ce4_8422_2325u64, |h, &c| (h ^ u64::from(c)).wrapping_mul(0x100_0000_01b3));
    let name = name ^ file;
    let count = COUNT.load(Acquire) as usize;
    for (n, (base, hash)) in LOADS.iter().take(count).enumerate() {
        if base.load(Relaxed) == o.base && hash.load(Relaxed) == name {
            return n as u32 + 1;
        }
    }
    if let Some((base, hash)) = LOADS.get(count) {
        base.store(o.base, Relaxed);
        hash.store(name, Relaxed);
        COUNT.store(count as u32 + 1, Release);
        return count as u32 + 1;
    }
    // More loads than the table: they share a number, which can only cost a name.
    MAX as u32 + 1
}

/// Numbers of loads whose names went to the stream.
static ANNOUNCED: [AtomicU64; 129] = [const { AtomicU64::new(0) }; 129];

/// True once for each load.
pub fn announce(id: u32) -> bool {
    ANNOUNCED.get(id as usize / 64).is_some_and(|w| w.fetch_or(1 << (id % 64), AcqRel) & (1 << (id % 64)) == 0)
}

/// A forked child tells them again: its parent may have been between the bit and the name.
pub fn forked() {
    for word in &ANNOUNCED {
        word.store(0, Relaxed);
    }
}
