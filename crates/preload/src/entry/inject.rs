//! What the shared library exports, its constructor, and what a panic would do. Six names, vfork
//! (`arch::vfork`), those that start programs (`arch::exec_entries`), three for GPU time, three for NVTX, and no
//! more.
//! No CUDA name, so weak references and RTLD_DEFAULT look-ups stay as without us. They are unversioned,
//! which satisfies references to every version of them.

use super::{begin, sandbox};
use crate::arch::exports::exports;
use crate::arch::{exec_entries, vfork};
use crate::loader::forks;
use crate::loader::real::{self, PRCTL, SYSCALL, ask_once};
use crate::nvtx::attach::{GetTable, INITIALIZER, attach, pass_on, pass_on_extension};
use crate::nvtx::looked_up_tool;
use crate::nvtx::payload_extension::{self, Extension};
use crate::process::injection;
use crate::ring::rows;
use crate::routes::dlsym::{self, describe};
use crate::slots::extension;
use crate::{exec, submit};
use core::ffi::{CStr, c_int, c_void};

/// What a look-up is answered; 0: nothing, it jumps on. The first one may come before the constructor.
///
/// # Safety
/// Arguments of a request of the program's.
unsafe extern "C" fn look_up(handle: usize, name: *const u8, version: *const u8, caller: usize) -> usize {
    real::find_next();
    if name.is_null() || !begin::running() {
        return 0;
    }
    // SAFETY: the caller's promise.
    unsafe { dlsym::intercept(handle, name, version, caller) }
}

exports! {
    look_up: look_up, prctl: prctl_forbids, syscall: syscall_forbids, next_syscall: next_syscall,
    open: crate::routes::dlopen::jump
}

/// dladdr(address, info).
///
/// # Safety
/// That of dladdr.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dladdr(address: usize, info: usize) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { describe(address, info, 0, 0, 2) as c_int }
}

/// dladdr1(address, info, extra, flags).
///
/// # Safety
/// That of dladdr1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dladdr1(address: usize, info: usize, extra: usize, flags: usize) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { describe(address, info, extra, flags, 3) as c_int }
}

/// A row of GPU time of this kind, for the injection (`crates/gpu-time`).
///
/// # Safety
/// `words` are `count` words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutap_gpu_row(sub_kind: u32, words: *const u64, count: u32) {
    if begin::running() && !words.is_null() {
        // SAFETY: the caller's promise.
        rows::append(sub_kind as u8, unsafe { core::slice::from_raw_parts(words, count as usize) });
    }
}

/// The id of a name that rows have from now on; 0: it was not kept.
///
/// # Safety
/// `name` is `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutap_gpu_name(name: *const u8, length: u32) -> u32 {
    if !begin::running() || name.is_null() {
        return 0;
    }
    // SAFETY: the caller's promise.
    rows::name(unsafe { core::slice::from_raw_parts(name, length as usize) })
}

/// Takes the function by which the injection steps aside before the program profiles, unless that is NULL, and says
/// whether rows are wanted now: one of `wire::rows::wanted`.
#[unsafe(no_mangle)]
pub extern "C" fn cutap_gpu_wanted(step_aside: Option<unsafe extern "C" fn(u32)>) -> u32 {
    if !begin::running() {
        return 0;
    }
    if let Some(function) = step_aside {
        injection::attach(function);
    }
    injection::wanted_state()
}

/// What a copy of NVTX calls first: it has loaded this library again, as the one that a variable names.
///
/// # Safety
/// `get` is a function of the copy.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name that NVTX looks for")]
pub unsafe extern "C" fn InitializeInjectionNvtx2(get: GetTable) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { initialize(get, INITIALIZER) }
}

/// The same for the library libnvToolsExt.
///
/// # Safety
/// As `InitializeInjectionNvtx2`.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name that NVTX looks for")]
pub unsafe extern "C" fn InitializeInjectionNvtx(get: GetTable) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { initialize(get, c"InitializeInjectionNvtx") }
}

/// The same for extensions of NVTX. cutap has functions for payloads.
///
/// # Safety
/// `module` is the description of an extension that a copy of NVTX gives.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name that NVTX looks for")]
pub unsafe extern "C" fn InitializeInjectionNvtxExtension(module: *const Extension) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        match begin::running() {
            true => payload_extension::attach(module),
            false => pass_on_extension(module.cast::<c_void>()),
        }
    }
}

/// Where nothing is recorded, the other tool has the copy alone.
unsafe fn initialize(get: GetTable, initializer: &CStr) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        match begin::running() {
            true => attach(get, initializer),
            false => pass_on(get as *const c_void, initializer),
        }
    }
}

extern "C" fn next_syscall() -> usize {
    real::find_next();
    real::next(SYSCALL)
}

/// prctl with a frame: it may forbid something, or the real one is not known yet.
unsafe extern "C" fn prctl_forbids(option: usize, a: usize, b: usize, c: usize, d: usize) -> c_int {
    real::find_next();
    let real = real::next(PRCTL);
    if real == 0 {
        return -1;
    }
    let attempt = sandbox::prctl(option, a, b);
    // SAFETY: libc's function of this name, with the program's arguments.
    let result = unsafe { core::mem::transmute::<usize, Variadic<c_int>>(real)(option, a, b, c, d) };
    attempt.iter().for_each(|attempt| sandbox::after(attempt, result == -1));
    result
}

/// As `prctl_forbids`, for syscall. None of the two that it is for takes more arguments.
unsafe extern "C" fn syscall_forbids(number: usize, a: usize, b: usize, c: usize, d: usize, e: usize) -> isize {
    let real = next_syscall();
    if real == 0 {
        return -1;
    }
    let attempt = sandbox::syscall(number, a, b, c);
    // SAFETY: as above.
    let result = unsafe { core::mem::transmute::<usize, Variadic<isize>>(real)(number, a, b, c, d, e, 0usize) };
    attempt.iter().for_each(|attempt| sandbox::after(attempt, result == -1));
    result
}

type Variadic<R> = unsafe extern "C" fn(usize, ...) -> R;

/// What is passed holds under glibc alone (`entry/other_libc.rs`).
extern "C" fn constructor(_argc: c_int, _argv: *const *const u8, environment: *const *const u8) {
    let initializers: [unsafe extern "C" fn(GetTable) -> c_int; 2] =
        [InitializeInjectionNvtx2, InitializeInjectionNvtx];
    looked_up_tool::set_entries(initializers.map(|function| function as usize));
    exec::set_entries(exec_entries::addresses());
    exec::find_next();
    exec::vfork::set_entry(vfork::vfork as *const () as usize);
    extension::extend(&submit::LAYER);
    begin::begin(environment);
    if begin::running() {
        ask_once();
    }
    forks::watch();
}

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn(c_int, *const *const u8, *const *const u8) = constructor;

/// One last look: what was opened after the last look-up is listed. A process that does not return
/// from main has no such look, and nothing else happens here.
extern "C" fn destructor() {
    crate::rewrite::notice::last();
    if crate::process::run::is_running() {
        crate::slots::patched::look_at_all();
    }
}

#[used]
#[unsafe(link_section = ".fini_array")]
static DESTRUCTOR: extern "C" fn() = destructor;

/// Never reached: the release library is checked to hold no panic. It must not end the program.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {
        crate::sys::sleep_us(1_000_000);
    }
}
