//! The interceptors that a slot may have, each a bit of a set. `call` runs them in order before the call, and in
//! the opposite order after it. An interceptor may change arguments, answer without calling, or change the
//! result. Recording is the first: it sees what the program asked and what it got.

use super::extension::extension;
use crate::capture::{handles, loaded_file};
use crate::process::run;
use crate::routes::hidden;
use cutap_calls::hidden::SlotName;
use cutap_calls::{Layer, Role, argument, has_role};
use cutap_wire::control;
use cutap_wire::names::route;

/// Bit of the recording interceptor.
pub const RECORD: u32 = 1 << 0;
/// The rings of the GPU's channels are looked at after the call and all other interceptors, before its end is recorded.
pub const SUBMIT: u32 = 1 << 1;
const PROC_ADDRESS: u32 = 1 << 2;
const EXPORT_TABLE: u32 = 1 << 3;
/// See `RECORD_FOOTPRINT`.
pub const FOOTPRINT: u32 = 1 << 4;
/// Bits of a function of which calls may be our own footprint.
pub const RECORD_FOOTPRINT: u32 = RECORD | FOOTPRINT;
const HANDLES: u32 = 1 << 5;
const UNLOAD: u32 = 1 << 6;
/// Bits of the interceptors that keep a module's image: it is the second argument, or the first.
const IMAGE: u32 = 1 << 7;
/// See `IMAGE`.
const IMAGE_FIRST: u32 = 1 << 8;
const RANGE_ON: u32 = 1 << 9;
const RANGE_OFF: u32 = 1 << 10;
/// The caller's stack is kept. Not before recording: it needs the call's number.
pub const STACK: u32 = 1 << 11;
/// A function of the layer `syscall`. Not before recording: it needs the call's number, and its pieces precede the
/// call's end.
pub const KERNEL: u32 = 1 << 12;
/// The image that is linked is kept.
const LINKED: u32 = 1 << 13;
/// The file that is loaded is recorded: the second argument is its name, or the third.
const FILE: u32 = 1 << 14;
/// See `FILE`.
const FILE_THIRD: u32 = 1 << 15;

/// What those of `set` do that keep what a function is given: it is called with these arguments.
pub fn keep_inputs(set: u32, args: &[u64; 6]) {
    if set & IMAGE != 0 {
        handles::image(args);
    }
    if set & LINKED != 0 {
        handles::linked(args);
    }
    if set & IMAGE_FIRST != 0 {
        handles::image_first(args);
    }
    let [_, second, third, ..] = *args;
    if set & FILE != 0 {
        loaded_file::named(second);
    }
    if set & FILE_THIRD != 0 {
        loaded_file::named(third);
    }
}
/// The same, of what it gave back.
pub fn keep_results(set: u32, function: &[u8], args: &[u64; 6], code: u64) {
    if set & HANDLES != 0 {
        handles::record_kernel_handle(function, args, code);
    }
}
/// Slots that take an image, and the interceptor that finds it among the arguments.
pub const IMAGES: [(usize, u32); 3] = [(1, IMAGE), (6, IMAGE), (8, IMAGE_FIRST)];

/// That interceptor of a slot that is recorded too.
fn keeps_image(name: &[u8]) -> u32 {
    if run::flags() & control::DUMP_MODULES == 0 {
        return 0;
    }
    let is = |n: usize| SlotName::new(&cutap_calls::CUDART_TABLE, n as u32).bytes() == name;
    IMAGES.into_iter().find(|(n, _)| is(*n)).map_or(0, |(_, interceptor)| interceptor)
}

/// True when the slot's calls may be our own footprint.
pub fn may_be_footprint(interceptors: u32) -> bool {
    interceptors & FOOTPRINT != 0
}

/// True for a function that a runtime fetches by cuGetProcAddress and calls only because a launch's
/// flag is on.
pub fn is_footprint_name(name: &[u8], how: u8) -> bool {
    how == route::GET_PROC_ADDRESS && has_role(name, Role::KernelName)
}

/// Interceptors of cutap that a driver function has whatever is recorded.
pub fn special(of: u8, name: &[u8], how: u8) -> u32 {
    if of == Layer::HIDDEN.number() {
        return keeps_image(name);
    }
    if of == Layer::LIBRARY.number() && name == hidden::NVML && hidden::is_on() {
        return EXPORT_TABLE;
    }
    if of == Layer::SYSCALL.number() {
        return KERNEL;
    }
    if of != Layer::DRIVER.number() {
        return 0;
    }
    if is_footprint_name(name, how) {
        return FOOTPRINT;
    }
    let in_range = run::flags() & control::RANGE != 0;
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
    let file = match core::str::from_utf8(name).ok().and_then(|name| argument(name, Role::LoadsFile)) {
        Some(1) => FILE,
        Some(2) => FILE_THIRD,
        _ => 0,
    };
    let own = if extension(|of| (of.is_on)() && (of.submits)(name)) == Some(true) { SUBMIT | file } else { file };
    roles.into_iter().filter(|(role, _, now)| *now && has_role(name, *role)).fold(own, |all, (_, bit, _)| all | bit)
}
