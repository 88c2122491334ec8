//! The table of slots. A slot is filled before its number is published by one compare-and-swap in the
//! hash, so a child that forked in the middle loses nothing but a number.

use super::fast;
use super::thunks_x86_64::{THUNK_BYTES, THUNKS, frame_entry, gate_entry, note_entry, thunk};
use crate::capture;
use crate::hook;
use crate::hook::functions::{self, Found, Info};
use crate::loader::objects::Object;
use crate::routes::own_calls;
use crate::start::{self, names, switch};
use crate::sys::{Opened, Table};
use core::sync::atomic::{AtomicPtr, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use cutap_calls::hidden::is_slot_name;
use cutap_calls::{Layer, Role, has_role};
use cutap_hook::contract;
use cutap_wire::names::{HIDDEN, Name, kind, route, shape};
use cutap_wire::{control, diagnostic};

/// One slot; what every call needs lies in one line of the cache.
#[repr(C, align(64))]
pub struct Slot {
    /// What is called: the function, or the thunk with its hooks around it.
    pub real: AtomicUsize,
    /// Where its thunk jumps to.
    entry: AtomicUsize,
    /// How a call is recorded: see `capture::plan`.
    pub plan: AtomicU64,
    /// First word of its enter records, less the time: see `slots::fast`.
    first: AtomicU32,
    /// What is known of it: see `capture::row`.
    row: AtomicU32,
    function: AtomicUsize,
    /// What hooks see of it, in the slot whose frame calls them.
    info: AtomicPtr<Info>,
    /// Number of the load that it belongs to.
    pub object: AtomicU32,
    /// Hooks that want it: bits of `hooks`.
    hooks: AtomicU16,
    name_len: AtomicU16,
    /// Its name: text in the names file, which stays mapped.
    name: AtomicPtr<u8>,
}

impl Slot {
    /// Bits of `slots::hooks`.
    #[inline(always)]
    pub fn hooks(&self) -> u32 {
        self.hooks.load(Relaxed).into()
    }
    /// Its function's name.
    pub fn name(&self) -> &'static [u8] {
        let at = self.name.load(Acquire);
        if at.is_null() {
            return &[];
        }
        // SAFETY: set once, to text in the names file's mapping, which is never given back.
        unsafe { core::slice::from_raw_parts(at, self.name_len.load(Relaxed) as usize) }
    }
    /// Whether its calls are wanted, by rules that are looked at again if they have changed.
    #[inline(always)]
    pub fn is_wanted(&self) -> bool {
        if switch::rules_changed() {
            switch::apply_rules();
        }
        self.plan.load(Relaxed) & capture::plan::UNWANTED == 0
    }
    fn set_wanted(&self, wanted: bool) {
        match wanted {
            true => self.plan.fetch_and(!capture::plan::UNWANTED, Relaxed),
            false => self.plan.fetch_or(capture::plan::UNWANTED, Relaxed),
        };
    }
    /// Finds out whether a new one's calls are wanted, by the rules that hold when it is done.
    fn look(&self, wanted: impl Fn() -> bool) {
        loop {
            let rules = switch::rules();
            self.set_wanted(wanted());
            if switch::rules() == rules {
                return;
            }
        }
    }
    /// Its enter records' first word is known: a quick frame may be had.
    pub fn has_first(&self) -> bool {
        self.first.load(Relaxed) != 0
    }
    /// What hooks see of the function, if this slot's frame calls them.
    #[inline(always)]
    pub fn info(&self) -> Option<&'static Info> {
        // SAFETY: null or an `Info`, which stays.
        unsafe { self.info.load(Acquire).as_ref() }
    }
}

/// What the assembler knows of a slot, beside that `real` stands first.
pub const ENTRY: usize = core::mem::offset_of!(Slot, entry);
/// See `ENTRY`.
pub const PLAN: usize = core::mem::offset_of!(Slot, plan);
/// See `ENTRY`.
pub const FIRST: usize = core::mem::offset_of!(Slot, first);
const _: () = assert!(core::mem::offset_of!(Slot, real) == 0 && size_of::<Slot>() == 64);

/// The thunks know where it lies.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".bss.cutap_tables")]
static CUTAP_SLOTS: Table<Slot, THUNKS> = Table(
    [const {
        Slot {
            real: AtomicUsize::new(0),
            entry: AtomicUsize::new(0),
            plan: AtomicU64::new(0),
            first: AtomicU32::new(0),
            row: AtomicU32::new(0),
            function: AtomicUsize::new(0),
            info: AtomicPtr::new(core::ptr::null_mut()),
            object: AtomicU32::new(0),
            hooks: AtomicU16::new(0),
            name_len: AtomicU16::new(0),
            name: AtomicPtr::new(core::ptr::null_mut()),
        }
    }; THUNKS],
);
static OPENED: Opened = Opened::all();

/// At start: no slot is in use.
pub fn close() {
    OPENED.close(&CUTAP_SLOTS);
}

/// Numbers given to thunks, and to functions of runtime instances, which have none.
static NEXT: AtomicU32 = AtomicU32::new(0);
static NEXT_RUNTIME: AtomicU32 = AtomicU32::new(THUNKS as u32);

const HASH: usize = THUNKS * 4;
static BY_ADDRESS: [AtomicU32; HASH] = [const { AtomicU32::new(0) }; HASH];

/// Where in `BY_ADDRESS` a key is looked for first. Functions begin at multiples of 16. Those of 16 KiB of code share a
/// page of the table, for each new page costs as much as the rest of the look-up.
fn cell_of(key: usize) -> usize {
    const IN_PAGE: usize = 4096 / size_of::<AtomicU32>();
    const PAGES: usize = HASH / IN_PAGE;
    let page = (key >> 14).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    (page % PAGES) * IN_PAGE + (key >> 4) % IN_PAGE
}

static EXPORTS: [AtomicUsize; 4] = [const { AtomicUsize::new(0) }; 4];

/// Addresses of our dlsym, dlvsym, dladdr, dladdr1.
pub fn exports() -> [usize; 4] {
    EXPORTS.each_ref().map(|e| e.load(Relaxed))
}
/// Said once at start.
pub fn set_exports(addresses: [usize; 4]) {
    for (to, from) in EXPORTS.iter().zip(addresses) {
        to.store(from, Relaxed);
    }
}

/// Where a thunk that has a number and no function leads to.
pub fn lead(n: u32, to: usize) -> Option<usize> {
    slot(n)?.entry.store(to, Release);
    Some(thunk(n as usize))
}

/// True for an address inside the array of thunks.
pub fn is_thunk(address: usize) -> bool {
    address.wrapping_sub(thunk(0)) < THUNKS * THUNK_BYTES
}

/// The slot with this number.
#[inline(always)]
pub fn slot(n: u32) -> Option<&'static Slot> {
    CUTAP_SLOTS.get(n as usize)
}

/// The real function behind a thunk's address.
pub fn real_of(address: usize) -> Option<usize> {
    is_thunk(address)
        .then(|| slot(((address - thunk(0)) / THUNK_BYTES) as u32).map_or(0, |s| s.function.load(Relaxed)))
        .filter(|&r| r != 0)
}
/// The function of a slot.
pub fn function_of(n: u32) -> usize {
    slot(n).map_or(0, |s| s.function.load(Relaxed))
}
/// The slot number of a thunk's address.
pub fn number_of(address: usize) -> Option<u32> {
    is_thunk(address).then(|| ((address - thunk(0)) / THUNK_BYTES) as u32)
}
/// The number of the slot at an address.
pub fn number_at(slot: usize) -> u32 {
    ((slot - &raw const CUTAP_SLOTS as usize) / size_of::<Slot>()) as u32
}
/// The load that a slot belongs to.
pub fn object_of(n: u32) -> u32 {
    slot(n).map_or(0, |s| s.object.load(Relaxed))
}
/// What is known of a slot's function: see `capture::row`.
#[inline(always)]
pub fn row_of(n: u32) -> u32 {
    slot(n).map_or(0, |s| s.row.load(Relaxed))
}
/// A slot's name.
pub fn name_of(n: u32) -> &'static [u8] {
    slot(n).map_or(&[], Slot::name)
}

/// The slot of a function of a load.
pub fn find(object: u32, name: &[u8]) -> Option<u32> {
    (0..NEXT.load(Acquire)).find(|&n| object_of(n) == object && name_of(n) == name)
}

/// A number for a thunk.
pub fn take_number() -> Option<u32> {
    // Before a number is taken, for none is given back: where the table cannot be opened it may be later.
    let room = |n: u32| OPENED.reach(&CUTAP_SLOTS, n as usize);
    let taken = room(NEXT.load(Relaxed)).then(|| NEXT.fetch_add(1, Relaxed)).filter(|n| room(*n));
    if taken.is_none() {
        start::count(diagnostic::NO_SLOT_LEFT, 1);
    }
    taken
}

/// A number that no thunk has.
pub fn number_without_thunk() -> u32 {
    NEXT_RUNTIME.fetch_add(1, Relaxed)
}

/// A number for a function of a runtime instance, with its name in the stream; `words` that the records of
/// its parameter block have.
pub fn runtime_slot(instance: u32, callback: u32, words: u8, name: &[u8]) -> u32 {
    let n = number_without_thunk();
    let text = Name {
        kind: kind::RUNTIME_SLOT,
        ticks: 0,
        a: n.into(),
        b: instance.into(),
        c: u64::from(callback) | u64::from(words) << 32,
        s: name,
        t: &[],
    };
    names::write(&text);
    n
}

/// The address to hand out for `real`, a function `name` of `owner`; `None`: the real one.
pub fn for_function(real: usize, owner: &Object, name: &[u8], how: u8) -> Option<usize> {
    // The runtime's own cuKernelGetName is a separate slot, for it may be called because we watch.
    let load = owner.id | if super::hooks::is_footprint_name(name, how) { 1 << 31 } else { 0 };
    // A word of a table may hold the same function: that is another slot.
    let is = |s: &Slot| !is_slot_name(s.name());
    find_or_make(real, real, load, is, || make(real, owner, load, owner.layer, name, how))
}

/// The address to put into a word of an export table in place of `real`; `None`: it stays.
pub fn for_word(word: usize, real: usize, owner: &Object, name: &[u8]) -> Option<usize> {
    let make = || make(real, owner, owner.id, Layer::HIDDEN.number(), name, route::EXPORT_TABLE);
    find_or_make(word, real, owner.id, |s| s.name() == name, make)
}

/// Finds the slot of a function and load, by a key that tells such slots apart.
fn find_or_make(
    key: usize,
    real: usize,
    load: u32,
    is: impl Fn(&Slot) -> bool,
    make: impl Fn() -> Option<u32>,
) -> Option<usize> {
    let mut cell = cell_of(key);
    let mut made = 0;
    loop {
        let at = BY_ADDRESS.get(cell % HASH)?;
        let mut found = at.load(Acquire);
        if found == 0 {
            if made == 0 {
                made = make()? + 1;
            }
            match at.compare_exchange(0, made, AcqRel, Acquire) {
                Ok(_) => return Some(thunk(made as usize - 1)),
                Err(other) => found = other,
            }
        }
        let s = slot(found - 1)?;
        if s.function.load(Relaxed) == real && s.object.load(Relaxed) == load && is(s) {
            return Some(thunk(found as usize - 1));
        }
        cell += 1;
    }
}

/// Asks of each slot that is recorded whether it is wanted now.
pub fn each_recorded(wanted: impl Fn(u32, &[u8]) -> bool) {
    for (n, s) in (0..NEXT.load(Acquire)).zip(CUTAP_SLOTS.iter()) {
        if s.hooks() & super::hooks::RECORD == 0 || s.name.load(Acquire).is_null() {
            continue;
        }
        // A name that one route alone hands out is another slot of the same load.
        s.set_wanted(wanted(s.object.load(Relaxed) & !(1 << 31), name_of(n)));
    }
}

/// A thunk for a function that no symbol names and that is not recorded: only `hooks` run.
pub fn for_hooks(real: usize, hooks: u32) -> Option<usize> {
    let n = take_number()?;
    let s = slot(n)?;
    s.real.store(real, Relaxed);
    s.function.store(real, Relaxed);
    s.hooks.store(hooks as u16, Relaxed);
    s.entry.store(frame_entry(), Release);
    Some(thunk(n as usize))
}

fn make(real: usize, owner: &Object, load: u32, of: u8, name: &[u8], how: u8) -> Option<u32> {
    start::own::made();
    let cxx = name.starts_with(b"_Z");
    if cxx && start::flags() & control::CXX_NAMES == 0 {
        start::count(diagnostic::CXX_NOT_ASKED, 1);
        return None;
    }
    let mut hooks = super::hooks::special(of, name, how);
    let of_kernel = hooks & super::hooks::KERNEL != 0;
    let shown = start::armed::shows(of, owner.name(), name);
    if shown || start::armed::holds(of, owner.name(), name) {
        hooks |= super::hooks::RECORD;
        if of == Layer::HIDDEN.number() && own_calls::may_be_hidden(name) {
            hooks |= super::hooks::FOOTPRINT;
        }
        if shown && !cxx && capture::call_stack::wants(of, owner.name(), name) {
            hooks |= super::hooks::STACK;
        }
    }
    // Nothing is done to a function of the kernel layer that is neither recorded nor followed.
    let followed = of_kernel && super::hooks::extension(|of| (of.is_on)() && (of.follows)(name)) == Some(true);
    if of_kernel && !followed && hooks & super::hooks::RECORD == 0 {
        return None;
    }
    let layer = hook_layer(of);
    // A C++ function's arguments by value may be larger than what a frame passes on.
    let hooked = !cxx
        && !of_kernel
        && !super::hooks::is_footprint_name(name, how)
        && hook::library::wanting(layer, owner.name(), name).next().is_some();
    // Without a folder nothing can be told of it. The parent of a vfork child may have one later.
    if hooks == 0 && !hooked || !start::process_made() {
        return None;
    }
    let n = take_number()?;
    start::announce(owner);
    if hooks & super::hooks::SUBMIT != 0 {
        super::hooks::extension(|of| (of.announce)(owner));
    }
    let row = if cxx { 0 } else { capture::find(name, false, owner.major()) };
    let shape = capture::of(row).map_or(shape(6, 0, 0), |r| shape(r.ints, r.vectors, r.stack));
    let hidden = if shown { 0 } else { HIDDEN };
    let how = u64::from(owner.id) | u64::from(how) << 32 | u64::from(cxx) << 40 | hidden | shape << 44;
    let record = Name { kind: kind::SLOT, ticks: 0, a: n.into(), b: how, c: real as u64, s: name, t: &[] };
    let text = names::write(&record)?;
    let s = slot(n)?;
    s.real.store(real, Relaxed);
    s.function.store(real, Relaxed);
    if hooks & super::hooks::FOOTPRINT != 0
        && has_role(name, Role::KernelFunction)
        && let Some(ours) = super::kernel_function_x86_64::instead_of(real)
    {
        s.real.store(ours, Relaxed);
    }
    if hooked && let Some(info) = info_of(n, real, owner, layer, name) {
        if hooks == 0 {
            s.info.store(core::ptr::from_ref(info).cast_mut(), Release);
        } else if let Some(inner) = for_info(real, info) {
            s.real.store(inner, Relaxed);
        }
    }
    s.object.store(load, Relaxed);
    s.hooks.store(hooks as u16, Relaxed);
    s.row.store(row, Relaxed);
    s.plan.store(capture::plan::of_row(row), Relaxed);
    s.name_len.store(name.len().min(u16::MAX.into()) as u16, Relaxed);
    s.name.store(text.cast_mut(), Release);
    s.look(|| start::wanted(of, owner.name(), name));
    let to = match hooks {
        _ if cxx => note_entry(),
        0 => hook::frame_x86_64::entry(),
        super::hooks::RECORD if hooked => gate_entry(),
        super::hooks::RECORD => match fast::entry(n, row, owner) {
            Some((at, first)) => {
                s.first.store(first, Relaxed);
                at
            }
            None => gate_entry(),
        },
        _ if hooks & super::hooks::STACK != 0 => super::call_stack_x86_64::entry(),
        super::hooks::RECORD_FOOTPRINT if of != Layer::HIDDEN.number() => {
            // Those that are the program's may have the quick frame.
            if let Some((_, first)) = fast::entry(n, row, owner) {
                s.first.store(first, Relaxed);
            }
            super::own_calls_x86_64::entry()
        }
        _ => frame_entry(),
    };
    s.entry.store(to, Release);
    Some(n)
}

const _: () = assert!(
    Layer::LIBRARY.bit() == contract::LIBRARY
        && Layer::RUNTIME.bit() == contract::RUNTIME
        && Layer::DRIVER.bit() == contract::DRIVER
        && Layer::HIDDEN.bit() == contract::HIDDEN
);

/// A layer as the contract with hooks has it.
fn hook_layer(layer: u8) -> u32 {
    Layer::of_number(layer).map_or(0, Layer::bit)
}

fn info_of(n: u32, real: usize, owner: &Object, layer: u32, name: &[u8]) -> Option<&'static Info> {
    let major = owner.major();
    // As CUDA writes it, the newest of the runtime's major version.
    let version = match layer {
        contract::RUNTIME => major * 1000 + 990,
        contract::DRIVER => u32::MAX,
        _ => major,
    };
    let can = contract::CAN_ANSWER | contract::CAN_ARGUMENTS | contract::CAN_RESULT;
    let library = owner.name();
    let (slot, object, original) = (n, owner.id, real);
    functions::make(&Found { layer, library, name, version, slot, object, reported: None, can, why: None, original })
}

/// The inner thunk of a function that is recorded and has hooks: the frame around them.
fn for_info(real: usize, info: &'static Info) -> Option<usize> {
    let n = take_number()?;
    let s = slot(n)?;
    s.real.store(real, Relaxed);
    s.function.store(real, Relaxed);
    s.info.store(core::ptr::from_ref(info).cast_mut(), Release);
    s.entry.store(hook::frame_x86_64::entry(), Release);
    Some(thunk(n as usize))
}
