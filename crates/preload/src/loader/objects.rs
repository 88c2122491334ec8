//! The loaded objects: an immutable snapshot, published by one pointer. A reader is counted while it
//! looks, so that old snapshots can be given back; a child that forked in between starts at zero.
//!
//! Limits, which nothing counts:
//! - A library that another version replaces under the same SONAME at the same address may keep the old names of
//!   its functions. So may each load after the 8192nd.
//! - More than 128 toolkit libraries at a time: `dlsym(RTLD_DEFAULT, ...)` of functions of the others is not
//!   diverted.
//! - No word is diverted in an executable with a segment above all libraries.
//! - A library that is opened, used and closed without a look-up in between is not listed.

use super::elf::{Dyn, Tables, is_function};
use crate::sys;
use crate::sys::libc::PhdrInfo;
use crate::sys::program_headers::{PF_X, PT_DYNAMIC, PT_GNU_RELRO, PT_LOAD, Phdr};
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::SeqCst};
use cutap_calls::Layer;

/// Bytes kept of a name.
pub const NAME: usize = 96;

/// One loaded object.
#[derive(Clone, Copy)]
pub struct Object {
    /// Load address.
    pub base: usize,
    /// First and last byte of all its segments.
    pub span: (usize, usize),
    /// The same of its executable segments.
    pub text: (usize, usize),
    /// One executable segment, whole, to look for a `ret` in.
    pub code: (usize, usize),
    /// Read-only after relocation.
    pub relro: (usize, usize),
    /// Dynamic tables.
    pub tables: Tables,
    /// Path as the loader has it; mapped as long as the object is.
    pub path: *const u8,
    /// SONAME, else the file's name.
    name: [u8; NAME],
    name_len: usize,
    /// One of a `cutap_calls::Layer`.
    pub layer: u8,
    /// Of its functions only those are watched that `cutap_calls::listed` knows.
    pub only_listed: bool,
    /// A profiler: gets the driver's own callback table.
    pub profiler: bool,
    /// The load this is: never used again for another library.
    pub id: u32,
    /// Seen for the first time, or for the first time since something was unloaded.
    pub fresh: bool,
    /// Its words have been looked at since the last unload.
    pub rewritten: bool,
    /// This is the library that you read.
    pub ours: bool,
    /// Still loaded when the words were looked at, and so until that look ends.
    pub live: bool,
}

impl Object {
    /// SONAME or file name.
    pub fn name(&self) -> &[u8] {
        self.name.get(..self.name_len).unwrap_or(&[])
    }
    /// The same object as a load of its own, in a layer.
    pub fn as_load(&self, layer: u8, id: u32) -> Object {
        Object { layer, id, ..*self }
    }
    /// The first number behind `.so.` in its name: `12` of `libcudart.so.12`; 0 for the driver, whose
    /// functions never change under a name.
    pub fn major(&self) -> u32 {
        let name = self.name();
        if self.layer == Layer::DRIVER.number() {
            return 0;
        }
        let Some(at) = name.windows(4).position(|w| w == b".so.") else { return 0 };
        let digits = name.iter().skip(at + 4).take_while(|c| c.is_ascii_digit()).take(4);
        digits.fold(0, |n, &c| n * 10 + u32::from(c - b'0'))
    }
    /// True when `address` lies in its code.
    pub fn has_code(&self, address: usize) -> bool {
        address >= self.text.0 && address < self.text.1
    }
    /// True when its own symbols say that `name` is a function at `address`.
    ///
    /// # Safety
    /// It is mapped.
    pub unsafe fn has_function(&self, name: &[u8], address: usize) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.tables.find(name, |s, _| is_function(s, self.base, address)) }
    }
    /// A `ret` instruction's address inside its code: a call that returns through it comes from there,
    /// as far as the loader can tell.
    pub fn ret(&self) -> Option<usize> {
        // SAFETY: a readable, mapped segment; whoever asks is running in it or holds the loader's lock.
        (self.code.0..self.code.1).find(|&a| unsafe { (a as *const u8).read() } == 0xc3)
    }
}

/// What `dl_iterate_phdr` told at one moment.
pub struct Snapshot {
    /// Objects ever added.
    pub adds: u64,
    /// Objects ever removed.
    pub subs: u64,
    bytes: usize,
    room: usize,
    count: usize,
    missed: usize,
    next: *mut Snapshot,
    /// Which of them are watched, for they are few, by where their code lies: see `owner`. More than there is room for:
    /// all are looked at.
    watched: [Watched; WATCHED],
    watching: usize,
}
const WATCHED: usize = 64;

/// Where the code of a watched object lies, and its place in the list.
#[derive(Clone, Copy)]
struct Watched {
    text: (usize, usize),
    place: usize,
}

static NOW: AtomicPtr<Snapshot> = AtomicPtr::new(core::ptr::null_mut());
static RETIRED: AtomicPtr<Snapshot> = AtomicPtr::new(core::ptr::null_mut());
static READERS: AtomicUsize = AtomicUsize::new(0);

/// Runs `f` on the snapshot of now.
pub fn with<R>(f: impl FnOnce(&Snapshot) -> R) -> Option<R> {
    READERS.fetch_add(1, SeqCst);
    // SAFETY: a published snapshot lives while a reader is counted.
    let r = unsafe { NOW.load(SeqCst).as_ref() }.map(f);
    READERS.fetch_sub(1, SeqCst);
    r
}

/// A forked child has one thread, and it is not reading.
pub fn forked() {
    READERS.store(0, SeqCst);
}

impl Snapshot {
    /// An empty one with room for `room` objects.
    pub fn new(room: usize) -> *mut Snapshot {
        let bytes = size_of::<Snapshot>() + room * size_of::<Object>();
        let p = sys::pages(bytes).cast::<Snapshot>();
        if !p.is_null() {
            // SAFETY: fresh memory of that size.
            unsafe {
                p.write(Snapshot {
                    adds: 0,
                    subs: 0,
                    bytes,
                    room,
                    count: 0,
                    missed: 0,
                    next: core::ptr::null_mut(),
                    watched: [Watched { text: (0, 0), place: 0 }; WATCHED],
                    watching: 0,
                })
            };
        }
        p
    }
    /// The objects, in the loader's order.
    pub fn objects(&self) -> &[Object] {
        // SAFETY: `count` objects stand behind the header.
        unsafe { core::slice::from_raw_parts((&raw const *self).add(1).cast(), self.count) }
    }
    /// The objects, while no other thread knows of the snapshot.
    pub fn objects_mut(&mut self) -> &mut [Object] {
        // SAFETY: as above.
        unsafe { core::slice::from_raw_parts_mut((&raw mut *self).add(1).cast(), self.count) }
    }
    /// Gives the memory back.
    ///
    /// # Safety
    /// It was never published, and is not used after.
    pub unsafe fn free(&mut self) {
        // SAFETY: the caller's promise.
        unsafe { sys::unmap((&raw mut *self).cast(), self.bytes) }
    }
    /// Objects that did not fit.
    pub fn missed(&self) -> usize {
        self.missed
    }
    /// The watched object whose code holds `address`.
    pub fn owner(&self, address: usize) -> Option<&Object> {
        if self.watching > WATCHED {
            return self.objects().iter().find(|o| o.layer != 0 && o.has_code(address));
        }
        let watched = self.watched.get(..self.watching)?;
        let next_index = watched.partition_point(|w| w.text.0 <= address);
        let w = watched.get(next_index.checked_sub(1)?)?;
        if address < w.text.1 { self.objects().get(w.place) } else { None }
    }
    /// What an earlier snapshot knows of an object, which stands at the same place of the loader's list unless
    /// something was unloaded.
    pub fn same(&self, o: &Object, place: usize) -> Option<&Object> {
        let is_same = |p: &&Object| p.base == o.base && p.path == o.path && p.span == o.span && p.name() == o.name();
        self.objects().get(place).filter(is_same).or_else(|| self.objects().iter().find(is_same))
    }
    /// Which object of the list `dl_iterate_phdr` reports here: mostly the one at the same place.
    pub fn place_of(&self, info: &PhdrInfo, place: usize) -> Option<usize> {
        let is = |o: &Object| o.base == info.addr && o.path == info.name;
        match self.objects().get(place).is_some_and(is) {
            true => Some(place),
            false => self.objects().iter().position(is),
        }
    }
    /// Whether what was unloaded is told by `subs`: where there are other namespaces, glibc's is a number of something
    /// else.
    pub fn is_alone(&self) -> bool {
        self.missed == 0 && self.adds.wrapping_sub(self.subs) == self.count as u64
    }
    /// The object that `dl_iterate_phdr` reports, if nothing was unloaded since it was looked at: then it is no other
    /// one. That holds if the list that is being made turns out to be alone too.
    fn unchanged(&self, info: &PhdrInfo, place: usize) -> Option<&Object> {
        let o = self.objects().get(place).filter(|_| self.subs == info.subs && self.is_alone())?;
        (o.base == info.addr && o.path == info.name).then_some(o)
    }
    /// Begins again.
    pub fn clear(&mut self) {
        (self.count, self.missed, self.watching) = (0, 0, 0);
    }

    /// Adds what `dl_iterate_phdr` reports for one object, of which `before` may know all.
    ///
    /// # Safety
    /// Called from its callback: the object is mapped.
    pub unsafe fn add(&mut self, info: &PhdrInfo, before: Option<&Snapshot>) {
        self.adds = info.adds;
        self.subs = info.subs;
        if self.count == self.room {
            self.missed += 1;
            return;
        }
        let o = match before.and_then(|before| before.unchanged(info, self.count)) {
            Some(o) => Object { live: false, ..*o },
            // SAFETY: the object is mapped, by the caller's promise.
            None => unsafe { describe(info) },
        };
        let (watched, text) = (o.layer != 0, o.text);
        // SAFETY: there is room behind the header.
        unsafe { (&raw mut *self).add(1).cast::<Object>().add(self.count).write(o) };
        if watched {
            self.watch(Watched { text, place: self.count });
        }
        self.count += 1;
    }

    fn watch(&mut self, w: Watched) {
        let at = self.watched.get(..self.watching).map(|list| list.partition_point(|o| o.text.0 <= w.text.0));
        match at.and_then(|at| self.watched.get_mut(at..=self.watching)) {
            Some(later) => {
                later.rotate_right(1);
                later.iter_mut().take(1).for_each(|first| *first = w);
                self.watching += 1;
            }
            None => self.watching = usize::MAX,
        }
    }

    /// Publishes `s` unless a newer one is there, and gives back what nobody reads any more.
    ///
    /// # Safety
    /// `s` came from `new`, and the caller uses it no more.
    pub unsafe fn publish(s: *mut Snapshot) {
        // Counted while it looks at the one published, which another thread may be replacing.
        READERS.fetch_add(1, SeqCst);
        let out = loop {
            let was = NOW.load(SeqCst);
            // SAFETY: a published snapshot lives while a reader is counted.
            let older = unsafe { was.as_ref() }.is_none_or(|w| {
                // SAFETY: the caller's promise.
                let (adds, subs) = unsafe { ((*s).adds, (*s).subs) };
                (w.adds, w.subs) < (adds, subs)
            });
            if !older {
                break s;
            }
            if NOW.compare_exchange(was, s, SeqCst, SeqCst).is_ok() {
                break was;
            }
        };
        READERS.fetch_sub(1, SeqCst);
        if !out.is_null() {
            retire(out);
        }
    }
}

fn retire(s: *mut Snapshot) {
    push(s, s);
    // Take the list first, look at the readers after: whoever could hold one of these was counted
    // before it was retired.
    let list = RETIRED.swap(core::ptr::null_mut(), SeqCst);
    if list.is_null() {
        return;
    }
    let idle = READERS.load(SeqCst) == 0;
    let mut p = list;
    loop {
        // SAFETY: the list is ours alone now.
        let next = unsafe { (*p).next };
        if idle {
            // SAFETY: it is not read.
            unsafe { sys::unmap(p.cast(), (*p).bytes) };
        } else if next.is_null() {
            push(list, p);
        }
        if next.is_null() {
            return;
        }
        p = next;
    }
}

fn push(first: *mut Snapshot, last: *mut Snapshot) {
    loop {
        let head = RETIRED.load(SeqCst);
        // SAFETY: not published, so ours.
        unsafe { (*last).next = head };
        if RETIRED.compare_exchange(head, first, SeqCst, SeqCst).is_ok() {
            return;
        }
    }
}

/// What there is to know of an object.
///
/// # Safety
/// The object is mapped.
pub unsafe fn describe(info: &PhdrInfo) -> Object {
    let mut o = Object {
        base: info.addr,
        span: (usize::MAX, 0),
        text: (usize::MAX, 0),
        code: (0, 0),
        relro: (0, 0),
        tables: Tables::EMPTY,
        path: info.name,
        name: [0; NAME],
        name_len: 0,
        layer: 0,
        only_listed: false,
        profiler: false,
        id: 0,
        fresh: false,
        rewritten: false,
        ours: false,
        live: false,
    };
    let mut dynamic: *const Dyn = core::ptr::null();
    // SAFETY: phdr and phnum come from the loader.
    let headers: &[Phdr] = unsafe { core::slice::from_raw_parts(info.phdr, usize::from(info.phnum)) };
    for h in headers {
        let (lo, hi) = (info.addr.wrapping_add(h.vaddr as usize), info.addr.wrapping_add((h.vaddr + h.memsz) as usize));
        match h.kind {
            PT_DYNAMIC => dynamic = lo as *const Dyn,
            PT_GNU_RELRO => o.relro = (lo, hi),
            PT_LOAD => {
                o.span = (o.span.0.min(lo), o.span.1.max(hi));
                if h.flags & PF_X != 0 {
                    o.text = (o.text.0.min(lo), o.text.1.max(hi));
                    // Readable and executable, or there is nothing to look for.
                    if h.flags & 4 != 0 {
                        o.code = (lo, lo + h.filesz as usize);
                    }
                }
            }
            _ => {}
        }
    }
    // SAFETY: as the caller promises.
    unsafe {
        o.tables = Tables::read(dynamic, info.addr);
        let path = sys::text(info.name, 4096);
        let file = path.rsplit(|&c| c == b'/').next().unwrap_or(path);
        let soname = o.tables.soname();
        let name = if soname.is_empty() { file } else { soname };
        o.name_len = name.len().min(NAME);
        for (to, from) in o.name.iter_mut().zip(name) {
            *to = *from;
        }
    }
    o.layer = cutap_calls::layer_of(o.name());
    o.only_listed = cutap_calls::is_only_listed(o.name());
    o.profiler = cutap_calls::is_profiler(o.name());
    let me = describe as *const () as usize;
    o.ours = me >= o.span.0 && me < o.span.1;
    o
}

#[cfg(test)]
mod tests;
