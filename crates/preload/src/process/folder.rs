//! This process's folder and its `process` page. Made once; while one thread makes it, others wait a
//! moment, and a signal handler in the middle of it goes without.
//!
//! A process that cannot make it (no descriptor is free, the disk is full, another root or user) keeps page and names
//! in its own memory, so that its functions have their slots and hooks: nothing of it is recorded until a later try to
//! make the folder succeeds (`settled`).

use super::page::{self, EARLY, FOLDER, Folder, HERE, STATE, count, is_made, page};
use super::path::Path;
use super::state::{self, FAILED, MADE, NONE, Want};
use super::{clock, fork, names_file, run, switch, vfork_word};
use crate::sys;
use crate::sys::callback::Callback;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use cutap_wire::process::{FILE, Process};
use cutap_wire::{MAGIC, PAGE, VERSION, diagnostic};

/// Page and names are in this process's memory: there is no folder, or not all of it.
static WITHOUT: AtomicBool = AtomicBool::new(false);
/// What follows once there is a folder, or memory in its place: names of what is loaded already.
pub static FOLDER_MADE: Callback = Callback::none();
/// The thread that tries again.
static SETTLING: AtomicU32 = AtomicU32::new(0);
/// This process is a forked child; its parent may have had nothing to say, and then has no folder.
static FORKED: AtomicBool = AtomicBool::new(false);
/// Whether the driver is loaded: not as far as is known, `LOADED_HERE`, or in the parent of this forked child.
static DRIVER: AtomicU32 = AtomicU32::new(0);
const LOADED_HERE: u32 = 1;
const LOADED_IN_PARENT: u32 = 2;
/// How often a thread waits for the one that makes the folder: a second or two.
const TURNS: u32 = 10_000;
static PARENT: Folder = Folder(UnsafeCell::new(([0; 64], 0)));

/// A vfork child that was killed while it made the folder leaves that to others.
pub fn given_up_by(child: u32) {
    let _ = STATE.compare_exchange(child, NONE, AcqRel, Relaxed);
}

/// Makes the folder unless it is there.
pub fn ensure_folder() -> bool {
    let state = STATE.load(Acquire);
    if state == MADE {
        return true;
    }
    if state == FAILED || vfork_word::goes_without() || !run::is_running() {
        return false;
    }
    let me = sys::gettid();
    if sys::take(&STATE, me) {
        let signals = sys::block_signals();
        let mut created = create_folder(names_file::create);
        if let (false, Some(c)) = (created, run::control()) {
            c.failed.fetch_add(1, Relaxed);
        }
        // What a vfork child cannot do, its parent may.
        let left_to_parent = !created && vfork_word::is_child();
        if left_to_parent {
            vfork_word::go_without();
        } else if !created {
            created = make_without();
        }
        STATE.store(if left_to_parent { NONE } else { state::after_creation(created) }, Release);
        sys::restore_signals(signals);
        if created {
            FOLDER_MADE.call();
        }
        return created;
    }
    // The maker makes a dozen system calls. Never wait for ourselves.
    for turn in 0..TURNS {
        match state::want(STATE.load(Acquire), me) {
            Want::Is(answer) => return answer,
            Want::Without => break,
            // The word is free again only in a forked child.
            Want::Wait | Want::Make => sys::wait(turn),
        }
    }
    count(diagnostic::NESTED_IN_START, 1);
    false
}

/// In a folder, with names that `names` makes there.
fn create_folder(names: fn() -> bool) -> bool {
    // A vfork child that is the first to call has another id than the process whose memory this is.
    let pid = fork::pid();
    let Some(folder) = folder(pid) else { return false };
    // SAFETY: see `Folder`.
    let (parent, len) = unsafe { &*PARENT.0.get() };
    let parent = parent.get(..*len).unwrap_or(&[]);
    let Some(page) = new_page(&folder, (pid, fork::ppid()), FORKED.load(Relaxed), parent) else { return false };
    if !names() {
        // SAFETY: no other thread knows of it.
        unsafe { sys::unmap(page.cast(), PAGE) };
        return false;
    }
    show(page);
    true
}

/// Without a folder.
fn make_without() -> bool {
    let page = sys::pages(PAGE).cast::<Process>();
    // SAFETY: fresh memory.
    let Some(q) = (unsafe { page.as_mut() }).filter(|_| names_file::create_in_memory()) else { return false };
    fill(q, (fork::pid(), fork::ppid()), FORKED.load(Relaxed), &[]);
    WITHOUT.store(true, Release);
    show(page);
    true
}

/// True when the folder is there; one that could not be made is tried again. Not for every call: see who asks.
pub fn settled() -> bool {
    if !WITHOUT.load(Acquire) {
        return true;
    }
    if vfork_word::is_child() || !sys::take(&SETTLING, sys::gettid()) {
        return false;
    }
    let signals = sys::block_signals();
    if create_folder(names_file::move_in) {
        WITHOUT.store(false, Release);
        if let Some(c) = run::control() {
            c.failed.fetch_sub(1, Relaxed);
        }
    }
    SETTLING.store(0, Release);
    sys::restore_signals(signals);
    !WITHOUT.load(Acquire)
}

/// The page is whole; what was counted elsewhere comes along.
fn show(page: *mut Process) {
    let before = HERE.swap(page, AcqRel);
    // SAFETY: null or mapped permanently, both; the new one was just made.
    let (page, before) = unsafe { (&*page, before.as_ref().map_or(&EARLY, |b| &b.counters)) };
    for (to, from) in page.counters.iter().zip(before) {
        to.fetch_add(from.swap(0, Relaxed), Relaxed);
    }
    page.driver.store(is_here().into(), Relaxed);
    page.magic.store(MAGIC, Release);
}

/// The driver was found among the loaded objects. That alone makes no folder: see `leave_word_of_driver`.
pub fn driver_loaded() {
    let _ = DRIVER.compare_exchange(0, LOADED_HERE, Relaxed, Relaxed);
    if let (true, Some(p)) = (is_here(), page()) {
        p.driver.store(1, Relaxed);
    }
}

/// Makes the folder for the driver's sake. A program that calls it past all routes has no other reason for a folder,
/// and would leave no trace.
pub fn leave_word_of_driver() {
    if is_here() && !switch::has_left() && ensure_folder() {
        driver_loaded();
    }
}

/// Whether the driver is loaded, or was in the parent of this forked child.
pub fn has_driver() -> bool {
    DRIVER.load(Relaxed) != 0
}

/// Both clocks when this process's page was made.
pub fn start_times() -> Option<(u64, u64)> {
    page().map(|p| (p.start_ticks, p.start_monotonic))
}

fn is_here() -> bool {
    DRIVER.load(Relaxed) == LOADED_HERE
}

/// This process's folder: the one that a try before has left, or a new one.
fn folder(pid: u32) -> Option<Path> {
    // SAFETY: see `Folder`.
    let folder = unsafe { &mut *FOLDER.0.get() };
    if folder.1 != 0 {
        return Some(Path::process());
    }
    let (path, _) = new_folder(pid)?;
    let start = Path::run().bytes().len();
    let name = path.bytes().get(start..path.bytes().len() - 1).unwrap_or(&[]);
    folder.1 = name.len();
    for (to, from) in folder.0.iter_mut().zip(name) {
        *to = *from;
    }
    Some(path)
}

/// A folder for a child that has this process's memory, and thus its names: its number, and its page, for the ring.
pub fn lend(pid: u32) -> Option<(u32, *mut Process)> {
    if WITHOUT.load(Acquire) {
        return None;
    }
    let (path, n) = new_folder(pid)?;
    let (mut to, mut from) = (path, Path::empty());
    let page = new_page(&to, (pid, fork::pid()), true, page::folder())?;
    from.push(b"../").push(page::folder()).push(b"/").push(cutap_wire::names::FILE.as_bytes());
    to.push(b"/").push(cutap_wire::names::FILE.as_bytes());
    let linked = sys::link(from.bytes(), to.bytes());
    // SAFETY: just made.
    unsafe { (*page).magic.store(MAGIC, Release) };
    linked.then_some((n, page))
}

/// A new folder for a process, and its number among those of this id.
fn new_folder(pid: u32) -> Option<(Path, u32)> {
    for n in 0..100_000 {
        let mut path = Path::run();
        path.push(b"/p").number(pid.into()).push(b"-").number(n.into());
        match sys::make_folder(path.bytes()) {
            Ok(()) => return Some((path, n)),
            Err(taken) if !taken => return None,
            Err(_) => {}
        }
    }
    None
}

/// The page of a folder, mapped; finished when its magic is stored.
fn new_page(folder: &Path, (pid, ppid): (u32, u32), forked: bool, parent: &[u8]) -> Option<*mut Process> {
    let mut p = folder.clone();
    p.push(b"/").push(FILE.as_bytes());
    // A try before may have left the file without a page.
    let page = sys::with(p.bytes(), sys::MADE, |file| file.first_page())??.cast::<Process>();
    // SAFETY: a fresh page of zeros, which no other thread has mapped yet.
    fill(unsafe { page.as_mut() }?, (pid, ppid), forked, parent);
    Some(page)
}

/// Says in a page who the process is.
fn fill(q: &mut Process, (pid, ppid): (u32, u32), forked: bool, parent: &[u8]) {
    let (clock, hz) = clock::choose();
    let (ticks, monotonic) = clock::pair();
    q.version = VERSION;
    q.pid = pid;
    q.ppid = ppid;
    q.clock = clock;
    q.ticks_per_second = hz;
    q.start_ticks = ticks;
    q.start_monotonic = monotonic;
    q.start_realtime = sys::clock(sys::REALTIME);
    q.forked = forked.into();
    for (to, from) in q.parent.iter_mut().zip(parent) {
        *to = *from;
    }
    sys::read_link(b"/proc/self/exe\0", q.exe.split_last_mut().map_or(&mut [], |(_, e)| e));
    let line = q.cmdline.split_last_mut().and_then(|(_, line)| line.split_last_mut());
    sys::with(b"/proc/self/cmdline\0", &[sys::Open::Read], |file| file.read(line.map_or(&mut [], |(_, line)| line)));
}

/// A forked child has a separate folder, and its parent's is behind it.
pub fn forked() {
    FORKED.store(true, Relaxed);
    if DRIVER.load(Relaxed) != 0 {
        DRIVER.store(LOADED_IN_PARENT, Relaxed);
    }
    // SAFETY: the child's only thread.
    unsafe {
        if is_made() && !WITHOUT.load(Relaxed) {
            *PARENT.0.get() = *FOLDER.0.get();
        }
        (*FOLDER.0.get()).1 = 0;
    }
    WITHOUT.store(false, Relaxed);
    SETTLING.store(0, Relaxed);
    HERE.store(core::ptr::null_mut(), Release);
    STATE.store(NONE, Release);
}
