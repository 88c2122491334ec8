//! Which kernel a launch launches, when its hooks ask. A runtime's report of the launch has the name: that is all there
//! is for a linked-in runtime, and for the hooks behind a bound launch. Before a bound one its runtime is asked, by the
//! function that is about to be launched; of a driver's function the driver.
//!
//! What is asked of a runtime is nobody's call: no hook, no record, and a question that fails does not change the last
//! error.

use super::chain::{Chain, Doing, Home};
use super::errors;
use super::exported::{all_exported, find};
use super::functions::Info;
use super::parameters::{index, read};
use crate::capture::handles;
use crate::runtime::callback_record;
use core::ffi::{CStr, c_char, c_void};
use cutap_calls::{INVALID_DEVICE_FUNCTION, Layer, Role, function_with, soname_of};
use cutap_hook::contract::{Call, OK, RUNTIME};

/// The host's function.
///
/// # Safety
/// The contract's.
pub unsafe extern "C" fn kernel(call: *const Call) -> *const c_char {
    // SAFETY: the hook's own call.
    let chain = unsafe { &*call.cast::<Chain>() };
    let Some(info) = chain.info else { return core::ptr::null() };
    if let Home::Parameters(_, name) = chain.home {
        return named(chain, name);
    }
    // SAFETY: as above.
    unsafe {
        if info.function.layer != RUNTIME {
            return of_a_handle(argument(call, c"f"));
        }
        let launch = info.name.strip_prefix(b"__").unwrap_or(info.name);
        if !callback_record::is_launch(launch) {
            return core::ptr::null();
        }
        let name = named(chain, (*chain.thread).reported_kernel(chain.at));
        if !name.is_null() {
            return name;
        }
        let function = argument(call, c"func") | argument(call, c"kernel");
        if handles::is_kernel(function) { of_a_handle(function) } else { of_a_function(chain, info, function) }
    }
}

/// A name that a runtime reported. Before 12.9 one that launches what is no kernel reports what lay on the stack, often
/// the name of the launch before.
fn named(chain: &Chain, name: *const u8) -> *const c_char {
    let none =
        chain.doing == Doing::After && !chain.is_answered() && chain.returned_now == u64::from(INVALID_DEVICE_FUNCTION);
    if none || !handles::is_name(name) { core::ptr::null() } else { name.cast() }
}

/// An argument of this name, 0 if there is none.
///
/// # Safety
/// The hook's own call.
unsafe fn argument(call: *const Call, name: &CStr) -> u64 {
    let mut value = 0u64;
    // SAFETY: the caller's promise, and a variable of ours.
    unsafe {
        let n = index((*call).function, name.as_ptr());
        if n < 0 || read(call, n, (&raw mut value).cast(), 8) != OK { 0 } else { value }
    }
}

type Asks = unsafe extern "C" fn(*mut *const c_void, u64) -> u32;
type Error = unsafe extern "C" fn() -> u32;

/// The kernel of a function of the program's, asked of the shared runtime that is about to launch it. From 12.3 on it
/// tells the name, before that the driver's handle.
///
/// # Safety
/// A chain whose hook is running.
unsafe fn of_a_function(chain: &Chain, info: &Info, function: u64) -> *const c_char {
    const NAMES: [&[u8]; 4] = [
        function_with(Role::NameOfStub).as_bytes(),
        function_with(Role::FunctionOfStub).as_bytes(),
        function_with(Role::PeeksLastError).as_bytes(),
        function_with(Role::ForgetsLastError).as_bytes(),
    ];
    let [name, handle, peek, forget] = all_exported(info.object, NAMES);
    let query = if name != 0 { name } else { handle };
    if function == 0 || query == 0 || peek == 0 || forget == 0 {
        return core::ptr::null();
    }
    let mut name_or_handle: *const c_void = core::ptr::null();
    // SAFETY: this thread's own entry; the runtime's functions of these names.
    unsafe {
        let (query, peek, forget) = (
            core::mem::transmute::<usize, Asks>(query),
            core::mem::transmute::<usize, Error>(peek),
            core::mem::transmute::<usize, Error>(forget),
        );
        (*chain.thread).name_query = chain.at;
        let pending = peek();
        let failed = query(&mut name_or_handle, function);
        if failed != 0 {
            name_or_handle = core::ptr::null();
            match pending {
                0 => drop(forget()),
                _ => errors::hide(&mut *chain.thread, info.object, pending, failed),
            }
        }
        (*chain.thread).name_query = 0;
        if name != 0 { name_or_handle.cast() } else { of_a_handle(name_or_handle as u64) }
    }
}

/// The kernel of a driver's handle: asked of the driver, past all hooks.
///
/// # Safety
/// One that the program is about to launch, or 0.
unsafe fn of_a_handle(handle: u64) -> *const c_char {
    if handle == 0 {
        return core::ptr::null();
    }
    const OF_KERNEL: &[u8] = function_with(Role::NameOfKernel).as_bytes();
    const OF_FUNCTION: &[u8] = function_with(Role::NameOfFunction).as_bytes();
    let names = match handles::is_kernel(handle) {
        true => [OF_KERNEL, OF_FUNCTION],
        false => [OF_FUNCTION, OF_KERNEL],
    };
    for name in names {
        let at = find(Some(soname_of(Layer::DRIVER).as_bytes()), None, name) as usize;
        if at == 0 {
            continue;
        }
        let mut text: *const c_void = core::ptr::null();
        // SAFETY: the driver's function of that name, with a handle that the program is about to launch.
        if unsafe { core::mem::transmute::<usize, Asks>(at)(&mut text, handle) } == 0 {
            return text.cast();
        }
    }
    core::ptr::null()
}
