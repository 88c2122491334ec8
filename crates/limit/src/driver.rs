//! Functions of the driver and of NVML that this library calls, past all hooks. Their names are in `RUN/limit`.

use crate::{config, hook};
use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicUsize, Ordering};
use cutap_wire::limited::{HELPERS, Helper};

type Status = c_int;

static ADDRESSES: [AtomicUsize; HELPERS] = [const { AtomicUsize::new(0) }; HELPERS];

/// The address of a function. It is looked for once, unless its library is not loaded yet.
fn address(helper: Helper, library: &CStr) -> Option<usize> {
    let place = ADDRESSES.get(helper as usize)?;
    let cached = place.load(Ordering::Acquire);
    if cached != 0 {
        return Some(cached);
    }
    let name = config::head()?.helpers.get(helper as usize)?;
    // SAFETY: the host's function with strings that end at a zero.
    let looked_up = unsafe { (hook::host()?.original)(library.as_ptr(), name.as_ptr().cast()) } as usize;
    place.store(looked_up, Ordering::Release);
    (looked_up != 0).then_some(looked_up)
}

/// A function of the driver as one of the type `F`.
macro_rules! function {
    ($helper:expr, $library:expr, $kind:ty) => {{
        let at = address($helper, $library)?;
        // SAFETY: the function of this name has this type in the driver's header.
        unsafe { core::mem::transmute::<usize, $kind>(at) }
    }};
}

const DRIVER: &CStr = c"libcuda.so.1";
const NVML: &CStr = c"libnvidia-ml.so.1";

/// The device of the current context, as the process counts.
pub fn current_device() -> Option<u64> {
    let function = function!(Helper::CurrentDevice, DRIVER, unsafe extern "C" fn(*mut c_int) -> Status);
    let mut device = 0;
    // SAFETY: a variable of this function's.
    (unsafe { function(&mut device) } == 0).then_some(device as u64)
}

/// The current context; 0: none.
pub fn current_context() -> Option<u64> {
    let function = function!(Helper::CurrentContext, DRIVER, unsafe extern "C" fn(*mut u64) -> Status);
    let mut context = 0;
    // SAFETY: as above.
    (unsafe { function(&mut context) } == 0).then_some(context)
}

/// The UUID of a device.
pub fn uuid(device: u64) -> Option<[u8; 16]> {
    let function = function!(Helper::Uuid, DRIVER, unsafe extern "C" fn(*mut [u8; 16], c_int) -> Status);
    let mut uuid = [0; 16];
    // SAFETY: as above.
    (unsafe { function(&mut uuid, device as c_int) } == 0).then_some(uuid)
}

/// The pool of a device.
pub fn pool(device: u64) -> Option<u64> {
    let function = function!(Helper::Pool, DRIVER, unsafe extern "C" fn(*mut u64, c_int) -> Status);
    let mut pool = 0;
    // SAFETY: as above.
    (unsafe { function(&mut pool, device as c_int) } == 0).then_some(pool)
}

/// The bytes that a pool has, and those of them that are in use.
pub fn pool_bytes(pool: u64) -> Option<[u64; 2]> {
    let function = function!(Helper::PoolAttribute, DRIVER, unsafe extern "C" fn(u64, c_int, *mut u64) -> Status);
    pair(config::head()?.numbers.pool, |attribute, value| {
        // SAFETY: a variable of `pair`'s.
        unsafe { function(pool, attribute, value) }
    })
}

/// The bytes that the graphs of a device have, and those of them that are in use.
pub fn graph_bytes(device: u64) -> Option<[u64; 2]> {
    let function = function!(Helper::GraphMemory, DRIVER, unsafe extern "C" fn(c_int, c_int, *mut u64) -> Status);
    pair(config::head()?.numbers.graph, |attribute, value| {
        // SAFETY: a variable of `pair`'s.
        unsafe { function(device as c_int, attribute, value) }
    })
}

fn pair(attributes: [u32; 2], ask: impl Fn(c_int, &mut u64) -> Status) -> Option<[u64; 2]> {
    let mut values = [0; 2];
    for (attribute, value) in attributes.into_iter().zip(&mut values) {
        if ask(attribute as c_int, value) != 0 {
            return None;
        }
    }
    Some(values)
}

/// Makes a pool as small as what is in use.
pub fn trim(pool: u64, bytes: u64) -> Option<()> {
    let function = function!(Helper::TrimPool, DRIVER, unsafe extern "C" fn(u64, usize) -> Status);
    // SAFETY: the program's pool, which it has just used.
    (unsafe { function(pool, bytes as usize) } == 0).then_some(())
}

/// The graph into which a stream is captured; none if it is not.
pub fn captured_graph(stream: u64) -> Option<u64> {
    type Function = unsafe extern "C" fn(u64, *mut c_int, *mut u64, *mut u64, *mut *const u64, *mut usize) -> Status;
    let function = function!(Helper::CaptureInfo, DRIVER, Function);
    let (mut status, mut id, mut graph, mut nodes, mut count) = (0, 0, 0, core::ptr::null(), 0);
    // SAFETY: variables of this function's.
    let result = unsafe { function(stream, &mut status, &mut id, &mut graph, &mut nodes, &mut count) };
    (result == 0 && status == 1).then_some(graph)
}

/// The primary context of a device, if it is there.
pub fn primary_context(device: u64) -> Option<u64> {
    let state = function!(Helper::PrimaryState, DRIVER, unsafe extern "C" fn(c_int, *mut u32, *mut c_int) -> Status);
    let retain = function!(Helper::RetainPrimary, DRIVER, unsafe extern "C" fn(*mut u64, c_int) -> Status);
    let release = function!(Helper::ReleasePrimary, DRIVER, unsafe extern "C" fn(c_int) -> Status);
    let (mut flags, mut is_active, mut context) = (0, 0, 0);
    // SAFETY: variables of this function's. The context is retained for a moment, while it is there anyhow.
    unsafe {
        if state(device as c_int, &mut flags, &mut is_active) != 0 || is_active == 0 {
            return None;
        }
        if retain(&mut context, device as c_int) != 0 {
            return None;
        }
        release(device as c_int);
    }
    Some(context)
}

/// The free bytes of the current context's device.
pub fn free_bytes() -> Option<u64> {
    let function = function!(Helper::FreeMemory, DRIVER, unsafe extern "C" fn(*mut u64, *mut u64) -> Status);
    let (mut free, mut total) = (0, 0);
    // SAFETY: as above.
    (unsafe { function(&mut free, &mut total) } == 0).then_some(free)
}

/// The UUID of a device of NVML.
pub fn nvml_uuid(device: u64) -> Option<[u8; 16]> {
    let function = function!(Helper::UuidText, NVML, unsafe extern "C" fn(u64, *mut c_char, u32) -> Status);
    let mut text = [0_u8; 96];
    // SAFETY: as above.
    if unsafe { function(device, text.as_mut_ptr().cast(), text.len() as u32) } != 0 {
        return None;
    }
    uuid_of_text(CStr::from_bytes_until_nul(&text).ok()?.to_bytes())
}

/// `GPU-` and 32 hexadecimal digits with dashes.
fn uuid_of_text(text: &[u8]) -> Option<[u8; 16]> {
    let digits = text.get(text.iter().position(|byte| *byte == b'-')? + 1..)?.iter().filter(|byte| **byte != b'-');
    let mut uuid = [0; 16];
    let mut count = 0;
    for digit in digits.filter_map(|byte| char::from(*byte).to_digit(16)) {
        let place = uuid.get_mut(count / 2)?;
        *place = *place << 4 | digit as u8;
        count += 1;
    }
    (count == 32).then_some(uuid)
}

#[cfg(test)]
mod tests {
    use super::uuid_of_text;

    #[test]
    fn uuids() {
        let uuid = uuid_of_text(b"GPU-00112233-4455-6677-8899-aabbccddeeff").unwrap();
        assert_eq!((uuid[0], uuid[1], uuid[15]), (0, 0x11, 0xff));
        assert!(uuid_of_text(b"GPU-0011").is_none() && uuid_of_text(b"none").is_none());
    }
}
