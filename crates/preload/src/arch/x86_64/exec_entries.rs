//! The functions that start a program, as this library exports them. Each keeps its arguments, asks `call` and jumps to
//! the function behind cutap, or returns what `call` has done.

use crate::exec::call::{COUNT, call};
use core::arch::naked_asm;

macro_rules! entries {
    ($($number:literal $name:ident)*) => {
        /// Where they are.
        pub fn addresses() -> [usize; COUNT] {
            [$($name as *const () as usize),*]
        }
        $(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "endbr64",
                "mov eax, {number}",
                "jmp {common}",
                ".cfi_endproc",
                number = const $number,
                common = sym common,
            )
        }
    )*};
}

// The order of `call::FUNCTIONS`.
entries! {
    0 execve
    1 execv
    2 execvpe
    3 execvp
    4 fexecve
    5 posix_spawn
    6 posix_spawnp
    7 execl
    8 execlp
    9 execle
    10 execveat
}

/// The number of the function is in eax: they take no number of vector registers that matters.
#[unsafe(naked)]
unsafe extern "C" fn common() {
    naked_asm!(
        ".cfi_startproc",
        "push r9",
        ".cfi_adjust_cfa_offset 8",
        "push r8",
        ".cfi_adjust_cfa_offset 8",
        "push rcx",
        ".cfi_adjust_cfa_offset 8",
        "push rdx",
        ".cfi_adjust_cfa_offset 8",
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "mov edi, eax",
        "lea rsi, [rsp + 8]",
        "lea rdx, [rsp + 64]",
        "call {call}",
        "mov r11, rax",
        "mov rax, rdx",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "pop rdi",
        ".cfi_adjust_cfa_offset -8",
        "pop rsi",
        ".cfi_adjust_cfa_offset -8",
        "pop rdx",
        ".cfi_adjust_cfa_offset -8",
        "pop rcx",
        ".cfi_adjust_cfa_offset -8",
        "pop r8",
        ".cfi_adjust_cfa_offset -8",
        "pop r9",
        ".cfi_adjust_cfa_offset -8",
        "test r11, r11",
        "jz 2f",
        "xor eax, eax",
        "jmp r11",
        "2: ret",
        ".cfi_endproc",
        call = sym call,
    )
}
