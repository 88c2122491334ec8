//! This process's own page of switches (`wire::flags`), so that somebody outside switches it alone. It is made when the
//! first function is armed; before that, and where it cannot be made, the run's control page stands in its place and
//! the process is switched with all others.
//!
//! It begins as what it takes the place of: for a new process the run's page, for a forked child its parent's. Whoever
//! switches the run writes the run's page first and then each process's, so what is copied is looked at once more. A
//! process that arms nothing (a shell) has a page only if it was switched alone: it takes it before it forks, so that
//! its children begin as it is.

use super::identity::Identity;
use super::path::Path;
use super::run::{self, control};
use super::switch;
use crate::sys;
use crate::sys::callback::Callback;
use core::sync::atomic::{AtomicU32, Ordering::*};
use cutap_wire::control::{Control, GPU_TIME_OFF, RECORDING_OFF};
use cutap_wire::flags::{FILE, FIRST, INSTANCE_BYTES};
use cutap_wire::{MAGIC, PAGE, VERSION};

/// The process that has one, 0 none: a forked child finds its parent's number.
static OWNER: AtomicU32 = AtomicU32::new(0);
/// What a forked child does that has its own page now.
pub static CHILD_HAS_PAGE: Callback = Callback::none();
/// Number of the file.
static NUMBER: AtomicU32 = AtomicU32::new(0);
static MAKING: AtomicU32 = AtomicU32::new(0);
/// Pages that are looked at when one process was switched alone.
const MOST: u32 = 1 << 16;

/// Something is being armed. True, once, when the page is made for that.
pub fn create_once() -> bool {
    let first = OWNER.load(Acquire) == 0 && run::is_running() && sys::take(&MAKING, sys::gettid());
    if first {
        let signals = sys::block_signals();
        // Not that of a vfork child: the memory is its parent's.
        let pid = super::fork::pid();
        create_page(&[pid, sys::getppid()]);
        // Once: where it cannot be made now, it is not tried at each function.
        OWNER.store(pid, Release);
        sys::restore_signals(signals);
    }
    first
}

/// Whether this process has such a page.
pub fn is_made() -> bool {
    NUMBER.load(Acquire) != 0 && OWNER.load(Acquire) == super::fork::pid()
}

/// Before a fork. Looks once after each time that some process was switched alone.
pub fn look_before_fork() {
    static LOOKED: AtomicU32 = AtomicU32::new(0);
    let alone = control().map_or(0, |c| c.alone.load(SeqCst));
    if OWNER.load(Acquire) != 0 || LOOKED.swap(alone, AcqRel) == alone {
        return;
    }
    // SAFETY: only looked for.
    if unsafe { of_process(u32::MAX, sys::getpid(), |_| ()) }.is_some() {
        let _ = create_once();
    }
}

/// In a forked child that libc reports. One that was made without libc takes its page at its first recorded call.
pub fn in_child() {
    take(&[]);
}

/// A forked child at its first call, if libc did not know of it: somebody may have switched it alone before.
pub fn forked() {
    take(&[sys::getpid()]);
}

/// In a forked child: a page as its parent's is, if that has one, unless one of these processes was switched alone.
fn take(alone: &[u32]) {
    let own_pid = sys::getpid();
    let owner = OWNER.load(Acquire);
    if owner == 0 || owner == own_pid {
        return;
    }
    OWNER.store(own_pid, Release);
    if create_page(alone).is_some() {
        CHILD_HAS_PAGE.call();
    }
}

/// Room for the flags of runtime instance `n`, in this process's file.
/// The runtime has its table from a slot, and the first slot has made the file.
pub fn flags(n: usize) -> Option<*mut u8> {
    let path = path(NUMBER.load(Acquire).checked_sub(1)?);
    let at = FIRST + n * INSTANCE_BYTES;
    let shared = sys::with(path.bytes(), &[sys::Open::ReadWrite], |file| {
        file.allocate(at + INSTANCE_BYTES).then(|| file.map(at, INSTANCE_BYTES))
    });
    shared.flatten().filter(|at| !at.is_null())
}

fn path(n: u32) -> Path {
    let mut path = Path::run();
    path.push(b"/").push(FILE.as_bytes()).number(n.into());
    path
}

fn create_page(alone: &[u32]) -> Option<()> {
    let run = control()?;
    NUMBER.store(0, Release);
    let n = run.own_pages.fetch_add(1, AcqRel);
    let page = sys::with(path(n).bytes(), &[sys::Open::New], |file| file.first_page())??;
    // SAFETY: a page of this layout, fresh; only its atomics and its rules are written, by us and by whoever switches.
    unsafe {
        let own = page.cast::<Control>();
        (&raw mut (*own).version).write(VERSION);
        Identity::of(sys::getpid()).put(&*own);
        let copied_state = take_over(switch::here(), own);
        (&raw mut (*own).magic).write_volatile(MAGIC);
        // Behind the page that others can see now: one that was switched before is found, one after finds us.
        core::sync::atomic::fence(SeqCst);
        // Whoever switches the run has written what we began as before it looks for us.
        if copied_state != (switch::here().recording.load(Acquire), switch::here().rules_epoch.load(Acquire)) {
            take_over(switch::here(), own);
        }
        if !alone.is_empty() && run.alone.load(SeqCst) != 0 {
            inherit(n, own, alone);
        }
        if !sys::move_over(page, switch::CUTAP_CONTROL.at(), PAGE) {
            return None;
        }
    }
    NUMBER.store(n + 1, Release);
    Some(())
}

/// Makes `own` what `from` is, which may change meanwhile; state and epoch that it took.
///
/// # Safety
/// Both are mapped; no other thread has `own`, but for whoever switches.
unsafe fn take_over(from: &Control, own: *mut Control) -> (u32, u32) {
    let (mut state, mut epoch) = (0, 0);
    for _ in 0..1000 {
        (state, epoch) = (from.recording.load(Acquire), from.rules_epoch.load(Acquire));
        let is_for_capture = from.on_for_capture.load(Acquire) != 0;
        // SAFETY: the caller's promise; byte by byte, for no memcpy may see them change.
        unsafe {
            let to = (&raw mut (*own).rules).cast::<u8>();
            for (n, byte) in from.rules.iter().enumerate() {
                to.add(n).write_volatile((&raw const *byte).read_volatile());
            }
            (*own).rules_len.store(from.rules_len.load(Relaxed), Relaxed);
            (*own).rules_epoch.store(epoch & !1, Relaxed);
            (*own).flags.store(from.flags.load(Relaxed) & GPU_TIME_OFF, Relaxed);
            // A capture of the parent is none of the child.
            (*own).recording.store(if is_for_capture { RECORDING_OFF } else { state }, Release);
        }
        core::sync::atomic::fence(SeqCst);
        if epoch.is_multiple_of(2) && from.rules_epoch.load(Acquire) == epoch && from.recording.load(Acquire) == state {
            break;
        }
        sys::yield_now();
    }
    (state, epoch)
}

/// What was said of the first of these processes that something was said of: of this one before it had a page (or
/// before its exec), or else of its parent.
///
/// # Safety
/// `own` is mapped.
unsafe fn inherit(number: u32, own: *mut Control, alone: &[u32]) {
    // SAFETY: the caller's promise.
    let take = |other: &Control| unsafe {
        take_over(other, own);
    };
    // SAFETY: only read.
    if alone.iter().any(|who| unsafe { of_process(number, *who, take) }.is_some()) {
        switch::look_again();
    }
}

/// The newest page of a process, but for the one with this number.
///
/// # Safety
/// What `then` is given may change meanwhile.
unsafe fn of_process<R>(number: u32, process: u32, then: impl Fn(&Control) -> R) -> Option<R> {
    let process = Identity::of(process);
    let run = control().map_or(0, |c| c.own_pages.load(SeqCst)).min(MOST);
    for n in (0..run).rev().filter(|n| *n != number) {
        let mapping = sys::with(path(n).bytes(), &[sys::Open::ReadWrite], |file| {
            let whole = file.read(&mut [0; PAGE]) == PAGE;
            whole.then(|| file.map(0, PAGE))
        });
        let Some(mapping) = mapping.flatten().filter(|at| !at.is_null()) else { continue };
        // SAFETY: a whole page of the file.
        let page = unsafe { &*mapping.cast::<Control>() };
        let result = (page.magic == MAGIC && process.owns(page)).then(|| then(page));
        // SAFETY: mapped above.
        unsafe { sys::unmap(mapping, PAGE) };
        if result.is_some() {
            return result;
        }
    }
    None
}
