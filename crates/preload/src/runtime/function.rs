//! What is known of one function of one runtime instance. Reports look at it at each call, so it must stay one line of
//! the cache.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};

/// Calls through a slot, one behind the other, after which a function is believed to have no others.
pub const ENOUGH: u32 = 16;
/// One function of one instance, in one line of the cache.
#[repr(align(64))]
pub struct Function {
    /// Slot number; 0 not named yet.
    pub slot: AtomicU32,
    /// The same once its calls may be counted without a closer look at them; else 0.
    pub counted: AtomicU32,
    /// Slot of the same function as bindings see it, plus one; 0 none met.
    pub twin: AtomicU32,
    /// Calls that came through that slot: see `suppress`.
    bound: AtomicU32,
    /// What is known of it: see `slots::rows`.
    pub row: AtomicU32,
    /// Its callers' stacks are kept.
    pub stack: AtomicBool,
    /// Its Python frames are kept.
    pub python: AtomicBool,
    /// What there is to do for a call: see `slots::plan`.
    pub plan: AtomicU64,
    /// Its calls need nothing but that: see `reports`.
    pub usual: AtomicBool,
    /// Its calls are counted, and recorded only where they fail.
    pub chatter: AtomicBool,
    /// Its reports count them: see `arch`, `counted_report`.
    pub counts_here: AtomicBool,
    /// It launches a kernel, which the runtime names.
    pub launch: AtomicBool,
    /// Whether hooks want it: see `hook_libraries::callback`.
    pub hooks: AtomicUsize,
    /// Where its enter callback returns to, and the layout of the frame there: see `hook_libraries::forced`.
    pub site: AtomicUsize,
    /// See `site`.
    pub layout: AtomicU64,
}

impl Function {
    /// Not named yet.
    pub(super) const fn new() -> Function {
        const { assert!(size_of::<Function>() == 64) };
        Function {
            slot: AtomicU32::new(0),
            counted: AtomicU32::new(0),
            twin: AtomicU32::new(0),
            bound: AtomicU32::new(0),
            row: AtomicU32::new(0),
            stack: AtomicBool::new(false),
            python: AtomicBool::new(false),
            plan: AtomicU64::new(0),
            usual: AtomicBool::new(false),
            chatter: AtomicBool::new(false),
            counts_here: AtomicBool::new(false),
            launch: AtomicBool::new(false),
            hooks: AtomicUsize::new(0),
            site: AtomicUsize::new(0),
            layout: AtomicU64::new(0),
        }
    }

    /// See the field.
    #[inline(always)]
    pub fn slot(&self) -> u32 {
        self.slot.load(Acquire)
    }
    /// See the field.
    pub fn set_slot(&self, slot: u32) {
        self.slot.store(slot, SeqCst);
        self.agree();
    }
    /// See the field.
    #[inline(always)]
    pub fn bound(&self) -> u32 {
        self.bound.load(Relaxed)
    }
    /// See the field.
    pub fn set_bound(&self, calls: u32) {
        self.bound.store(calls, SeqCst);
        self.agree();
    }
    /// Sets what follows from these two. Whoever changes one of them meanwhile does the same; the last one has them
    /// both.
    fn agree(&self) {
        let counted = || if self.bound.load(SeqCst) < ENOUGH { 0 } else { self.slot.load(SeqCst) };
        loop {
            let slot = counted();
            self.counted.store(slot, SeqCst);
            if counted() == slot {
                return;
            }
        }
    }
}
