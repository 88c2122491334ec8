//! What the shared library exports, its constructor, and what a panic would do. Six names, vfork
//! (`arch/x86_64/vfork.rs`) and those that start programs (`arch/x86_64/exec_entries.rs`), and no more.
//! No CUDA name, so weak references and RTLD_DEFAULT look-ups stay as without us. They are unversioned,
//! which satisfies references to every version of them.

use super::{begin, sandbox};
use crate::arch::{exec_entries, vfork};
use crate::loader::forks;
use crate::loader::real::{self, EXPORTED, PRCTL, REPLACED, SYSCALL, ask_once, next_dlsym, next_dlvsym, place_of_next};
use crate::routes::dlsym::{self, describe};
use crate::slots::extension;
use crate::{exec, submit};
use core::arch::naked_asm;
use core::ffi::c_int;

/// What a look-up is answered; 0: nothing, it jumps on. The first one may come before the constructor.
///
/// # Safety
/// Arguments of a request of the program's.
unsafe extern "C" fn intercept(handle: usize, name: *const u8, version: *const u8, caller: usize) -> usize {
    real::find_next();
    if name.is_null() || !begin::running() {
        return 0;
    }
    // SAFETY: the caller's promise.
    unsafe { dlsym::intercept(handle, name, version, caller) }
}

/// dlsym(handle, name): asks first, jumps on with the caller's return address in place if there is
/// nothing to say.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlsym() {
    naked_asm!(
        ".cfi_startproc",
        "endbr64",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "xor edx, edx",
        "mov rcx, [rsp + 24]",
        "call {ask}",
        "test rax, rax",
        "jnz 2f",
        ".cfi_remember_state",
        "call {next}",
        "mov r11, rax",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "pop rsi",
        ".cfi_adjust_cfa_offset -8",
        "pop rdi",
        ".cfi_adjust_cfa_offset -8",
        "xor eax, eax",
        "test r11, r11",
        "jz 3f",
        "jmp r11",
        "2:",
        ".cfi_restore_state",
        "add rsp, 24",
        ".cfi_adjust_cfa_offset -24",
        "3: ret",
        ".cfi_endproc",
        ask = sym intercept,
        next = sym next_dlsym,
    )
}

/// dlvsym(handle, name, version), in the same way.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlvsym() {
    naked_asm!(
        ".cfi_startproc",
        "endbr64",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "push rdx",
        ".cfi_adjust_cfa_offset 8",
        "mov rcx, [rsp + 24]",
        "call {ask}",
        "test rax, rax",
        "jnz 2f",
        ".cfi_remember_state",
        "call {next}",
        "mov r11, rax",
        "pop rdx",
        ".cfi_adjust_cfa_offset -8",
        "pop rsi",
        ".cfi_adjust_cfa_offset -8",
        "pop rdi",
        ".cfi_adjust_cfa_offset -8",
        "xor eax, eax",
        "test r11, r11",
        "jz 3f",
        "jmp r11",
        "2:",
        ".cfi_restore_state",
        "add rsp, 24",
        ".cfi_adjust_cfa_offset -24",
        "3: ret",
        ".cfi_endproc",
        ask = sym intercept,
        next = sym next_dlvsym,
    )
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

/// prctl(option, ...): jumps on, but for the two options that forbid something to the process.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prctl() {
    naked_asm!(
        ".cfi_startproc",
        "endbr64",
        "cmp edi, 22",
        "je {forbids}",
        "cmp edi, 26",
        "je {forbids}",
        "mov r11, [rip + {replaced} + {next}]",
        "test r11, r11",
        "jz {forbids}",
        "jmp r11",
        ".cfi_endproc",
        forbids = sym prctl_forbids,
        replaced = sym REPLACED,
        next = const place_of_next(PRCTL),
    )
}

/// syscall(number, ...): the same for seccomp and prctl. A seventh argument is on the stack.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall() {
    naked_asm!(
        ".cfi_startproc",
        "endbr64",
        "cmp edi, 317",
        "je {forbids}",
        "cmp edi, 157",
        "je {forbids}",
        "mov r11, [rip + {replaced} + {next}]",
        "test r11, r11",
        "jz 2f",
        "3: jmp r11",
        "2: push rdi",
        ".cfi_adjust_cfa_offset 8",
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "push rdx",
        ".cfi_adjust_cfa_offset 8",
        "push rcx",
        ".cfi_adjust_cfa_offset 8",
        "push r8",
        ".cfi_adjust_cfa_offset 8",
        "push r9",
        ".cfi_adjust_cfa_offset 8",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "call {find}",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "pop r9",
        ".cfi_adjust_cfa_offset -8",
        "pop r8",
        ".cfi_adjust_cfa_offset -8",
        "pop rcx",
        ".cfi_adjust_cfa_offset -8",
        "pop rdx",
        ".cfi_adjust_cfa_offset -8",
        "pop rsi",
        ".cfi_adjust_cfa_offset -8",
        "pop rdi",
        ".cfi_adjust_cfa_offset -8",
        "mov r11, rax",
        "mov rax, -1",
        "test r11, r11",
        "jnz 3b",
        "ret",
        ".cfi_endproc",
        forbids = sym syscall_forbids,
        find = sym next_syscall,
        replaced = sym REPLACED,
        next = const place_of_next(SYSCALL),
    )
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
    real::set_exports(own_exports());
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

/// The addresses that a look-up of one of the names of cutap gives, in the order of `REPLACED`.
fn own_exports() -> [usize; EXPORTED] {
    [
        dlsym as *const () as usize,
        dlvsym as *const () as usize,
        dladdr as *const () as usize,
        dladdr1 as *const () as usize,
        prctl as *const () as usize,
        syscall as *const () as usize,
    ]
}

/// Never reached: the release library is checked to hold no panic. It must not end the program.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {
        crate::sys::sleep_us(1_000_000);
    }
}
