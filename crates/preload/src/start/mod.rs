//! The run directory as this process sees it: what is wanted, and where its own files are. The process folder is made
//! at the first thing worth saying, which the loaded driver is, so a program without CUDA leaves no trace but a number
//! in the control page.
//!
//! With no run directory, or one that makes no sense, everything here says no, and the program runs as
//! if we were not there.

pub mod armed;
pub mod dump;
pub mod environment;
mod identity;
pub mod names;
mod other_libc;
pub mod own;
pub mod process;
mod segments;
mod state;
pub mod switch;

use crate::loader::objects::Object;
use crate::loader::{live, map, place};
use crate::{routes, sys, thread};
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};
use cutap_wire::control::{self, Control};
use cutap_wire::names::{Name, kind};
use cutap_wire::{MAGIC, PAGE, VERSION};
use state::{NOT_YET, RUNNING, STARTING};

pub use process::{
    count, driver_loaded, given_up_by, leave_word_of_driver, lend, made as process_made, path as process_path,
    rings_made, settled,
};
pub use switch::{counting, recording};

static STATE: AtomicU32 = AtomicU32::new(NOT_YET);
static CONTROL: AtomicPtr<Control> = AtomicPtr::new(core::ptr::null_mut());

/// Longest path of a run directory; longer ones are refused outside, and here end in OFF.
pub const RUN_PATH: usize = 512;

pub struct Shared<T>(pub UnsafeCell<T>);
// SAFETY: written once while STATE is STARTING, by the one thread that made it so; read after.
unsafe impl<T> Sync for Shared<T> {}
static RUN: Shared<([u8; RUN_PATH], usize)> = Shared(UnsafeCell::new(([0; RUN_PATH], 0)));

/// The run directory's path, without a zero.
pub fn run() -> &'static [u8] {
    // SAFETY: see `Shared`.
    let (bytes, len) = unsafe { &*RUN.0.get() };
    bytes.get(..*len).unwrap_or(&[])
}

/// A path being put together on the stack, always ended by a zero.
#[derive(Clone)]
pub struct Path {
    bytes: [u8; RUN_PATH + 128],
    len: usize,
}

impl Path {
    /// Nothing yet.
    pub const fn empty() -> Path {
        Path { bytes: [0; RUN_PATH + 128], len: 0 }
    }
    /// The run directory.
    pub fn run() -> Path {
        let mut p = Path::empty();
        p.push(run());
        p
    }
    /// This process's folder.
    pub fn process() -> Path {
        let mut p = Path::run();
        p.push(b"/").push(process::path());
        p
    }
    /// Adds bytes; what does not fit is cut off, and the file is then not found.
    pub fn push(&mut self, bytes: &[u8]) -> &mut Path {
        for &b in bytes {
            if let Some(to) = self.bytes.get_mut(self.len)
                && self.len + 1 < RUN_PATH + 128
            {
                *to = b;
                self.len += 1;
            }
        }
        self
    }
    /// Adds a decimal number.
    pub fn number(&mut self, n: u64) -> &mut Path {
        let mut digits = [0u8; 20];
        let mut n = n;
        let mut from = digits.len();
        for (i, d) in digits.iter_mut().enumerate().rev() {
            *d = b'0' + (n % 10) as u8;
            n /= 10;
            from = i;
            if n == 0 {
                break;
            }
        }
        self.push(digits.get(from..).unwrap_or(&[]))
    }
    /// The path with its zero.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..=self.len).unwrap_or(b"\0")
    }
}

/// Starts, once. `environment` as glibc's loader passes it to a constructor, or null before that; of another loader
/// anything.
pub fn begin(environment: *const *const u8) {
    if STATE.compare_exchange(NOT_YET, STARTING, AcqRel, Acquire).is_err() {
        return;
    }
    close_tables();
    if !map::is_glibcs() {
        other_libc::leave();
        STATE.store(state::looked(false), Release);
        return;
    }
    let environment = if environment.is_null() { environment::before_libc() } else { environment };
    let state = state::looked(set_up(environment));
    STATE.store(state, Release);
    if state == RUNNING {
        thread::fork::start();
        // Of a process that was switched alone, also what it starts is.
        if control().is_some_and(|c| c.alone.load(Acquire) != 0) {
            own::made();
        }
        routes::dlsym::find_next();
        crate::hook::library::load();
        crate::loader::notice::notice();
    }
}

/// Nobody has written to them yet: whoever does, starts us first.
fn close_tables() {
    crate::slots::table::close();
    crate::slots::hooks::extension(|of| (of.close)());
    thread::block::close();
    routes::first_call::close();
    routes::handles::close();
    routes::instances::close();
    crate::hook::thread::close();
}

/// Takes over the path of the run directory, if the environment has one.
fn run_named(environment: *const *const u8) -> bool {
    let Some(path) = environment::find(environment, control::ENV_RUN.as_bytes()) else { return false };
    if path.is_empty() || path.len() >= RUN_PATH {
        return false;
    }
    // SAFETY: see `Shared`.
    let run = unsafe { &mut *RUN.0.get() };
    for (to, from) in run.0.iter_mut().zip(path) {
        *to = *from;
    }
    run.1 = path.len();
    true
}

/// The run's control page, as `map` maps it.
fn mapped_page(map: impl FnOnce(&sys::File) -> Option<*mut Control>) -> Option<*mut Control> {
    let mut file = Path::run();
    file.push(b"/").push(control::FILE.as_bytes());
    // A file too short would be SIGBUS, so its length is asked first.
    let whole = |file: &sys::File| file.read(&mut [0; PAGE]) == PAGE;
    sys::with(file.bytes(), &[sys::Open::ReadWrite], |file| if whole(file) { map(file) } else { None }).flatten()
}

/// Whether it is a page of this version, whose run wants this process.
///
/// # Safety
/// It is null or mapped.
unsafe fn wants_us(page: *const Control) -> bool {
    // SAFETY: the caller's promise.
    !page.is_null() && unsafe { (*page).magic == MAGIC && (*page).version == VERSION && followed(&*page) }
}

fn set_up(environment: *const *const u8) -> bool {
    if !run_named(environment) {
        return false;
    }
    let page = mapped_page(|file| {
        // SAFETY: the place is a page of ours that holds nothing yet.
        let mapped = unsafe { file.map_over(switch::CUTAP_CONTROL.at(), PAGE) };
        // Once more, for the page of switches comes to lie over the first one.
        mapped.then(|| file.map(0, PAGE).cast::<Control>())
    });
    let Some(page) = page else { return false };
    // SAFETY: just mapped.
    if !unsafe { wants_us(page) } {
        switch::leave();
        return false;
    }
    CONTROL.store(page, Release);
    if let Some(c) = control() {
        c.entered.fetch_add(1, Relaxed);
    }
    keep_alive();
    armed::start();
    crate::capture::answers::start();
    switch::start();
    true
}

/// Maps the page by which the collector knows that somebody of the run lives, whatever /proc tells; never touched.
fn keep_alive() {
    let mut path = Path::run();
    path.push(b"/").push(control::ALIVE.as_bytes());
    sys::with(path.bytes(), &[sys::Open::AtOnce], |file| file.map_closed(0, PAGE));
}

/// Whether this process is to be traced: under --no-follow-children only the first one is, through exec too.
fn followed(c: &Control) -> bool {
    if c.flags.load(Relaxed) & control::NO_FOLLOW == 0 {
        return true;
    }
    let me = sys::getpid();
    c.first_pid.compare_exchange(0, me, AcqRel, Acquire).is_ok() || c.first_pid.load(Acquire) == me
}

/// True once started with a run directory; starts if nobody did.
pub fn running() -> bool {
    match state::running(STATE.load(Acquire)) {
        state::Asked::Start => {
            begin(core::ptr::null());
            STATE.load(Acquire) == RUNNING
        }
        state::Asked::Is(answer) => answer,
    }
}

/// The control page.
#[inline(always)]
pub fn control() -> Option<&'static Control> {
    // SAFETY: null or mapped permanently.
    unsafe { CONTROL.load(Relaxed).as_ref() }
}
/// Bits of `wire::control`.
pub fn flags() -> u64 {
    control().map_or(0, |c| c.flags.load(Relaxed))
}
/// A call that is not recorded; counted if that is nobody's wish.
#[cold]
pub fn passed() {
    if switch::broken() {
        count(cutap_wire::diagnostic::NOT_WRITTEN, 1);
    }
}
/// True when look-ups are events.
pub fn lookups() -> bool {
    flags() & control::LOOKUPS != 0 && recording()
}
pub fn chunk_bytes() -> u32 {
    control().map_or(65536, |c| c.chunk_bytes).clamp(PAGE as u32, 1 << 24) & !(PAGE as u32 - 1)
}
/// Chunks before a writer waits.
pub fn max_chunks() -> u32 {
    control().map_or(64, |c| c.max_chunks.load(Relaxed))
}
/// Whether the rules want a function, of what is armed.
pub fn wanted(layer: u8, library: &[u8], name: &[u8]) -> bool {
    armed::holds(layer, library, name) && cutap_calls::filter::recorded(rules(switch::here()), layer, library, name)
}
/// Bytes of a caller's stack that are kept; 0: none.
pub fn stack_bytes() -> usize {
    control().map_or(0, |c| c.stack_bytes as usize).min(control::STACK_MOST)
}
/// Of which functions: rules.
pub fn stack_rules(c: &Control) -> &[u8] {
    c.stack_rules.get(..c.stack_rules_len as usize).unwrap_or(&[])
}
fn rules(c: &Control) -> &[u8] {
    c.rules.get(..c.rules_len.load(Relaxed) as usize).unwrap_or(&[])
}

/// Tells an object's name to the stream, once. Only under the loader's lock: its path is the loader's.
pub fn announce(o: &Object) {
    if o.id == 0 || !live::announce(o.id) {
        return;
    }
    // SAFETY: the object is loaded.
    let path = unsafe { sys::text(o.path, 4096) };
    let (name, path) = if path.is_empty() { (process::file_name(), process::exe()) } else { (o.name(), path) };
    let c = u64::from(o.layer) | ((o.span.1 - o.span.0) as u64) << 8;
    place::with_path(o.span.0, path, |path| {
        names::write(&Name { kind: kind::OBJECT, ticks: 0, a: o.id.into(), b: o.span.0 as u64, c, s: name, t: path });
    });
}

/// The same, if this process has anything to say at all.
pub fn announce_if_made(o: &Object) {
    if process::is_made() {
        announce(o);
    }
}

/// Tells the names of all that is loaded.
pub fn announce_objects() {
    live::each(
        |_| true,
        |o| {
            announce(o);
            None::<()>
        },
    );
}

/// Tells the version of the kernel driver, once for each process folder; without one nothing is told.
pub fn tell_driver() {
    let mut text = [0u8; 32];
    let read = |file: &sys::File| file.read(&mut text);
    let len = sys::with(b"/sys/module/nvidia/version\0", &[sys::Open::Read], read).unwrap_or(0).min(32);
    let text = text.get(..len).unwrap_or(&[]).trim_ascii();
    if !text.is_empty() {
        names::write(&Name { kind: kind::DRIVER, ticks: 0, a: 0, b: 0, c: 0, s: text, t: &[] });
    }
}

/// Something that is listed at the end, by name.
pub fn gap(reason: usize, name: &[u8], more: &[u8]) {
    names::write(&Name { kind: kind::GAP, ticks: 0, a: reason as u64, b: 0, c: 0, s: name, t: more });
}
/// The same, counted.
pub fn gap_named(reason: usize, name: &[u8]) {
    count(reason, 1);
    gap(reason, name, &[]);
}

/// A forked child: its own folder, at its first word; or nothing at all.
pub fn forked() {
    if flags() & control::NO_FOLLOW != 0 {
        switch::leave();
    }
    names::forked();
    process::forked();
    switch::forked();
    own::forked();
}
