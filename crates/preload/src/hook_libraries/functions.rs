//! A wanted function as its hooks see it. Made when its slot is made, or when a runtime first reports
//! it, in memory that is never given back; nothing in it changes after.

use super::library::{self, Want};
use crate::loader::objects::Object;
use crate::process::{names, page};
use crate::sys;
use core::ffi::c_char;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering::*};
use cutap_calls::capture::hash;
use cutap_hook::contract::{CAN_ANSWER, CAN_ARGUMENTS, CAN_RESULT, DRIVER, Function, Parameter, RUNTIME};
use cutap_wire::diagnostic;
use cutap_wire::hooks::{Head, find, returns};

/// Hooks of one function at most.
pub const HOOKS: usize = 8;

/// A wanted function.
pub struct Info {
    /// What the hooks are told.
    pub function: Function,
    pub name: &'static [u8],
    /// The wants that it matches, in their order.
    pub subscriptions: [Want; HOOKS],
    /// How many.
    pub count: usize,
    /// The slot that a trace knows it by.
    pub slot: u32,
    /// The load that it belongs to.
    pub object: u32,
    /// Words of integer and of vector registers in a frame.
    pub shape: (u8, u8),
    /// What it returns: one of `wire::hooks::returns`.
    pub returns: u8,
    /// [`MET`] once its hooks have been told of it; before that the thread that tells them, or 0.
    pub met: AtomicU32,
    /// It is listed that a hook could not answer it.
    pub listed: AtomicBool,
}

/// The hooks of a function have been told of it.
pub const MET: u32 = u32::MAX;
/// How long other threads wait until they have been: whoever tells them may wait for one of these.
const PATIENCE_NS: u64 = 100_000_000;

impl Info {
    /// True for the one thread that tells the hooks of it. Others come back when that is done, or has taken too long.
    #[cold]
    pub fn claim_announcement(&self, me: u32) -> bool {
        match self.met.compare_exchange(0, me, AcqRel, Acquire) {
            Ok(_) => {
                self.was_called();
                return true;
            }
            // A signal handler in the middle of it, or it was left by longjmp.
            Err(owner) if owner == me => return false,
            Err(_) => {}
        }
        let (start, mut turn) = (sys::clock(sys::MONOTONIC), 0);
        while self.met.load(Acquire) != MET {
            // Once for all calls: it may never be done.
            if sys::clock(sys::MONOTONIC).wrapping_sub(start) > PATIENCE_NS {
                self.met.store(MET, Release);
            }
            sys::wait(turn);
            turn = turn.saturating_add(1);
        }
        false
    }
    /// Its first call: what its wants are of is there.
    fn was_called(&self) {
        self.subscriptions.iter().filter_map(|w| w.file_entry).for_each(|entry| entry.met.store(1, Relaxed));
    }
    /// A hook answered a call of it, and the call was made all the same.
    pub fn not_answered(&self) {
        page::count(diagnostic::HOOK_NOT_ANSWERED, 1);
        if !self.listed.swap(true, Relaxed) {
            names::gap(diagnostic::HOOK_NOT_ANSWERED, self.name, &[]);
        }
    }
}

/// What is known of a function that is wanted.
pub struct Found<'a> {
    /// A bit of the contract's.
    pub layer: u32,
    /// SONAME or file name.
    pub library: &'a [u8],
    /// Exported name.
    pub name: &'a [u8],
    /// The version by which its form is chosen.
    pub version: u32,
    pub slot: u32,
    /// Its load.
    pub object: u32,
    /// A runtime's callback reports it: from which instance, and its version.
    pub reported: Option<(u32, u32)>,
    /// `CAN_*` of the contract.
    pub can: u32,
    /// Why not more; a text that ends with a zero.
    pub why: Option<&'static [u8]>,
    /// Its address, 0 if it is not known.
    pub original: usize,
}

/// Words of a bound function's place in [`Parameter`]: the first, and the second above.
pub const NOWHERE: u32 = 255;

/// In a parameter's place, above where it is: nothing is written through it.
pub const INPUT: u32 = 1 << 16;

/// Why a result cannot be changed.
const FLOAT: &[u8] =
    b"its result is a float or a double: it can be answered with one, and not be changed behind the call\0";
const NOTHING: &[u8] = b"it returns nothing\0";
const STRUCT: &[u8] = b"it returns a struct: it cannot be answered, and its result not changed\0";
const REPORTED_STRUCT: &[u8] =
    b"it returns a struct: it cannot be answered, and neither its result nor its arguments can be changed\0";

/// The function, if some hook wants it.
pub fn create(f: &Found) -> Option<&'static Info> {
    let mut subscriptions = [Want::NONE; HOOKS];
    let mut count = 0;
    let mut all = library::wanting(f.layer, f.library, f.name);
    for want in &mut all {
        match subscriptions.get_mut(count) {
            Some(place) => *place = library::want(want)?,
            None => {
                names::gap_named(diagnostic::HOOK_TOO_MANY, f.name);
                break;
            }
        }
        count += 1;
    }
    if count == 0 {
        return None;
    }
    announce();
    let info = put(f, subscriptions, count.min(HOOKS));
    if info.is_none() {
        names::gap_named(diagnostic::HOOK_PASSED, f.name);
    }
    info
}

/// A function that is bound to a slot, as its hooks see it.
pub fn of_slot(n: u32, real: usize, owner: &Object, layer: u32, name: &[u8]) -> Option<&'static Info> {
    let major = owner.major();
    // As CUDA writes it, the newest of the runtime's major version.
    let version = match layer {
        RUNTIME => major * 1000 + 990,
        DRIVER => u32::MAX,
        _ => major,
    };
    let can = CAN_ANSWER | CAN_ARGUMENTS | CAN_RESULT;
    let library = owner.name();
    let (slot, object, original) = (n, owner.id, real);
    create(&Found { layer, library, name, version, slot, object, reported: None, can, why: None, original })
}

fn put(f: &Found, subscriptions: [Want; HOOKS], count: usize) -> Option<&'static Info> {
    let name = text(f.name)?;
    let library = text(f.library)?;
    let file = library::file();
    let form = Head::read(file).and_then(|head| Some((head, find(file, &head, hash(f.name), f.version)?)));
    let mut parameters: (*const Parameter, u32) = (core::ptr::null(), 0);
    let (mut shape, mut returned) = ((6, 0), returns::NOT_KNOWN);
    if let Some((head, row)) = form {
        (shape, returned) = ((row.ints, row.vectors), row.returns);
        let bytes = usize::from(row.count) * size_of::<Parameter>();
        let at = room(bytes, align_of::<Parameter>())?.cast::<Parameter>();
        for n in 0..u32::from(row.count) {
            let p = cutap_wire::hooks::Parameter::read(file, &head, row.first + n)?;
            let place = match f.reported {
                Some(_) => u32::from(p.offset),
                None => u32::from(p.word) | u32::from(p.second) << 8,
            };
            let place = if p.input != 0 { place | INPUT } else { place };
            let name = file.get(p.name as usize..)?.as_ptr().cast::<c_char>();
            // SAFETY: as much room was taken.
            unsafe { at.add(n as usize).write(Parameter { name, kind: p.kind, reserved: 0, bytes: p.bytes, place }) };
        }
        parameters = (at, row.count.into());
    }
    let (instance, version) = f.reported.unwrap_or((0, 0));
    let (can, why) = match returned {
        returns::FLOAT => (f.can & !CAN_RESULT, f.why.or(Some(FLOAT))),
        returns::NOTHING => (f.can & !CAN_RESULT, f.why.or(Some(NOTHING))),
        returns::STRUCT if f.reported.is_some() => (f.can & !(CAN_ANSWER | CAN_RESULT), Some(REPORTED_STRUCT)),
        returns::STRUCT => (f.can & !(CAN_ANSWER | CAN_RESULT), Some(STRUCT)),
        _ => (f.can, f.why),
    };
    let function = Function {
        size: size_of::<Function>() as u32,
        layer: f.layer,
        name: name.as_ptr().cast(),
        library: library.as_ptr().cast(),
        instance,
        runtime_version: version,
        can,
        parameters: parameters.1,
        parameter: parameters.0,
        why: why.map_or(core::ptr::null(), |w| w.as_ptr().cast()),
        original: core::ptr::with_exposed_provenance_mut(f.original),
    };
    let at = room(size_of::<Info>(), align_of::<Info>())?.cast::<Info>();
    let name = name.split_last().map_or(&[][..], |(_, n)| n);
    let (met, listed, returns) = (AtomicU32::new(0), AtomicBool::new(false), returned);
    // SAFETY: as much room was taken, for this alone.
    unsafe {
        at.write(Info {
            function,
            name,
            subscriptions,
            count,
            slot: f.slot,
            object: f.object,
            shape,
            returns,
            met,
            listed,
        });
        Some(&*at)
    }
}

/// Names of the libraries go to the stream with the first function that is wanted.
fn announce() {
    static TOLD: AtomicBool = AtomicBool::new(false);
    if !TOLD.swap(true, Relaxed) {
        library::announce();
    }
}

/// A copy that ends with a zero.
fn text(from: &[u8]) -> Option<&'static [u8]> {
    let to = room(from.len() + 1, 1)?;
    // SAFETY: as much room was taken; fresh memory is zero.
    unsafe {
        core::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len());
        Some(core::slice::from_raw_parts(to, from.len() + 1))
    }
}

const POOL: usize = 32 << 20;
static START: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());
static USED: AtomicUsize = AtomicUsize::new(0);

fn room(bytes: usize, align: usize) -> Option<*mut u8> {
    let mut start = START.load(Acquire);
    if start.is_null() {
        let pool = sys::pages(POOL);
        if pool.is_null() {
            return None;
        }
        start = match START.compare_exchange(core::ptr::null_mut(), pool, AcqRel, Acquire) {
            Ok(_) => pool,
            Err(existing) => {
                // SAFETY: nobody knows of it.
                unsafe { sys::unmap(pool, POOL) };
                existing
            }
        };
    }
    let reserved = bytes + align;
    let at = USED.fetch_add(reserved, Relaxed).next_multiple_of(align);
    if at + bytes > POOL {
        USED.fetch_sub(reserved, Relaxed);
        return None;
    }
    Some(start.wrapping_add(at))
}
