//! What is remembered of each thread: which hook it is in, so that the calls that a hook makes pass
//! without hooks, and so that a hook that ends the program can be named; the runtime calls that are open;
//! the last error of answered runtime calls.
//!
//! A hook may be left by an exception or by longjmp. Then the stack has left the frame that called the hook,
//! and its entry here is stale. Stacks far apart (fibres, signal stacks) cannot be
//! compared: there hooks run. Those of a handler on a signal stack may run in the middle of a hook, to
//! which the thread comes back: its call remembers that one.

use super::last_error::LastError;
use super::open_call::OpenRuntime;
use crate::process::path::Path;
use crate::process::{folder, page};
use crate::sys::libc::errno_location;
use crate::sys::{self, Opened, Table, arch};
use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use cutap_wire::diagnostic;
use cutap_wire::hooks::{HOOK_ACTIVE_FILE, INSIDE_BYTES, Inside, THREADS};

/// Runtime calls that are open at a time and whose hooks have a word.
pub const OPEN: usize = 12;
/// Runtimes whose last error is remembered.
pub const ERRORS: usize = 8;

pub struct Thread {
    tid: AtomicU32,
    number: usize,
    /// Stack address of the frame whose hook is running; 0 outside of hooks.
    at: usize,
    /// The word that names it.
    active_word: u64,
    /// Open runtime calls, oldest first.
    pub open: [OpenRuntime; OPEN],
    /// How many.
    pub depth: usize,
    /// Where its errno is.
    errno: *mut c_int,
    /// See `LastError`.
    pub errors: [LastError; ERRORS],
    /// How many hooked calls have ended with errors.
    pub failed: u32,
    /// The frame in whose hook a runtime is being asked for a kernel's name, or 0: what it reports meanwhile is
    /// nobody's call.
    pub name_query: usize,
    /// The recorded call, plus one, that succeeded and whose result a hook changed: what it wrote is to be kept all the
    /// same.
    pub succeeded: u64,
}

/// A hook that was interrupted, and continues behind the hooks of whoever interrupted it.
#[derive(Clone, Copy)]
pub struct InterruptedHook {
    at: usize,
    active_word: u64,
}

impl InterruptedHook {
    pub const NONE: InterruptedHook = InterruptedHook { at: 0, active_word: 0 };
}

struct Threads(Table<UnsafeCell<Thread>, THREADS>);
// SAFETY: an entry is used by the thread whose id it has; ids are taken by compare-and-swap.
unsafe impl Sync for Threads {}
#[unsafe(link_section = ".bss.cutap_tables")]
static ALL: Threads = Threads(Table(
    [const {
        UnsafeCell::new(Thread {
            tid: AtomicU32::new(0),
            number: 0,
            at: 0,
            active_word: 0,
            open: [OpenRuntime::NONE; OPEN],
            depth: 0,
            errno: core::ptr::null_mut(),
            errors: [LastError::NONE; ERRORS],
            failed: 0,
            name_query: 0,
            succeeded: 0,
        })
    }; THREADS],
));
static OPENED: Opened = Opened::all();

/// At start: no thread has an entry.
pub fn close() {
    OPENED.close(&ALL.0);
}

fn entries() -> *mut Thread {
    UnsafeCell::raw_get(ALL.0.as_ptr())
}
/// CLOCK_MONOTONIC nanoseconds of the last search that found no entry of a dead thread.
static SEARCHED_AT: AtomicU64 = AtomicU64::new(0);
const SEARCH_PAUSE_NS: u64 = 10_000_000;
static USED: AtomicUsize = AtomicUsize::new(0);
/// The process folder's file; null until a hook is entered, and where it cannot be made.
static FILE: AtomicPtr<Inside> = AtomicPtr::new(core::ptr::null_mut());
static MAKING: AtomicU32 = AtomicU32::new(0);
/// It was tried, and is there or will not be.
static MADE: AtomicBool = AtomicBool::new(false);

/// This thread's word.
#[inline(always)]
fn word() -> *mut *mut Thread {
    arch::hook_thread().cast()
}

/// This thread's entry, taken at its first use.
#[inline(always)]
pub fn current() -> Option<&'static mut Thread> {
    // SAFETY: this thread's own word and entry.
    unsafe { (*word()).as_mut() }.or_else(take)
}

/// This thread's entry if it has one.
pub fn existing() -> Option<&'static mut Thread> {
    // SAFETY: this thread's own word and entry.
    unsafe { (*word()).as_mut() }
}

/// True for what stands here when a hook has called it itself: nothing that was opened since that hook began is around
/// it. `frame` is the innermost open call's.
pub fn is_hooks_own(frame: Option<usize>, at: usize) -> bool {
    existing().is_some_and(|t| t.is_inside(at) && frame.is_none_or(|f| f.wrapping_sub(t.at) < ONE_STACK))
}

/// True, once, of a recorded call that succeeded and that a hook told the program to have failed.
#[cold]
pub fn succeeded(number: u32) -> bool {
    existing().is_some_and(|t| t.succeeded == u64::from(number) + 1 && core::mem::take(&mut t.succeeded) != 0)
}

#[cold]
fn take() -> Option<&'static mut Thread> {
    let me = sys::gettid();
    let all = entries();
    let fresh = USED.fetch_add(1, Relaxed);
    let claim = |n: usize, was: u32| {
        // SAFETY: inside the array; only the id is looked at before it is ours.
        OPENED.reach(&ALL.0, n) && unsafe { (*all.add(n)).tid.compare_exchange(was, me, AcqRel, Relaxed).is_ok() }
    };
    let mut free_entry = (fresh < THREADS && claim(fresh, 0)).then_some(fresh);
    if free_entry.is_none() {
        USED.store(THREADS, Relaxed);
        // A search asks the kernel for each thread whether it lives. While all do, calls of further threads do not
        // repeat it.
        let now = sys::clock(sys::MONOTONIC);
        if now.wrapping_sub(SEARCHED_AT.load(Relaxed)) < SEARCH_PAUSE_NS {
            page::count(diagnostic::HOOK_PASSED, 1);
            return None;
        }
        free_entry = (0..THREADS).find(|&n| {
            // SAFETY: as above.
            let was = unsafe { (*all.add(n)).tid.load(Acquire) };
            (was == 0 || was == me || !sys::thread_lives(was)) && claim(n, was)
        });
    }
    let Some(n) = free_entry else {
        SEARCHED_AT.store(sys::clock(sys::MONOTONIC), Relaxed);
        page::count(diagnostic::HOOK_PASSED, 1);
        return None;
    };
    // SAFETY: ours now.
    let thread = unsafe { &mut *all.add(n) };
    (thread.number, thread.at, thread.active_word, thread.depth) = (n, 0, 0, 0);
    thread.errors = [LastError::NONE; ERRORS];
    (thread.name_query, thread.succeeded) = (0, 0);
    // SAFETY: libc's own function.
    thread.errno = errno_location().map_or(core::ptr::null_mut(), |f| unsafe { f() });
    // SAFETY: this thread's own word.
    unsafe { *word() = thread };
    Some(thread)
}

const ONE_STACK: usize = 8 << 20;

impl Thread {
    #[inline(always)]
    pub fn id(&self) -> u32 {
        self.tid.load(Relaxed)
    }
    /// True while a hook runs that this stack address is inside of.
    #[inline(always)]
    pub fn is_inside(&mut self, at: usize) -> bool {
        if self.at == 0 {
            return false;
        }
        if self.at.wrapping_sub(at).wrapping_sub(1) < ONE_STACK {
            return true;
        }
        // The hook was left by an exception or longjmp if the frame is on this stack and gone. A signal stack may lie
        // close above it.
        if at.wrapping_sub(self.at) < ONE_STACK && !sys::on_signal_stack() {
            self.go_back(InterruptedHook::NONE);
        }
        false
    }
    /// True for what a runtime reports at this stack address because it is being asked. A handler may have left the
    /// question by longjmp.
    pub fn is_asking(&mut self, at: usize) -> bool {
        self.name_query != 0 && self.is_inside(at) && self.name_query == self.at
    }
    /// The hook has returned: errno is again what it was.
    #[inline(always)]
    pub fn put_out(&mut self, errno: c_int, interrupted: InterruptedHook) {
        self.go_back(interrupted);
        if !self.errno.is_null() {
            // SAFETY: this thread's errno.
            unsafe { self.errno.write(errno) };
        }
    }
    /// The hook runs no more; the one around it, if there is one, continues.
    #[inline(always)]
    fn go_back(&mut self, interrupted: InterruptedHook) {
        (self.at, self.active_word) = (interrupted.at, interrupted.active_word);
        self.publish_word(interrupted.active_word);
    }
    /// A hook is about to be called from the frame at this address; errno, which it may change, and the hook around it.
    #[inline(always)]
    pub fn put_in(&mut self, at: usize, active_word: u64) -> (c_int, InterruptedHook) {
        let interrupted = if self.at == 0 { InterruptedHook::NONE } else { self.interrupted() };
        (self.at, self.active_word) = (at, active_word);
        self.publish_word(active_word);
        // SAFETY: this thread's errno.
        (if self.errno.is_null() { 0 } else { unsafe { self.errno.read() } }, interrupted)
    }
    /// The hook that is running on another stack, if it will continue: of any but a signal stack nobody knows that.
    #[cold]
    fn interrupted(&self) -> InterruptedHook {
        if sys::on_signal_stack() {
            InterruptedHook { at: self.at, active_word: self.active_word }
        } else {
            InterruptedHook::NONE
        }
    }
    /// The frame at this address is gone; `interrupted` is what its chain has.
    pub fn frame_unwound(&mut self, at: usize, interrupted: impl FnOnce() -> InterruptedHook) {
        if self.at == at {
            self.go_back(interrupted());
        }
    }
    /// Leaves a word for whoever asks why the program died.
    #[inline(always)]
    fn publish_word(&mut self, active_word: u64) {
        let file = FILE.load(Acquire);
        if !file.is_null() {
            // SAFETY: the mapping has an entry for each thread.
            let entry = unsafe { &*file.add(self.number) };
            entry.word.store(active_word, Release);
        } else if active_word != 0 {
            self.first(active_word);
        }
    }
    #[cold]
    fn first(&mut self, what: u64) {
        if sys::take(&MAKING, self.tid.load(Relaxed)) {
            FILE.store(create_active_file().unwrap_or(core::ptr::null_mut()), Release);
            MADE.store(true, Release);
        }
        // Another thread makes it: a few system calls. A signal handler in the middle of that goes without.
        for turn in 0..1000 {
            if MADE.load(Acquire) {
                break;
            }
            sys::wait(turn);
        }
        let file = FILE.load(Acquire);
        if !file.is_null() {
            // SAFETY: as above.
            unsafe { (*file.add(self.number)).word.store(what, Release) };
        }
    }
}

fn create_active_file() -> Option<*mut Inside> {
    if !folder::ensure_folder() || !folder::settled() {
        return None;
    }
    let mut path = Path::process();
    path.push(b"/").push(HOOK_ACTIVE_FILE.as_bytes());
    let at = sys::with(path.bytes(), &[sys::Open::New], |file| {
        file.allocate(INSIDE_BYTES).then(|| file.map(0, INSIDE_BYTES).cast::<Inside>())
    });
    at.flatten().filter(|at| !at.is_null())
}

/// A forked child has one thread. It may have been forked by a hook: then it still is in it, and its frames
/// know the entry, so that this one stays where it is.
pub fn forked() {
    FILE.store(core::ptr::null_mut(), Release);
    MAKING.store(0, Relaxed);
    MADE.store(false, Relaxed);
    // SAFETY: this thread's own word.
    let own = unsafe { *word() };
    let all = entries();
    let used = USED.load(Relaxed).min(THREADS);
    for n in 0..used {
        // SAFETY: the child's only thread.
        let tid = unsafe { &(*all.add(n)).tid };
        // What was never used may not be open to be written.
        if tid.load(Relaxed) != 0 {
            tid.store(0, Relaxed);
        }
    }
    if own.is_null() {
        USED.store(0, Relaxed);
        return;
    }
    // SAFETY: an entry of the array, this thread's.
    unsafe {
        (*own).tid.store(sys::gettid(), Relaxed);
        USED.store((*own).number + 1, Relaxed);
    }
}
