//! The chain of hooks. A slot has a set of them; those that want it run in order before the call and in
//! the opposite order after it. A hook may change arguments, answer without calling, or change the
//! result. Recording is the first: it sees what the program asked and what it got.

use super::table;
use super::thunks_x86_64::Frame;
use crate::capture::ioctl::Ioctl;
use crate::capture::{call_stack, ioctl};
use crate::loader::objects::Object;
use crate::routes::{export_table, handles, proc_address};
use crate::start;
use crate::thread::record;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Release};
use cutap_calls::{Layer, Role, has_role};
use cutap_wire::control;
use cutap_wire::names::route;

/// A hook: before returns false to skip the call, having set the frame's result.
pub struct Hook {
    /// Runs before the call.
    pub before: fn(&mut Frame) -> bool,
    /// Runs after it.
    pub after: fn(&mut Frame),
}

/// Bit of the recording hook.
pub const RECORD: u32 = 1 << 0;
/// The rings of the GPU's channels are looked at after the call and all other hooks, before its end is recorded.
pub const SUBMIT: u32 = 1 << 1;
const PROC_ADDRESS: u32 = 1 << 2;
const EXPORT_TABLE: u32 = 1 << 3;
/// See `RECORD_FOOTPRINT`.
pub const FOOTPRINT: u32 = 1 << 4;
/// Bits of a function of which calls may be our own footprint.
pub const RECORD_FOOTPRINT: u32 = RECORD | FOOTPRINT;
const HANDLES: u32 = 1 << 5;
const UNLOAD: u32 = 1 << 6;
/// Bits of the hooks that keep a module's image: it is the second argument, or the first.
pub const IMAGE: u32 = 1 << 7;
/// See `IMAGE`.
pub const IMAGE_FIRST: u32 = 1 << 8;
const RANGE_ON: u32 = 1 << 9;
const RANGE_OFF: u32 = 1 << 10;
/// The caller's stack is kept. Not before recording: it needs the call's number.
pub const STACK: u32 = 1 << 11;
/// A function of the layer `kernel`. Not before recording: it needs the call's number, and its pieces precede the
/// call's end.
pub const KERNEL: u32 = 1 << 12;
/// The image that is linked is kept.
const LINKED: u32 = 1 << 13;

/// The hooks by bit. FOOTPRINT does nothing of its own: recording asks for it.
static HOOKS: [Hook; 14] = [
    Hook { before: record::before, after: record::after },
    Hook { before: extended, after: extended_after },
    Hook { before: pass, after: proc_address::after },
    Hook { before: pass, after: export_table::after },
    Hook { before: pass, after: nothing },
    Hook { before: pass, after: ended_here },
    Hook { before: unload, after: nothing },
    Hook { before: made_here, after: nothing },
    Hook { before: made_here, after: nothing },
    Hook { before: pass, after: range_on },
    Hook { before: pass, after: range_off },
    Hook { before: call_stack::before, after: nothing },
    Hook { before: ioctl::before, after: ioctl::after },
    Hook { before: made_here, after: nothing },
];

/// A layer that needs all that is here, and that nothing here needs: `crate::submit`.
pub struct Extension {
    /// Whether the layer was asked for.
    pub is_on: fn() -> bool,
    /// Whether a function of the driver has the hook `SUBMIT`.
    pub submits: fn(&[u8]) -> bool,
    /// Whether the layer needs the calls of a function of libc.
    pub follows: fn(&[u8]) -> bool,
    /// A function of this library, the driver, has the hook. Only under the loader's lock.
    pub announce: fn(&Object),
    pub hook: Hook,
    /// Before a call of a function of libc.
    pub before_request: fn(&Frame),
    /// After it; the request, where it is an ioctl.
    pub after_request: fn(&Frame, Option<&Ioctl>),
    /// At start: no table is in use.
    pub close: fn(),
    /// In a forked child.
    pub forked: fn(),
}

static EXTENSION: AtomicPtr<Extension> = AtomicPtr::new(core::ptr::null_mut());

/// The constructor adds it before anything starts.
pub fn extend(with: &'static Extension) {
    EXTENSION.store(core::ptr::from_ref(with).cast_mut(), Release);
}
/// What it answers, if there is one.
pub fn extension<R>(ask: impl FnOnce(&'static Extension) -> R) -> Option<R> {
    // SAFETY: null or a static.
    unsafe { EXTENSION.load(Acquire).as_ref() }.map(ask)
}
/// Whether there is one, and its layer was asked for.
pub fn is_extended() -> bool {
    extension(|of| (of.is_on)()) == Some(true)
}
fn extended(frame: &mut Frame) -> bool {
    extension(|of| (of.hook.before)(frame)) != Some(false)
}
fn extended_after(frame: &mut Frame) {
    extension(|of| (of.hook.after)(frame));
}

fn pass(_: &mut Frame) -> bool {
    true
}
fn nothing(_: &mut Frame) {}
fn unload(_: &mut Frame) -> bool {
    handles::unload();
    true
}
/// The frame of a hooked function does it, with what hooks made of the arguments.
fn is_hooked(frame: &Frame) -> bool {
    table::is_thunk(frame.target)
}
fn made_here(frame: &mut Frame) -> bool {
    if !is_hooked(frame) {
        made(frame.hooks, &frame.args);
    }
    true
}
fn ended_here(frame: &mut Frame) {
    let [code, _] = frame.result;
    if !is_hooked(frame) {
        ended(frame.hooks, table::name_of(frame.slot), &frame.args, code);
    }
}
/// What those of `set` do that keep what a function is given: it is called with these arguments.
pub fn made(set: u32, args: &[u64; 6]) {
    if set & IMAGE != 0 {
        handles::image(args);
    }
    if set & LINKED != 0 {
        handles::linked(args);
    }
    if set & IMAGE_FIRST != 0 {
        handles::image_first(args);
    }
}
/// The same, of what it gave back.
pub fn ended(set: u32, function: &[u8], args: &[u64; 6], code: u64) {
    if set & HANDLES != 0 {
        handles::ended(function, args, code);
    }
}
fn range_on(_: &mut Frame) {
    start::switch::range(true);
}
fn range_off(_: &mut Frame) {
    start::switch::range(false);
}

/// True when the slot's calls may be our own footprint.
pub fn may_be_footprint(hooks: u32) -> bool {
    hooks & FOOTPRINT != 0
}

/// True for a function that a runtime fetches by cuGetProcAddress and calls only because a launch's
/// flag is on.
pub fn is_footprint_name(name: &[u8], how: u8) -> bool {
    how == route::GET_PROC_ADDRESS && has_role(name, Role::KernelName)
}

/// Hooks of cutap that a driver function has whatever is recorded.
pub fn special(of: u8, name: &[u8], how: u8) -> u32 {
    if of == Layer::HIDDEN.number() {
        return export_table::keeps_image(name);
    }
    if of == Layer::LIBRARY.number() && name == export_table::NVML && export_table::is_on() {
        return EXPORT_TABLE;
    }
    if of == Layer::KERNEL.number() {
        return KERNEL;
    }
    if of != Layer::DRIVER.number() {
        return 0;
    }
    if is_footprint_name(name, how) {
        return FOOTPRINT;
    }
    let in_range = start::flags() & control::RANGE != 0;
    let roles = [
        (Role::ProcAddress, PROC_ADDRESS, true),
        (Role::ExportTable, EXPORT_TABLE, true),
        (Role::ProfilerStart, RANGE_ON, in_range),
        (Role::ProfilerStop, RANGE_OFF, in_range),
        (Role::KernelHandle, HANDLES, true),
        (Role::EndsModules, UNLOAD, true),
        (Role::LoadsImage, IMAGE, true),
        (Role::LinksImage, LINKED, true),
    ];
    let own = if extension(|of| (of.is_on)() && (of.submits)(name)) == Some(true) { SUBMIT } else { 0 };
    roles.into_iter().filter(|(role, _, now)| *now && has_role(name, *role)).fold(own, |all, (_, bit, _)| all | bit)
}

/// Runs the hooks of `set` before the call; false when one of them answered.
#[inline(always)]
pub fn before(set: u32, frame: &mut Frame) -> bool {
    let mut rest = set;
    while rest != 0 {
        let bit = rest.trailing_zeros();
        rest &= rest - 1;
        if let Some(hook) = HOOKS.get(bit as usize) {
            frame.hooks |= 1 << bit;
            if !(hook.before)(frame) {
                return false;
            }
        }
    }
    true
}

/// Runs after those that ran before, last first.
#[inline(always)]
pub fn after(frame: &mut Frame) {
    let mut rest = frame.hooks;
    while rest != 0 {
        let bit = 31 - rest.leading_zeros();
        rest &= !(1 << bit);
        if let Some(hook) = HOOKS.get(bit as usize) {
            (hook.after)(frame);
        }
    }
}
