//! The way to the frame of a function whose callers' stacks are kept: the registers that a function keeps for its
//! caller are put aside, for code that is compiled has changed them by the time that somebody asks. No other call comes
//! through here, so that none pays for it.

use core::arch::global_asm;

unsafe extern "C" {
    pub fn cutap_stacked();
}

global_asm!(
    ".text",
    ".hidden cutap_stacked, cutap_frame, cutap_aside",
    ".globl cutap_stacked",
    ".type cutap_stacked,@function",
    "cutap_stacked:",
    ".cfi_startproc",
    "  push rax",
    ".cfi_adjust_cfa_offset 8",
    "  mov rax, [rip + cutap_aside@GOTTPOFF]",
    "  mov fs:[rax], rsp",
    "  mov fs:[rax + 8], rbx",
    "  mov fs:[rax + 16], r12",
    "  mov fs:[rax + 24], r13",
    "  mov fs:[rax + 32], r14",
    "  mov fs:[rax + 40], r15",
    "  pop rax",
    ".cfi_adjust_cfa_offset -8",
    "  jmp cutap_frame",
    ".cfi_endproc",
    ".size cutap_stacked, . - cutap_stacked",
);
