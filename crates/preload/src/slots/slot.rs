//! One slot: what every call of its function needs.

use super::hooks::Info;
use super::plan::{CHATTER, STATE, UNWANTED};
use crate::process::switch;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};

/// Addresses of a program have no more: the kernel maps nothing above without being asked to.
const ADDRESS_BITS: u32 = 48;

/// One slot; what every call needs lies in one line of the cache.
#[repr(C, align(64))]
pub struct Slot {
    /// What is called: the function, or the thunk with its hooks around it.
    pub real: AtomicUsize,
    /// Where its thunk jumps to.
    pub entry: AtomicUsize,
    /// How a call is recorded: see `slots::plan`.
    pub plan: AtomicU64,
    /// First word of its enter records, less the time: computed in `arch::frames`.
    pub first: AtomicU32,
    /// What is known of it: see `slots::rows`.
    pub row: AtomicU32,
    pub function: AtomicUsize,
    /// What hooks see of it, in the slot whose frame calls them.
    pub info: AtomicPtr<()>,
    /// Number of the load that it belongs to.
    pub object: AtomicU32,
    /// Interceptors that want it: bits of `interceptors`.
    pub interceptors: AtomicU32,
    /// Its name, which is text in the names file: the address in the lower `ADDRESS_BITS`, above it the length.
    name: AtomicU64,
}

impl Slot {
    /// Of no function.
    pub(super) const fn new() -> Slot {
        Slot {
            real: AtomicUsize::new(0),
            entry: AtomicUsize::new(0),
            plan: AtomicU64::new(0),
            first: AtomicU32::new(0),
            row: AtomicU32::new(0),
            function: AtomicUsize::new(0),
            info: AtomicPtr::new(core::ptr::null_mut()),
            object: AtomicU32::new(0),
            interceptors: AtomicU32::new(0),
            name: AtomicU64::new(0),
        }
    }
    /// Bits of `slots::interceptors`.
    #[inline(always)]
    pub fn interceptors(&self) -> u32 {
        self.interceptors.load(Relaxed)
    }
    /// Its name is there.
    pub fn is_named(&self) -> bool {
        self.name.load(Acquire) != 0
    }
    /// Its function's name.
    pub fn name(&self) -> &'static [u8] {
        let word = self.name.load(Acquire);
        if word == 0 {
            return &[];
        }
        let (address, length) = (word & ((1 << ADDRESS_BITS) - 1), word >> ADDRESS_BITS);
        // SAFETY: set once, to text in the names file's mapping, which is never given back.
        unsafe { core::slice::from_raw_parts(address as usize as *const u8, length as usize) }
    }
    /// Sets the name: so many bytes at `text`, which stay mapped. A longer one is cut off.
    pub(super) fn set_name(&self, text: *const u8, length: usize) {
        let length = length.min(u16::MAX.into()) as u64;
        self.name.store(text as u64 | length << ADDRESS_BITS, Release);
    }
    pub fn set_wanted(&self, wanted: bool) {
        match wanted {
            true => self.plan.fetch_and(!UNWANTED, Relaxed),
            false => self.plan.fetch_or(UNWANTED, Relaxed),
        };
    }
    /// Its calls are recorded although recording is off.
    pub fn keeps_state(&self) -> bool {
        self.plan.load(Relaxed) & STATE != 0
    }
    /// Its calls are counted, and recorded only where they fail.
    #[inline(always)]
    pub fn is_chatter(&self) -> bool {
        self.plan.load(Relaxed) & CHATTER != 0
    }
    /// Finds out whether a new one's calls are wanted, by the rules that hold when it is done.
    pub fn update_wanted(&self, wanted: impl Fn() -> bool) {
        loop {
            let rules = switch::rules();
            self.set_wanted(wanted());
            if switch::rules() == rules {
                return;
            }
        }
    }
    /// Its enter records' first word is known: a fast frame may be had.
    pub fn has_first(&self) -> bool {
        self.first.load(Relaxed) != 0
    }
    /// What hooks see of the function, if this slot's frame calls them; else null.
    #[inline(always)]
    pub fn info(&self) -> Info {
        self.info.load(Acquire)
    }
}

/// What the assembler knows of a slot, beside that `real` stands first.
pub const ENTRY: usize = core::mem::offset_of!(Slot, entry);
/// See `ENTRY`.
pub const PLAN: usize = core::mem::offset_of!(Slot, plan);
/// See `ENTRY`.
pub const FIRST: usize = core::mem::offset_of!(Slot, first);
const _: () = assert!(core::mem::offset_of!(Slot, real) == 0 && size_of::<Slot>() == 64);
