//! The hook library behind `--inject`. Its rules are rows of a file in the run directory ([`cutap_wire::injected`]),
//! which it maps when the process starts. So nothing is parsed in the target. It has no heap, lock or thread.
//!
//! The shared library is built by
//!
//! ```text
//! cargo rustc -p cutap-inject --release --lib --crate-type cdylib --features inject
//! ```
#![no_std]

mod act;
mod conditions;
mod context;
mod faults;
mod functions;
mod sites;
mod table;
mod wait;

use core::ffi::c_int;
use cutap_hook::contract::{Host, Request};

/// The contract that this library was written for.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the name that cutap looks for")]
pub static cutap_hook_version: u32 = cutap_hook::contract::VERSION;

/// Asks for the functions of all armed patterns. 0: done.
///
/// # Safety
/// `host` is that of cutap, and lives as long as the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutap_hook_init(host: *const Host) -> c_int {
    // SAFETY: the caller's promise.
    let Some(host) = (unsafe { host.as_ref() }) else { return 1 };
    // SAFETY: the caller's promise.
    let Some(own) = (unsafe { cutap_hook::own::OwnHost::of(host) }) else { return 1 };
    act::set_host(own);
    // SAFETY: the caller's promise.
    let Some(file) = (unsafe { table::map(host) }) else { return 1 };
    for armed in file.armed() {
        let request = Request {
            size: size_of::<Request>() as u32,
            layers: armed.layers,
            library: core::ptr::null(),
            name: armed.name.as_ptr().cast(),
            before: Some(act::before),
            after: Some(act::after),
            on_resolve: None,
            user: core::ptr::from_ref(armed).cast_mut().cast(),
        };
        // What there is no place for is counted by cutap. SAFETY: the host's function; the pattern stays mapped.
        unsafe { (host.add)(&request) };
    }
    0
}

/// Never reached, because nothing here panics. It must not end the program.
#[cfg(feature = "inject")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {
        wait::sleep(1_000_000_000);
    }
}
