//! The hook library behind `--limit-memory`. It counts the memory that a process takes of each device, and answers a
//! call that would take too much. All processes of the run count in one file ([`cutap_wire::accounts`]). Nothing is
//! parsed in the target, and no function is named here: both are in `RUN/limit` ([`cutap_wire::limited`]). It has no
//! heap, lock or thread.
//!
//! The shared library is built by
//!
//! ```text
//! cargo rustc -p cutap-limit --release --lib --crate-type cdylib --features inject
//! ```
#![no_std]

mod account;
mod arrays;
mod code;
mod config;
mod contexts;
mod device;
mod driver;
mod graphs;
mod hook;
mod ledger;
mod linear;
mod physical;
mod pools;
mod process;
mod rules;
mod settle;
mod tells;
mod tells_use;

use core::ffi::c_int;
use core::sync::atomic::Ordering;
use cutap_hook::contract::{Host, Request};

/// The contract that this library was written for.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the name that cutap looks for")]
pub static cutap_hook_version: u32 = cutap_hook::contract::VERSION;

/// Asks for all functions that have a rule. 0: done.
///
/// # Safety
/// `host` is that of cutap, and lives as long as the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutap_hook_init(host: *const Host) -> c_int {
    // SAFETY: the caller's promise.
    let Some(host) = (unsafe { host.as_ref() }) else { return 1 };
    hook::set_host(host);
    let Some(config) = config::map(host) else { return 1 };
    if !process::begin() || !ledger::begin() {
        return 1;
    }
    for row in config.rows {
        let request = Request {
            size: size_of::<Request>() as u32,
            layers: row.layers,
            library: core::ptr::null(),
            name: row.name.as_ptr().cast(),
            before: Some(rules::before),
            after: Some(rules::after),
            on_resolve: None,
            user: core::ptr::from_ref(row).cast_mut().cast(),
        };
        // SAFETY: the host's function. The row, and so its name, stays mapped.
        if unsafe { (host.add)(&request) } != cutap_hook::contract::OK {
            config.head.uncounted.functions.fetch_add(1, Ordering::Relaxed);
        }
    }
    0
}

/// Never reached, because nothing here panics. It must not end the program.
#[cfg(feature = "inject")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {
        // SAFETY: it waits for a signal.
        unsafe { libc::pause() };
    }
}
