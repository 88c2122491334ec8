//! dlopen, in a run with a driver of cutap. That driver stands for each libcuda that a program names by a path, or to
//! which the caller's RPATH would lead. Without such a driver each request passes unchanged. Limits: `dlmopen`, and
//! opened libraries that are linked with an RPATH. For those of the start the driver is preloaded
//! (`collect/start/rpath.rs`).

use crate::loader::objects::{self, Object};
use crate::loader::real;
use crate::process::run;
use crate::sys;
use core::sync::atomic::{AtomicPtr, Ordering::*};
use cutap_wire::control;

/// Room for a path, with a zero behind it.
const ROOM: usize = 4096;

/// A library of which cutap has another one: how its file name begins, and its name in cutap's folder.
struct Replaced {
    begin: &'static [u8],
    name: &'static [u8],
    /// The path, which ends with a zero; NULL before it is known.
    path: AtomicPtr<u8>,
}

const fn replaced(begin: &'static [u8], name: &'static [u8]) -> Replaced {
    Replaced { begin, name, path: AtomicPtr::new(core::ptr::null_mut()) }
}

static DRIVER: Replaced = replaced(b"libcuda.so", b"libcuda.so.1");
/// The simulated driver has its own NVML too.
static NVML: Replaced = replaced(b"libnvidia-ml.so", b"libnvidia-ml.so.1");

/// What the exported dlopen jumps to, with which path.
#[repr(C)]
pub struct Jump {
    path: *const u8,
    real: usize,
}

/// # Safety
/// `path` is the argument of a call of dlopen.
pub unsafe extern "C" fn jump(path: *const u8) -> Jump {
    real::find_next();
    // SAFETY: the caller's promise.
    let own_path = unsafe { path_in_place_of(path) };
    Jump { path: own_path.unwrap_or(path), real: real::next(real::DLOPEN) }
}

/// The path of cutap's library, if a request is for one that it replaces.
///
/// # Safety
/// As [`jump`].
unsafe fn path_in_place_of(path: *const u8) -> Option<*const u8> {
    let folder = match run::flags() {
        flags if flags & control::DRIVER_SIMULATED != 0 => control::SIMULATED_FOLDER,
        flags if flags & control::DRIVER_CUDEST != 0 => control::CUDEST_FOLDER,
        _ => return None,
    };
    if path.is_null() {
        return None;
    }
    // SAFETY: the program's string.
    let text = unsafe { sys::text(path, ROOM) };
    let name = text.rsplit(|byte| *byte == b'/').next()?;
    let is_meant = |library: &Replaced| {
        name.strip_prefix(library.begin).is_some_and(|version| version.is_empty() || version.starts_with(b"."))
    };
    let is_simulated = folder == control::SIMULATED_FOLDER;
    let library = if is_meant(&DRIVER) {
        &DRIVER
    } else if is_simulated && is_meant(&NVML) {
        &NVML
    } else {
        return None;
    };
    find_path(library, folder.as_bytes())
}

fn find_path(library: &Replaced, folder: &[u8]) -> Option<*const u8> {
    let path = library.path.load(Acquire);
    if !path.is_null() {
        return Some(path);
    }
    let memory = sys::pages(ROOM);
    if memory.is_null() {
        return None;
    }
    // SAFETY: just mapped, and known to no other thread.
    let room = unsafe { core::slice::from_raw_parts_mut(memory, ROOM) };
    let write = |o: &Object| write_path(o, folder, library.name, room);
    let is_written = objects::with(|s| s.objects().iter().find(|o| o.ours).map(write));
    // The first path stays: another thread may use it already.
    let is_first = || library.path.compare_exchange(core::ptr::null_mut(), memory, AcqRel, Acquire).is_ok();
    if is_written.flatten().flatten().is_none() || !is_first() {
        // SAFETY: mapped above, and not used any more.
        unsafe { sys::unmap(memory, ROOM) };
    }
    let path = library.path.load(Acquire);
    (!path.is_null()).then_some(path.cast_const())
}

/// The path in a folder beside this library. The rest of `room` is zeros.
fn write_path(this_library: &Object, folder: &[u8], name: &[u8], room: &mut [u8]) -> Option<()> {
    // SAFETY: the loader's string of this library, which is never unloaded.
    let path = unsafe { sys::text(this_library.path, ROOM) };
    let parent = path.get(..=path.iter().rposition(|byte| *byte == b'/')?).filter(|folder| folder.starts_with(b"/"))?;
    room.get(..parent.len() + folder.len() + name.len() + 2)?;
    let bytes = parent.iter().chain(folder).chain(b"/").chain(name);
    room.iter_mut().zip(bytes).for_each(|(to, byte)| *to = *byte);
    Some(())
}
