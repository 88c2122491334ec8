//! `RUN/accounts`, or a file of `--accounts DIR`: how much memory of each device each process has. `--limit-memory`
//! counts there. Processes share it without a lock, and each may be killed between any two steps.
//!
//! A reservation is one compare-and-exchange of the *turn* of its device, which then says who got how much. Before the
//! next one it is *folded* into the slot of its process, by that process or by the next one. So the sum of the slots is
//! complete whenever a turn is taken, and what a killed process reserved is in its slot.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::SeqCst;

/// Name of the file.
pub const FILE: &str = "accounts";
/// What it begins with.
pub const MAGIC: u64 = u64::from_le_bytes(*b"cutapacc");
/// Version of this layout. Runs of several cutaps may share a file.
pub const VERSION: u64 = 1;
/// Processes at a time.
pub const SLOTS: usize = 1024;
/// Devices.
pub const DEVICES: usize = 32;
/// Namespaces of process numbers.
pub const NAMESPACES: usize = 64;
/// Bytes in which memory is counted.
pub const UNIT: u64 = 512;

/// A word of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Word {
    /// [`MAGIC`].
    Magic,
    /// [`VERSION`].
    Version,
    /// Slots below this number may be in use.
    High,
    /// The inode of a namespace of process numbers; 0: none yet.
    Namespace(usize),
    /// The key of a device; 0: none yet.
    Device(usize),
    /// The last reservation on a device.
    Turn(usize),
    /// The process of a slot; 0: the slot is free.
    Process(usize),
    /// What the process of a slot has of a device.
    Used(usize, usize),
}

impl Word {
    const fn number(self) -> usize {
        const NAMESPACE: usize = 8;
        const DEVICE: usize = NAMESPACE + NAMESPACES;
        const TURN: usize = DEVICE + DEVICES;
        const PROCESS: usize = TURN + DEVICES;
        const USED: usize = PROCESS + SLOTS;
        match self {
            Word::Magic => 0,
            Word::Version => 1,
            Word::High => 2,
            Word::Namespace(n) => NAMESPACE + n,
            Word::Device(device) => DEVICE + device,
            Word::Turn(device) => TURN + device,
            Word::Process(slot) => PROCESS + slot,
            Word::Used(device, slot) => USED + device * SLOTS + slot,
        }
    }
}

/// Bytes of the file.
pub const BYTES: usize = (Word::Used(DEVICES - 1, SLOTS - 1).number() + 1) * 8;

/// The words of a file. Tests have others, which stop between two steps.
pub trait Words {
    /// Reads a word.
    fn load(&self, word: Word) -> u64;
    /// Replaces a word if it is `from`.
    fn exchange(&self, word: Word, from: u64, to: u64) -> bool;
}

/// The words of a mapped file.
#[derive(Debug, Clone, Copy)]
pub struct Mapped(*const AtomicU64);

impl Mapped {
    /// # Safety
    /// [`BYTES`] bytes are mapped there, aligned for words, and stay.
    pub const unsafe fn new(at: *const AtomicU64) -> Mapped {
        Mapped(at)
    }

    fn at(&self, word: Word) -> &AtomicU64 {
        // SAFETY: the promise of `new`. Numbers of devices and slots are checked by `Accounts`.
        unsafe { &*self.0.add(word.number()) }
    }
}

impl Words for Mapped {
    fn load(&self, word: Word) -> u64 {
        self.at(word).load(SeqCst)
    }
    fn exchange(&self, word: Word, from: u64, to: u64) -> bool {
        self.at(word).compare_exchange(from, to, SeqCst, SeqCst).is_ok()
    }
}

const TAG_BITS: u32 = 22;
const TAG: u64 = (1 << TAG_BITS) - 1;
const SLOT_BITS: u32 = 10;
const _: () = assert!(SLOTS == 1 << SLOT_BITS);
/// Units of one reservation at most.
pub const MOST: u64 = (1 << (64 - TAG_BITS - SLOT_BITS)) - 1;

/// A turn: units, slot, tag. Tags tell turns apart. One that comes again after four million turns of a device is no
/// danger, unless a process sleeps so long between two steps.
const fn turn(units: u64, slot: usize, tag: u64) -> u64 {
    units << (TAG_BITS + SLOT_BITS) | (slot as u64) << TAG_BITS | tag
}

const fn slot_of(turn: u64) -> usize {
    (turn >> TAG_BITS) as usize % SLOTS
}

const fn units_of_turn(turn: u64) -> u64 {
    turn >> (TAG_BITS + SLOT_BITS)
}

/// What a slot has: units, and the tag of the last turn that is in them.
const fn used(units: u64, tag: u64) -> u64 {
    units << TAG_BITS | tag
}

/// The units of a word [`Word::Used`].
pub const fn units(used: u64) -> u64 {
    used >> TAG_BITS
}

const fn next(tag: u64) -> u64 {
    tag % TAG + 1
}

/// A process: number, namespace, start. All that is known of a slot is in one word, so none is half taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// Its number in its namespace, below 2^22.
    pub pid: u32,
    /// The number of that in the file.
    pub namespace: usize,
    /// Clock ticks since the machine started.
    pub start: u64,
}

/// Another process is emptying the slot, and is in its word.
const EMPTIES: u64 = 1 << 63;
const START_BITS: u32 = 35;

impl Process {
    const fn word(self) -> u64 {
        self.pid as u64 & 0x3f_ffff
            | (self.namespace as u64 % NAMESPACES as u64) << 22
            | (self.start % (1 << START_BITS)) << 28
    }

    /// From a word [`Word::Process`].
    pub const fn of_word(word: u64) -> Process {
        Process {
            pid: (word & 0x3f_ffff) as u32,
            namespace: (word >> 22) as usize % NAMESPACES,
            start: (word >> 28) % (1 << START_BITS),
        }
    }

    /// Whether this start is the process's own.
    pub const fn has_start(self, start: u64) -> bool {
        self.start == start % (1 << START_BITS)
    }
}

/// The accounts of a file. No function waits for another process.
#[derive(Debug, Clone, Copy)]
pub struct Accounts<W>(pub W);

impl<W: Words> Accounts<W> {
    /// Whether it is a file of this layout.
    pub fn is_valid(&self) -> bool {
        self.0.load(Word::Magic) == MAGIC && self.0.load(Word::Version) == VERSION
    }

    fn high(&self) -> usize {
        (self.0.load(Word::High) as usize).min(SLOTS)
    }

    /// The place of a key among words that begin as 0. None if there is no room.
    fn place(&self, key: u64, count: usize, word: impl Fn(usize) -> Word) -> Option<usize> {
        (0..count).find(|n| {
            let there = self.0.load(word(*n));
            there == key || there == 0 && (self.0.exchange(word(*n), 0, key) || self.0.load(word(*n)) == key)
        })
    }

    /// The number of a device.
    pub fn device(&self, key: u64) -> Option<usize> {
        self.place(key, DEVICES, Word::Device)
    }

    /// The number of a namespace of process numbers. Without room, it gets that of one without processes.
    pub fn namespace(&self, inode: u64) -> Option<usize> {
        self.place(inode, NAMESPACES, Word::Namespace).or_else(|| {
            let is_used = |number: usize| {
                let words = (0..SLOTS).map(|slot| self.0.load(Word::Process(slot)));
                words.into_iter().any(|word| word != 0 && Process::of_word(word).namespace == number)
            };
            (0..NAMESPACES).filter(|number| !is_used(*number)).find(|number| {
                let there = self.0.load(Word::Namespace(*number));
                self.0.exchange(Word::Namespace(*number), there, inode)
            })
        })
    }

    /// Whether a process's namespace still has its number: it may have lost it before the process took a slot.
    pub fn is_namespace(&self, process: Process, inode: u64) -> bool {
        self.0.load(Word::Namespace(process.namespace)) == inode
    }

    /// Puts the last reservation into its slot, and returns it.
    fn fold(&self, device: usize) -> u64 {
        loop {
            let last = self.0.load(Word::Turn(device));
            let at = Word::Used(device, slot_of(last));
            let now = self.0.load(at);
            if now & TAG == last & TAG {
                return last;
            }
            // A slot that was read before the turn was folded has another tag now, and is not exchanged.
            if self.0.load(Word::Turn(device)) == last {
                self.0.exchange(at, now, used(units(now).saturating_add(units_of_turn(last)), last & TAG));
            }
        }
    }

    fn sum_of_slots(&self, device: usize) -> u64 {
        (0..self.high()).map(|slot| units(self.0.load(Word::Used(device, slot)))).sum()
    }

    /// What all processes have of a device, in units.
    pub fn sum(&self, device: usize) -> u64 {
        self.fold(device);
        self.sum_of_slots(device)
    }

    /// What a slot has of a device, in units.
    pub fn of_slot(&self, device: usize, slot: usize) -> u64 {
        self.fold(device);
        units(self.0.load(Word::Used(device, slot)))
    }

    /// Reserves so many units for a slot, if all slots have at most `limit` then. Else the sum that is in the way.
    pub fn reserve(&self, device: usize, slot: usize, amount: u64, limit: u64) -> Result<(), u64> {
        loop {
            let last = self.fold(device);
            let own = self.0.load(Word::Used(device, slot));
            let sum = self.sum_of_slots(device);
            if self.0.load(Word::Turn(device)) != last {
                continue;
            }
            if amount > MOST || sum.saturating_add(amount) > limit {
                return Err(sum);
            }
            let tag = next(last & TAG);
            let tag = if tag == own & TAG { next(tag) } else { tag };
            if self.0.exchange(Word::Turn(device), last, turn(amount, slot, tag)) {
                self.fold(device);
                return Ok(());
            }
        }
    }

    /// Gives so many units back.
    pub fn release(&self, device: usize, slot: usize, amount: u64) {
        let at = Word::Used(device, slot);
        loop {
            let now = self.0.load(at);
            if self.0.exchange(at, now, used(units(now).saturating_sub(amount), now & TAG)) {
                return;
            }
        }
    }

    /// Takes a free slot. None: all are in use by processes that live.
    pub fn claim(&self, process: Process, is_dead: &impl Fn(Process) -> bool) -> Option<usize> {
        self.claim_free(process).or_else(|| {
            self.reclaim(process, SLOTS, is_dead);
            self.claim_free(process)
        })
    }

    fn claim_free(&self, process: Process) -> Option<usize> {
        let is_free = |slot: &usize| self.0.load(Word::Process(*slot)) == 0;
        let mut free = (0..SLOTS).filter(is_free);
        let slot = free.find(|slot| self.0.exchange(Word::Process(*slot), 0, process.word()))?;
        loop {
            let high = self.0.load(Word::High);
            if high as usize > slot || self.0.exchange(Word::High, high, slot as u64 + 1) {
                return Some(slot);
            }
        }
    }

    /// Frees a slot that this process took and did not use.
    pub fn return_slot(&self, slot: usize, process: Process) {
        self.0.exchange(Word::Process(slot), process.word(), 0);
    }

    /// Frees the slots of processes that have ended. `process` is the caller.
    pub fn reclaim_dead(&self, process: Process, is_dead: &impl Fn(Process) -> bool) {
        self.reclaim(process, self.high(), is_dead);
    }

    fn reclaim(&self, process: Process, below: usize, is_dead: &impl Fn(Process) -> bool) {
        for slot in 0..below {
            let owner = self.0.load(Word::Process(slot));
            if owner != 0 && is_dead(Process::of_word(owner)) {
                self.empty(slot, owner, process);
            }
        }
    }

    /// Frees the slots that a process had before it replaced its program.
    pub fn forget(&self, process: Process) {
        for slot in 0..self.high() {
            let owner = self.0.load(Word::Process(slot));
            if owner & !EMPTIES == process.word() {
                self.empty(slot, owner, process);
            }
        }
    }

    /// One process empties a slot. If it is killed, the slot is one of a dead process again.
    fn empty(&self, slot: usize, owner: u64, process: Process) {
        let emptying = process.word() | EMPTIES;
        if owner != emptying && !self.0.exchange(Word::Process(slot), owner, emptying) {
            return;
        }
        for device in (0..DEVICES).take_while(|device| self.0.load(Word::Device(*device)) != 0) {
            self.fold(device);
            self.release(device, slot, u64::MAX);
        }
        self.0.exchange(Word::Process(slot), emptying, 0);
    }

    /// The processes that have something of a device, and how many units.
    pub fn each(&self, device: usize, mut visit: impl FnMut(Process, u64)) {
        self.fold(device);
        for slot in 0..self.high() {
            let (owner, has) = (self.0.load(Word::Process(slot)), units(self.0.load(Word::Used(device, slot))));
            if owner != 0 && has > 0 {
                visit(Process::of_word(owner), has);
            }
        }
    }
}
