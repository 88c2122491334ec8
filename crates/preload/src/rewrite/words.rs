//! Rewriting one object's relocated words: those that hold a function of a watched library get that
//! function's slot; those not bound yet get a stub that binds at the first call; those bound to libc's
//! own dlsym (RTLD_DEEPBIND) get ours.
//!
//! Runs inside a `dl_iterate_phdr` callback: no loader function may be called here, and the loader's
//! own lock is the only mutual exclusion. Some read-only pages of libraries stay writable afterwards.

use super::{autograd, injection_path, libc, profiler, stubs};
use crate::loader::elf::{JUMP_SLOT, Rela};
use crate::loader::objects::{Object, Snapshot};
use crate::loader::{announce, live, real};
use crate::process::{names, page};
use crate::runtime::suppress;
use crate::slots::{create, table};
use crate::sys::libc::PhdrInfo;
use crate::sys::program_headers::{PF_W, PF_X, PT_LOAD, Phdr};
use crate::sys::{self, PROT_READ, PROT_WRITE};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use cutap_wire::diagnostic;
use cutap_wire::names::route;

const GLOB_DAT: u32 = 6;
const R_64: u32 = 1;
const PAGE: usize = 4096;

/// The loader bound a word behind our back: all words are to be looked at again.
static AGAIN: AtomicBool = AtomicBool::new(false);

/// The loader is left to bind a word itself.
pub fn look_again() {
    AGAIN.store(true, Ordering::SeqCst);
    suppress::resume_all();
}

/// True, once, if all words are to be looked at again.
pub(super) fn are_to_be_looked_at() -> bool {
    AGAIN.swap(false, Ordering::SeqCst)
}

/// The second pass of one look.
pub struct Rewrite<'a> {
    /// What this thread listed before its own barrier.
    pub snapshot: &'a mut Snapshot,
    /// Why objects seen for the first time now are listed: they may have called already.
    pub late: Option<usize>,
    /// The objects have their numbers.
    pub numbered: bool,
    /// PyTorch is loaded.
    pub autograd: Option<autograd::Functions>,
    /// Something was unloaded since the list was made, so that another object may stand in its place, or loaded: a
    /// plugin may have been listed without what it needs, and its words lead there. The list is of no use.
    pub stale: bool,
    /// What is loaded all the time is looked at the next time.
    pub hurry: bool,
    /// Objects that were told of so far.
    pub place: usize,
}

impl Rewrite<'_> {
    /// Which objects of the list are still there, and their numbers: all of them before the first
    /// word, for a word leads to an object that may come later.
    fn number(&mut self) {
        let mut place = 0;
        live::find(|info| {
            let position = self.snapshot.place_of(info, place);
            place += 1;
            if let Some(o) = position.and_then(|at| self.snapshot.objects_mut().get_mut(at)) {
                o.live = true;
                if o.id == 0 {
                    o.id = live::load_id(o);
                    o.fresh = true;
                }
            }
            None::<()>
        });
        self.autograd = autograd::find(self.snapshot);
    }

    /// One object, called by the loader under its lock.
    ///
    /// # Safety
    /// `info` is what `dl_iterate_phdr` gave: the object is mapped.
    pub unsafe fn object(&mut self, info: &PhdrInfo) {
        let more = info.adds != self.snapshot.adds;
        self.stale |= info.subs != self.snapshot.subs || more && !self.hurry;
        if self.stale {
            return;
        }
        if more {
            look_again();
        }
        let position = self.snapshot.place_of(info, self.place);
        self.place += 1;
        let Some(index) = position else { return };
        if !self.numbered {
            self.numbered = true;
            self.number();
            // The loader keeps one library that is first: the last that says so.
            let another = self.snapshot.objects().iter().any(|o| o.tables.initfirst && !o.ours);
            if self.late.is_none() && another {
                page::count(diagnostic::BEFORE_US, 1);
            }
        }
        let Some(o) = self.snapshot.objects_mut().get_mut(index) else { return };
        announce::announce_if_made(o);
        if o.rewritten || o.ours {
            return;
        }
        o.rewritten = true;
        let snapshot = &*self.snapshot;
        let Some(o) = snapshot.objects().get(index) else { return };
        // SAFETY: the caller's promise.
        let bound = unsafe { rewrite(snapshot, o, info, self.autograd.as_ref()) };
        if let (true, true, Some(reason)) = (bound, o.fresh, self.late) {
            names::gap_named(reason, o.name());
        }
    }
}

/// # Safety
/// The object is mapped and relocated, and the loader's lock is held.
unsafe fn rewrite(snapshot: &Snapshot, o: &Object, info: &PhdrInfo, autograd: Option<&autograd::Functions>) -> bool {
    let t = &o.tables;
    if t.symbols.is_null() || (t.symbols as usize) < PAGE {
        return false;
    }
    // SAFETY: from the loader.
    let headers: &[Phdr] = unsafe { core::slice::from_raw_parts(info.phdr, usize::from(info.phnum)) };
    // SAFETY: the object is mapped.
    let needs_watched = unsafe { t.any_needed(|n| cutap_calls::layer_of(n) != 0 && !cutap_calls::is_only_listed(n)) };
    let kernel = libc::is_user(o) && libc::is_on();
    let profiler = profiler::is_user(o);
    let injection = injection_path::is_user(o) && injection_path::learn_path(snapshot).is_some();
    let mut w = ObjectBindings {
        snapshot,
        o,
        headers,
        needs_watched,
        kernel,
        profiler,
        injection,
        autograd,
        of_autograd: 0,
        bound: false,
    };
    // SAFETY: the tables are the loader's own; RELATIVE entries come first and need no symbol.
    unsafe {
        for k in 0..t.jmprel_count {
            w.word(&*t.jmprel.add(k));
        }
        for k in t.relative_count.min(t.rela_count)..t.rela_count {
            w.word(&*t.rela.add(k));
        }
    }
    if let Some(autograd) = autograd {
        autograd.looked_at(o, w.of_autograd);
    }
    w.bound
}

struct ObjectBindings<'a> {
    snapshot: &'a Snapshot,
    o: &'a Object,
    headers: &'a [Phdr],
    /// The object names a watched library itself: then any name may be one of its functions.
    needs_watched: bool,
    /// Its calls to the kernel are wanted.
    kernel: bool,
    /// Its calls to CUPTI are wanted.
    profiler: bool,
    /// It asks for an injection.
    injection: bool,
    /// Its calls to autograd are wanted.
    autograd: Option<&'a autograd::Functions>,
    /// Those that a word leads to.
    of_autograd: u32,
    /// A word held a watched function already: it may have been called through it.
    bound: bool,
}

impl ObjectBindings<'_> {
    /// Objects have hundreds of thousands of words, and most are none of ours: what tells so stands first.
    ///
    /// # Safety
    /// As `rewrite`.
    #[inline(always)]
    unsafe fn word(&mut self, r: &Rela) {
        let kind = r.kind();
        if r.symbol() == 0 || !(kind == JUMP_SLOT || kind == GLOB_DAT || (kind == R_64 && r.addend == 0)) {
            return;
        }
        let at = self.o.base.wrapping_add(r.offset);
        if at < self.o.span.0 || at + 8 > self.o.span.1 {
            return;
        }
        // SAFETY: a relocated word of a mapped object.
        let value = unsafe { (at as *const usize).read_volatile() };
        // What an object has itself is no other's; most words of C++ are such.
        let own = value >= self.o.span.0 && value < self.o.span.1;
        if own && kind != JUMP_SLOT && !real::is_replaced(value) || table::is_thunk(value) {
            return;
        }
        // SAFETY: the caller's promise.
        unsafe { self.another(r, at, value, own) }
    }

    /// A word that leads out of its object, or that the loader has not bound yet.
    ///
    /// # Safety
    /// As `rewrite`.
    #[inline(never)]
    unsafe fn another(&mut self, r: &Rela, at: usize, value: usize, own: bool) {
        // SAFETY: the index comes from the object's own relocations.
        let symbol = unsafe { &*self.o.tables.symbols.add(r.symbol()) };
        if let Some(autograd) = self.autograd
            // SAFETY: the symbol is the word's, and the object is mapped.
            && let Some(slot) = unsafe { autograd.slot(self.o, r, symbol, value) }
        {
            self.of_autograd |= autograd.which(slot);
            return self.put(at, slot);
        }
        // SAFETY: the name's offset comes from the symbol.
        let name = || unsafe { self.o.tables.string(symbol.name as usize) };
        let new = if r.kind() == JUMP_SLOT && self.o.has_code(value) && symbol.section == 0 {
            let name = name();
            // SAFETY: as above.
            if unsafe { self.may_be_ours(name) } {
                // SAFETY: as above.
                let version = unsafe { self.o.tables.needed_version(r.symbol()) };
                stubs::stub(at, value, name, version)
            } else {
                None
            }
        } else if real::is_replaced(value) {
            real::replacement(value, self.o)
        } else {
            match if own { None } else { self.snapshot.owner(value) } {
                Some(owner) if owner.live && owner.base != self.o.base => {
                    let name = name();
                    // SAFETY: the owner is loaded; we hold the lock that keeps it so.
                    let slot = unsafe { owner.has_function(name, value) }
                        .then(|| create::for_function(value, owner, name, route::BINDING))
                        .flatten();
                    self.bound |= slot.is_some();
                    slot
                }
                None if (self.kernel || self.profiler || self.injection) && !own => self.of_unwatched(value, name()),
                _ => None,
            }
        };
        if let Some(new) = new {
            self.put(at, new);
        }
    }

    /// The slot of a function by which the object reaches the kernel or profiles.
    fn of_unwatched(&self, value: usize, name: &[u8]) -> Option<usize> {
        let (of_libc, of_profiler) = (self.kernel && libc::is_name(name), self.profiler && profiler::is_name(name));
        let of_injection = self.injection && injection_path::is_name(name);
        if !of_libc && !of_profiler && !of_injection {
            return None;
        }
        let owner = self.snapshot.objects().iter().find(|o| o.live && o.has_code(value))?;
        // SAFETY: the owner is loaded; we hold the lock that keeps it so.
        let slot = unsafe {
            if of_profiler {
                profiler::slot(value, owner, name)
            } else if of_libc {
                libc::slot(value, owner, name, route::BINDING)
            } else {
                None
            }
        };
        slot.or_else(|| if of_injection { injection_path::slot(value) } else { None })
    }

    /// # Safety
    /// As `rewrite`.
    unsafe fn may_be_ours(&self, name: &[u8]) -> bool {
        // SAFETY: the loader's lock keeps the live objects mapped.
        let exported =
            |w: &Object| w.layer != 0 && !w.only_listed && w.live && unsafe { w.tables.find(name, |_, _| true) };
        cutap_calls::in_family(name)
            || self.kernel && libc::is_name(name)
            || self.injection && injection_path::is_name(name)
            || real::is_loader_name(name)
            || (self.needs_watched && self.snapshot.objects().iter().any(exported))
    }

    /// Writes a word. Its page keeps what its segment has, plus write while we write; RELRO pages stay
    /// writable, for another thread may be in the same page.
    fn put(&self, at: usize, value: usize) {
        let inside = |h: &&Phdr| {
            let lo = self.o.base.wrapping_add(h.vaddr as usize);
            h.kind == PT_LOAD && at >= lo && at < lo + h.memsz as usize
        };
        let Some(segment) = self.headers.iter().find(inside) else { return };
        if segment.flags & PF_X != 0 {
            suppress::disable();
            page::count(diagnostic::WORD_IN_TEXT, 1);
            return names::gap(diagnostic::WORD_IN_TEXT, self.o.name(), &[]);
        }
        let relro = at + 8 > self.o.relro.0 && at < self.o.relro.1;
        if segment.flags & PF_W == 0 || relro {
            let page = at & !(PAGE - 1);
            let bytes = if at + 8 > page + PAGE { 2 * PAGE } else { PAGE };
            // SAFETY: adds a right to a data page.
            if !unsafe { sys::protect(page, bytes, PROT_READ | PROT_WRITE) } {
                suppress::disable();
                page::count(diagnostic::WORD_PROTECTED, 1);
                return names::gap(diagnostic::WORD_PROTECTED, self.o.name(), &[]);
            }
        }
        // SAFETY: a word of this object, writable now; calls through it read it whole.
        unsafe { (*(at as *const AtomicUsize)).store(value, Ordering::Release) };
    }
}
