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
mod table;

use core::ffi::c_int;
use core::sync::atomic::Ordering;
use cutap_hook::contract::{Host, Request};

/// The contract that this library was written for.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the name that cutap looks for")]
pub static cutap_hook_version: u32 = cutap_hook::contract::VERSION;

/// Asks for the functions of all rules. 0: done.
///
/// # Safety
/// `host` is that of cutap, and lives as long as the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutap_hook_init(host: *const Host) -> c_int {
    // SAFETY: the caller's promise.
    let Some(host) = (unsafe { host.as_ref() }) else { return 1 };
    act::set_host(host);
    // SAFETY: the caller's promise.
    let Some(rows) = (unsafe { table::map(host) }) else { return 1 };
    for row in rows {
        let request = Request {
            size: size_of::<Request>() as u32,
            layers: row.layers,
            library: core::ptr::null(),
            name: row.name.as_ptr().cast(),
            before: Some(act::before),
            after: Some(act::after),
            on_resolve: None,
            user: core::ptr::from_ref(row).cast_mut().cast(),
        };
        // SAFETY: the host's function. The row, and so its name, stays mapped.
        if unsafe { (host.add)(&request) } != cutap_hook::contract::OK {
            table::counter(row).refused.fetch_add(1, Ordering::Relaxed);
        }
    }
    0
}

/// Never reached, because nothing here panics. It must not end the program.
#[cfg(feature = "inject")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {
        act::sleep(1_000_000_000);
    }
}
