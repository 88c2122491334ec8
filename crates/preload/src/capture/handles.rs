//! Kernels' names, learned where the driver hands out a kernel's handle: so that a launch needs no
//! driver call of ours to be named. And module images, kept when asked for.

use super::ptx;
use crate::process::copy::{is_text, program_words, text_length};
use crate::process::{dump, names, run};
use crate::sys::{Opened, Table};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use cutap_calls::{Role, function_with};
use cutap_wire::names::{LONGEST, Name, kind};

/// Writes a handle and has no name of a kernel among its arguments: a kernel instead.
pub const KERNEL_FUNCTION: &[u8] = function_with(Role::KernelFunction).as_bytes();
/// The handle that it writes is a kernel's, not a function's.
const LIBRARY_KERNEL: &[u8] = function_with(Role::LibraryKernel).as_bytes();

/// A function with `Role::KernelHandle` returned `code`. Its arguments are where it writes the handle, what the handle
/// is taken from, and the kernel's name.
pub fn record_kernel_handle(function: &[u8], &[place, from, name, ..]: &[u64; 6], code: u64) {
    if code as u32 != 0 {
        return;
    }
    // A hook may have answered the call: then the driver has read and written nothing.
    let Some([handle]) = program_words(place as usize) else { return };
    if function == KERNEL_FUNCTION {
        return function_of(handle, from);
    }
    kind_of(handle, function == LIBRARY_KERNEL);
    let Some(bytes) = text_length(name as usize, LONGEST, |_| true) else { return };
    let record = Name { kind: kind::KERNEL_HANDLE, ticks: 0, a: handle, b: 0, c: 0, s: &[], t: &[] };
    names::write_copy(&record, name as usize, bytes);
}

/// The driver has handed out `handle` as the function of `kernel`.
pub fn function_of(handle: u64, kernel: u64) {
    kind_of(handle, false);
    if !was_pair_written(handle, kernel) {
        names::write(&Name { kind: kind::KERNEL_HANDLE, ticks: 0, a: handle, b: kernel, c: 0, s: &[], t: &[] });
    }
}

/// Whether a kernel's function was already told to be that: runtimes ask for it at every launch. After a module was
/// unloaded both may be others.
fn was_pair_written(handle: u64, kernel: u64) -> bool {
    const PAIRS: usize = 1024;
    static TOLD: [AtomicU64; PAIRS] = [const { AtomicU64::new(0) }; PAIRS];
    let pair =
        (handle ^ kernel.rotate_left(32)).wrapping_add(u64::from(unloaded()) << 48).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            | 1;
    TOLD.get((pair >> 40) as usize % PAIRS).is_some_and(|place| place.swap(pair, Relaxed) == pair)
}

const HANDLES: usize = 8192;
/// Handles of kernels and functions as the driver handed them out, by hash; the lowest bit, which an
/// address does not have, marks a kernel (CUkernel).
static KNOWN_HANDLES: [AtomicU64; HANDLES] = [const { AtomicU64::new(0) }; HANDLES];

fn place_of(handle: u64) -> Option<&'static AtomicU64> {
    KNOWN_HANDLES.get(((handle >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize % HANDLES)
}

fn kind_of(handle: u64, kernel: bool) {
    if let Some(place) = place_of(handle) {
        place.store(handle | u64::from(kernel), Relaxed);
    }
}

/// Whether a handle was last handed out as a CUkernel. A wrong answer costs a question to the driver.
pub fn is_kernel(handle: u64) -> bool {
    place_of(handle).is_some_and(|p| p.load(Relaxed) == handle | 1)
}

/// Whether a handle is surely one. Another may have taken its place.
pub fn is_known(handle: u64) -> bool {
    handle != 0 && place_of(handle).is_some_and(|p| p.load(Relaxed) & !1 == handle)
}

/// Modules unloaded so far: a name's pointer may be another's after that.
#[unsafe(no_mangle)]
static CUTAP_UNLOADED: AtomicU32 = AtomicU32::new(0);

/// How many modules have been unloaded.
pub fn unloaded() -> u32 {
    CUTAP_UNLOADED.load(Relaxed)
}

/// cuModuleUnload, cuLibraryUnload, and what ends a context.
pub fn unload() {
    CUTAP_UNLOADED.fetch_add(1, Relaxed);
}

/// A function links an image: its arguments are a state, the kind of the image, the image and its size.
pub fn linked(&[_, image, text, bytes, ..]: &[u64; 6]) {
    const PTX: u32 = 1;
    if image as u32 == PTX {
        ptx::linked(text as usize, bytes as usize);
    }
}

/// A function loads an image, which is the second argument.
pub fn image(&[_, image, ..]: &[u64; 6]) {
    ptx::image(image as usize);
    if run::flags() & cutap_wire::control::DUMP_MODULES != 0 {
        dump::module(image as usize);
    }
}

/// A function loads an image, which is the first argument.
pub fn image_first(&[image, ..]: &[u64; 6]) {
    dump::module(image as usize);
}

/// Places for names by where the runtime had them, and names. `reports` knows all that is public here.
pub const NAME_PLACES: usize = 4096;
/// See `NAME_PLACES`.
pub const NAMES: usize = 65536;
/// What an address, less its lowest bits, is multiplied by for its place: the product's lowest bits.
pub const NAME_MIX: usize = 0x1e37_79b9;
/// Names of one place that are looked at: more are told again.
const MOST_BEHIND: usize = 64;
/// Id of the name that was met last of those whose pointers hash to this place.
#[unsafe(no_mangle)]
static CUTAP_NAME_PLACES: [AtomicU32; NAME_PLACES] = [const { AtomicU32::new(0) }; NAME_PLACES];
static NEXT: AtomicU32 = AtomicU32::new(1);

/// A name met: where the runtime had it, how many modules had been unloaded when it was last
/// compared, and our own copy in the names file.
#[repr(C)]
struct KnownName {
    pointer: AtomicUsize,
    unloaded: AtomicU32,
    /// Id of the one that had this one's place before; 0: none.
    next: AtomicU32,
    text: AtomicPtr<u8>,
    len: AtomicU32,
}
const _: () = assert!(size_of::<KnownName>() == 32);
/// Where a name's fields lie.
pub const POINTER: usize = core::mem::offset_of!(KnownName, pointer);
/// See `POINTER`.
pub const COMPARED: usize = core::mem::offset_of!(KnownName, unloaded);
#[unsafe(no_mangle)]
#[unsafe(link_section = ".bss.cutap_tables")]
static CUTAP_KERNEL_NAMES: Table<KnownName, NAMES> = Table(
    [const {
        KnownName {
            pointer: AtomicUsize::new(0),
            unloaded: AtomicU32::new(0),
            next: AtomicU32::new(0),
            text: AtomicPtr::new(core::ptr::null_mut()),
            len: AtomicU32::new(0),
        }
    }; NAMES],
);
static OPENED: Opened = Opened::all();

/// At start: no name is known.
pub fn close() {
    OPENED.close(&CUTAP_KERNEL_NAMES);
}

/// The length of the string at `name` if it can be a kernel's name: of characters that names are made of. Runtimes
/// before 12.9 leave there what lay on the stack when what is launched is no kernel.
fn name_length(name: *const u8) -> Option<usize> {
    text_length(name as usize, LONGEST, |c| matches!(c, b'!'..=b'~')).filter(|len| *len > 0)
}

/// Whether a kernel's name is there.
pub fn is_name(name: *const u8) -> bool {
    name_length(name).is_some()
}

/// The id of a kernel's name, told to the names stream at first sight. 0: there is none, or it could not be
/// told.
pub fn kernel_name(name: *const u8) -> u32 {
    let epoch = CUTAP_UNLOADED.load(Relaxed);
    let Some(place) = CUTAP_NAME_PLACES.get((name as usize >> 3).wrapping_mul(NAME_MIX) % NAME_PLACES) else {
        return 0;
    };
    let mut id = place.load(Acquire);
    for _ in 0..MOST_BEHIND {
        let Some(entry) = CUTAP_KERNEL_NAMES.get(id as usize).filter(|_| id != 0) else { break };
        if entry.pointer.load(Relaxed) == name as usize {
            if entry.unloaded.load(Relaxed) == epoch {
                return id;
            }
            let (text, len) = (entry.text.load(Relaxed), entry.len.load(Relaxed));
            // SAFETY: our copy in the names file, which stays mapped.
            let copy = unsafe { core::slice::from_raw_parts(text, len as usize) };
            if is_text(name as usize, copy) {
                entry.unloaded.store(epoch, Relaxed);
                return id;
            }
            // Another's by now.
            entry.pointer.store(0, Relaxed);
        }
        id = entry.next.load(Relaxed);
    }
    let Some(len) = name_length(name) else { return 0 };
    let id = NEXT.fetch_add(1, Relaxed);
    let record = Name { kind: kind::KERNEL_NAME, ticks: 0, a: id.into(), b: name as u64, c: 0, s: &[], t: &[] };
    let Some(copy) = names::write_copy(&record, name as usize, len) else { return 0 };
    // Filled before it is published; an id beyond the table is simply told again each time.
    let entry = CUTAP_KERNEL_NAMES.get(id as usize).filter(|_| OPENED.reach(&CUTAP_KERNEL_NAMES, id as usize));
    if let Some(entry) = entry {
        entry.pointer.store(name as usize, Relaxed);
        entry.unloaded.store(epoch, Relaxed);
        entry.text.store(copy.cast_mut(), Relaxed);
        entry.len.store(len as u32, Relaxed);
        let _ = place.fetch_update(AcqRel, Acquire, |before| {
            entry.next.store(before, Relaxed);
            Some(id)
        });
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runtimes before 12.9 leave there what lay on the stack.
    #[test]
    fn what_is_no_name_is_not_read() {
        for garbage in [0usize, 1, 6, 7, 8, 4095, 4096, 0xffff_ffff, 0x8000_0000_0000, usize::MAX - 6, usize::MAX] {
            assert_eq!(name_length(core::ptr::without_provenance(garbage)), None, "{garbage:#x}");
        }
        let name = c"_Z5saxpyifPKfPf";
        assert_eq!(name_length(name.as_ptr().cast()), Some(name.to_bytes().len()));
        assert_eq!(name_length(c"a name".as_ptr().cast()), None, "no such character is in one");
        assert_eq!(name_length(c"".as_ptr().cast()), None);
    }
}
