//! What tells a forked child that it is a separate process. What else a child must forget, the start has put into
//! `FORGET_PARENT`. A word in a page that fork
//! wipes reads 0 there, also after a raw clone. It keeps its value in a child that has its parent's memory: of vfork's
//! see `vfork`; any other such child calls as its parent does, in its parent's ring.

use crate::sys::callback::Callback;
use crate::sys::{self, robust_list};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use cutap_wire::control::{RECORDING_COUNT, RECORDING_ON};

/// A page that a wiped one is mapped over.
#[repr(C, align(4096))]
struct Page {
    /// [`HERE`] in the process that has looked at it.
    here: AtomicU32,
    /// Not zero: nothing of this process is recorded now, whatever the control page says.
    away: AtomicU32,
    /// What `recording` and `rules_epoch` of the control page are as one word while calls are recorded here, by rules
    /// that this process has looked at; 0: not at all.
    recorded: AtomicU64,
    /// The same while they are counted.
    counted: AtomicU64,
}

/// The page. Gates and frames look at `here` and `away` immediately, so it has a fixed place.
#[unsafe(no_mangle)]
static CUTAP_FORK: Page = Page {
    here: AtomicU32::new(HERE),
    away: AtomicU32::new(0),
    recorded: AtomicU64::new(RECORDING_ON as u64),
    counted: AtomicU64::new(RECORDING_COUNT as u64),
};
/// Where in the page the assembler finds it.
pub const ON_WORD: usize = core::mem::offset_of!(Page, recorded);
/// See `ON_WORD`.
pub const COUNT_WORD: usize = core::mem::offset_of!(Page, counted);
/// The two words of a process of which calls are recorded, as the assembler sees them.
pub const RECORDED: u64 = HERE as u64;
/// Bits of `away`, which outlive a fork.
static AWAY: AtomicU32 = AtomicU32::new(0);

/// See `Page`.
#[inline(always)]
pub fn is_away() -> bool {
    CUTAP_FORK.away.load(SeqCst) != 0
}

/// Of one bit of it.
#[inline(always)]
pub fn is_away_for(bit: u32) -> bool {
    CUTAP_FORK.away.load(Relaxed) & bit != 0
}

/// Sets or clears a bit of it.
pub fn away(bit: u32, set: bool) {
    match set {
        true => AWAY.fetch_or(bit, AcqRel),
        false => AWAY.fetch_and(!bit, AcqRel),
    };
    CUTAP_FORK.away.store(AWAY.load(Acquire), SeqCst);
    agree();
}

/// The rules that what is armed was last looked at with: their number. `agree` makes of it what the frames compare.
static APPLIED_RULES: AtomicU32 = AtomicU32::new(0);

/// See `APPLIED_RULES`.
pub fn applied_rules() -> u32 {
    APPLIED_RULES.load(SeqCst)
}
/// See `APPLIED_RULES`; for each call.
#[inline(always)]
pub fn applied_rules_relaxed() -> u32 {
    APPLIED_RULES.load(Relaxed)
}
/// It was looked at with these. `agree` tells the frames.
pub fn set_applied_rules(rules: u32) {
    APPLIED_RULES.store(rules, SeqCst);
}

/// Sets the words that follow from `here`, `away` and the rules that were looked at, one of which has changed.
pub fn agree() {
    let all = || (CUTAP_FORK.here.load(SeqCst) == HERE && !is_away(), applied_rules());
    loop {
        let (here, rules) = all();
        let word = |state: u32| if here { u64::from(rules) << 32 | u64::from(state) } else { 0 };
        CUTAP_FORK.recorded.store(word(RECORDING_ON), SeqCst);
        CUTAP_FORK.counted.store(word(RECORDING_COUNT), SeqCst);
        // Whoever changes one of them meanwhile does the same; the last one has them both.
        if all() == (here, rules) {
            return;
        }
    }
}

/// Processes since start: a thread state of another generation is the parent's.
static GENERATION: AtomicU32 = AtomicU32::new(1);

const WIPED: u32 = 0;
const HERE: u32 = 1;
const CHANGING: u32 = 2;

/// Id of this process, or of the one that it shares its memory with.
static PID: AtomicU32 = AtomicU32::new(0);

/// The parent of the process when it began.
static PPID: AtomicU32 = AtomicU32::new(0);

/// Id of the parent, also asked in a child that has this process's memory.
pub fn ppid() -> u32 {
    if sys::getpid() == pid() { sys::getppid() } else { PPID.load(Relaxed) }
}

/// See `PID`.
#[inline(always)]
pub fn pid() -> u32 {
    PID.load(Relaxed)
}

/// Makes the page one that fork wipes. Where that cannot be, no child is noticed.
pub fn start() {
    PID.store(sys::getpid(), Relaxed);
    PPID.store(sys::getppid(), Relaxed);
    robust_list::start();
    let page = sys::pages(size_of::<Page>());
    if page.is_null() || !sys::wipe_on_fork(page, size_of::<Page>()) {
        return;
    }
    // SAFETY: a fresh page; it takes the place of ours in one step, so that no thread sees another value.
    unsafe {
        (*page.cast::<Page>()).here.store(HERE, Relaxed);
        (*page.cast::<Page>()).away.store(AWAY.load(Relaxed), Relaxed);
        (*page.cast::<Page>()).recorded.store(CUTAP_FORK.recorded.load(Relaxed), Relaxed);
        (*page.cast::<Page>()).counted.store(CUTAP_FORK.counted.load(Relaxed), Relaxed);
        sys::move_over(page, (&raw const CUTAP_FORK).cast_mut().cast(), size_of::<Page>());
    }
}

/// Number of this process since start, from 1.
#[inline(always)]
pub fn generation() -> u32 {
    GENERATION.load(Relaxed)
}

/// True in a child of the process that started, until `check` has run there. One load a call.
#[inline(always)]
pub fn is_child() -> bool {
    CUTAP_FORK.here.load(Relaxed) != HERE
}

/// Notices that this is a child of the process that started. One load a call.
#[inline(always)]
pub fn check() {
    if is_child() {
        separate();
    }
}

/// What all other parts of the library do in a forked child, once.
pub static FORGET_PARENT: Callback = Callback::none();

/// Separates the child from its parent, once.
#[cold]
fn separate() {
    let word = &CUTAP_FORK.here;
    // A handler in the middle of it would wait for its own thread, and one that left by siglongjmp would leave it half
    // changed.
    let signals = sys::block_signals();
    if word.compare_exchange(WIPED, CHANGING, AcqRel, Acquire).is_ok() {
        GENERATION.fetch_add(1, AcqRel);
        CUTAP_FORK.away.store(AWAY.load(Relaxed), Relaxed);
        sys::kept::forked();
        PID.store(sys::getpid(), Relaxed);
        PPID.store(sys::getppid(), Relaxed);
        robust_list::forked();
        FORGET_PARENT.call();
        word.store(HERE, Release);
        agree();
    } else {
        // Another thread of the child is at it, with nothing to wait for but its processor. A thread that continues
        // without it is the parent still.
        for turn in 0..10_000 {
            if word.load(Acquire) == HERE {
                break;
            }
            sys::wait(turn);
        }
    }
    sys::restore_signals(signals);
}
