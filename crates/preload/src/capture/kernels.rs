//! Offsets and sizes of a kernel's parameters. A launch gives only an array of pointers. Their number and
//! lengths are in the module, which the driver has read. The driver is asked once for each function handle
//! (cuFuncGetParamInfo, 12.4 and later), and again after a module was unloaded. With an older driver nothing
//! is known, and the launch shows an address.

use super::handles;
use crate::loader::live;
use crate::process::names;
use crate::process::page::count;
use crate::ring::thread_state::ThreadState;
use crate::sys;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use cutap_calls::{INVALID_HANDLE, Role, function_with};
use cutap_wire::diagnostic;
use cutap_wire::names::{Name, kind};

/// One parameter: where it lies in the kernel's buffer, and its bytes; as the names stream has it.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    offset: u32,
    bytes: u32,
}

impl Parameter {
    /// Its bytes.
    pub fn size(&self) -> usize {
        self.bytes as usize
    }
}

/// In the place of a handle that another thread is writing. A child that was forked meanwhile asks for such a kernel
/// each time.
const CHANGING: u64 = 1;

/// Function handles known at a time, and parameters that are kept for them. `arch::launch_frame` knows all that is
/// public here.
pub const HANDLES: usize = 8192;
/// See `HANDLES`.
pub const POOL: usize = 1 << 16;
/// Parameters of one kernel at most.
const MOST: usize = 512;

#[repr(C)]
struct KnownKernel {
    handle: AtomicU64,
    /// Unloads so far when it was asked, plus one.
    epoch: AtomicU32,
    /// First in the pool, and how many.
    place: AtomicU64,
}
const _: () = assert!(size_of::<KnownKernel>() == 24);
/// Where the fields of what is known lie, and a parameter's bytes.
pub const HANDLE: usize = core::mem::offset_of!(KnownKernel, handle);
/// See `HANDLE`.
pub const EPOCH: usize = core::mem::offset_of!(KnownKernel, epoch);
/// See `HANDLE`.
pub const PLACE: usize = core::mem::offset_of!(KnownKernel, place);
/// See `HANDLE`.
pub const SIZE: usize = core::mem::offset_of!(Parameter, bytes);
#[unsafe(no_mangle)]
static CUTAP_KERNELS: [KnownKernel; HANDLES] =
    [const { KnownKernel { handle: AtomicU64::new(0), epoch: AtomicU32::new(0), place: AtomicU64::new(0) } }; HANDLES];
#[unsafe(no_mangle)]
static CUTAP_PARAMETERS: [AtomicU64; POOL] = [const { AtomicU64::new(0) }; POOL];
static USED: AtomicU32 = AtomicU32::new(0);

/// cuFuncGetParamInfo and cuKernelGetParamInfo of the driver; 1: looked for and not there.
static ASK: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
const ABSENT: usize = 1;

/// The parameters of a function handle; `driver` is the address of the launch function that it is given to.
pub fn parameters(thread_state: &mut ThreadState, handle: u64, driver: usize) -> Option<&'static [Parameter]> {
    let before = match remembered(handle) {
        Some((known, true)) => return Some(known),
        Some((before, false)) => before,
        None => &[],
    };
    let epoch = epoch();
    let place = query_and_pool(thread_state, handle, driver, before)?;
    // The first place unless another has it, for the assembler looks there alone. A third of one place turns the second
    // out: it is asked again, and told again, which is right if slow. A reader in between finds no handle.
    let [first, second] = places_of(handle)?;
    let occupied = first.epoch.load(Acquire) == epoch && ![0, handle].contains(&first.handle.load(Acquire));
    let at = if occupied { second } else { first };
    // One that is at it at the same time keeps the place.
    if at.handle.swap(CHANGING, AcqRel) != CHANGING {
        at.place.store(place, Release);
        at.epoch.store(epoch, Release);
        at.handle.store(handle, Release);
    }
    slice(place)
}

/// The parameters of a function handle that the driver was asked about since a module was last unloaded.
#[inline(always)]
pub fn cached_parameters(handle: u64) -> Option<&'static [Parameter]> {
    remembered(handle).filter(|(_, now)| *now).map(|(parameters, _)| parameters)
}

/// The same, also from before that; whether it is from after.
#[inline(always)]
fn remembered(handle: u64) -> Option<(&'static [Parameter], bool)> {
    let at = places_of(handle)?.into_iter().find(|at| at.handle.load(Acquire) == handle)?;
    let (now, place) = (at.epoch.load(Acquire) == epoch(), at.place.load(Acquire));
    // Another thread may be turning the handle out.
    let same = at.handle.load(Acquire) == handle;
    same.then(|| slice(place)).flatten().map(|known| (known, now))
}

/// What a handle is multiplied by for its place.
pub const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline(always)]
fn places_of(handle: u64) -> Option<[&'static KnownKernel; 2]> {
    let hash = ((handle >> 4).wrapping_mul(MIX) >> 32) as usize;
    Some([CUTAP_KERNELS.get(hash % HANDLES)?, CUTAP_KERNELS.get((hash ^ 1) % HANDLES)?])
}

/// Unloads so far, plus one: 0 is nobody's.
#[inline(always)]
fn epoch() -> u32 {
    handles::unloaded().wrapping_add(1)
}

fn slice(place: u64) -> Option<&'static [Parameter]> {
    let (first, n) = (place as u32 as usize, (place >> 32) as usize);
    let words = CUTAP_PARAMETERS.get(first..first + n)?;
    // SAFETY: a parameter is as large and aligned no stricter than a word; the words of a place were
    // filled before the place was told, and are never written again.
    Some(unsafe { core::slice::from_raw_parts(words.as_ptr().cast(), words.len()) })
}

type Info = unsafe extern "C" fn(u64, usize, *mut usize, *mut usize) -> u32;

/// Asks the driver, and tells the answer to the names stream; its place in the pool.
#[cold]
fn query_and_pool(
    thread_state: &mut ThreadState,
    handle: u64,
    driver: usize,
    before: &'static [Parameter],
) -> Option<u64> {
    // What was handed out where we did not see it may be no handle at all; the driver follows it.
    if !handles::is_known(handle) && !sys::readable((handle & !7) as usize) {
        return None;
    }
    let mut packed = [0u64; MOST];
    let kernel = handles::is_kernel(handle);
    let n = match query(thread_state, entry_point(kernel, driver)?, handle, &mut packed) {
        // Obtained where we did not see it: the other kind of handle.
        Err(INVALID_HANDLE) => query(thread_state, entry_point(!kernel, driver)?, handle, &mut packed).ok()?,
        n => n.ok()?,
    };
    count(diagnostic::PARAMETERS_ASKED, 1);
    let packed = packed.get(..n)?;
    // SAFETY: a parameter is two halves of a word.
    let same = unsafe { core::slice::from_raw_parts(packed.as_ptr().cast::<Parameter>(), n) };
    if n > 0 && same == before {
        let first = (before.as_ptr() as usize - CUTAP_PARAMETERS.as_ptr() as usize) / 8;
        return Some(first as u64 | (n as u64) << 32);
    }
    let place = pooled(packed)?;
    // SAFETY: words as bytes.
    let text = unsafe { core::slice::from_raw_parts(packed.as_ptr().cast::<u8>(), n * 8) };
    names::write(&Name { kind: kind::KERNEL_PARAMETERS, ticks: 0, a: handle, b: 0, c: 0, s: text, t: &[] });
    Some(place)
}

/// Where a list lies in the pool. The same list of another kernel is taken again, so that handles that turn each other
/// out do not use the pool up.
fn pooled(list: &[u64]) -> Option<u64> {
    static LISTS: [AtomicU64; 4096] = [const { AtomicU64::new(0) }; 4096];
    let mixed = list.iter().fold(list.len() as u64, |mixed, word| (mixed ^ word).wrapping_mul(MIX).rotate_left(29));
    let met = LISTS.get((mixed >> 40) as usize % LISTS.len())?;
    let place = met.load(Acquire);
    // SAFETY: a parameter is two halves of a word.
    let as_parameters = unsafe { core::slice::from_raw_parts(list.as_ptr().cast::<Parameter>(), list.len()) };
    if place != 0 && slice(place) == Some(as_parameters) {
        return Some(place);
    }
    let n = list.len() as u32;
    let first = USED.fetch_update(Relaxed, Relaxed, |used| Some(used + n).filter(|used| *used <= POOL as u32)).ok()?;
    let pool = CUTAP_PARAMETERS.get(first as usize..(first + n) as usize)?;
    for (to, from) in pool.iter().zip(list) {
        to.store(*from, Relaxed);
    }
    let place = u64::from(first) | u64::from(n) << 32;
    met.store(place, Release);
    Some(place)
}

/// How many parameters there are; an error of the first question.
fn query(thread_state: &mut ThreadState, function: Info, handle: u64, packed: &mut [u64]) -> Result<usize, u32> {
    // What a signal handler calls meanwhile is the program's, so it waits; errno is the program's too.
    let signals = sys::block_signals();
    // SAFETY: libc's own function, and this thread's errno.
    let errno = sys::libc::errno_location().map(|f| unsafe { f() });
    // SAFETY: as above.
    let errno_before = errno.map(|e| unsafe { e.read() });
    thread_state.inside = true;
    let mut n = 0;
    let mut error = 0;
    for to in packed {
        let (mut offset, mut bytes) = (0usize, 0usize);
        // SAFETY: the driver's function, with a handle that the program is about to launch.
        error = unsafe { function(handle, n, &mut offset, &mut bytes) };
        if error != 0 {
            break;
        }
        *to = u64::from(offset as u32) | (bytes as u64) << 32;
        n += 1;
    }
    thread_state.inside = false;
    if let (Some(e), Some(errno_before)) = (errno, errno_before) {
        // SAFETY: as above.
        unsafe { e.write(errno_before) };
    }
    sys::restore_signals(signals);
    if n == 0 && error == INVALID_HANDLE { Err(error) } else { Ok(n) }
}

/// The two functions of the driver that describe a parameter: of a kernel, and of a kernel's function.
const OF_KERNEL: &[u8] = function_with(Role::ParameterOfKernel).as_bytes();
const OF_FUNCTION: &[u8] = function_with(Role::ParameterOfFunction).as_bytes();

/// The driver's function, found in the library that holds the launch's.
fn entry_point(kernel: bool, launch: usize) -> Option<Info> {
    let place = ASK.get(usize::from(kernel))?;
    let mut address = place.load(Relaxed);
    if address == 0 {
        let name = if kernel { OF_KERNEL } else { OF_FUNCTION };
        address = live::at(launch, |o| {
            let mut symbol_address = ABSENT;
            // SAFETY: the object is loaded while it is looked at.
            unsafe {
                o.tables.find(name, |s, _| {
                    symbol_address = o.base + s.value;
                    true
                })
            };
            symbol_address
        })?;
        place.store(address, Relaxed);
    }
    // SAFETY: the symbol has this type in every driver that has it.
    (address != ABSENT).then(|| unsafe { core::mem::transmute::<usize, Info>(address) })
}
