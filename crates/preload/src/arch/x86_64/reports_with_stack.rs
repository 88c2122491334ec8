//! What a runtime reports, where stacks are kept: the registers that its function keeps for its own caller are put
//! aside in assembler before anything of ours changes them. Tables of other runs lead to `callbacks` directly.

use core::arch::global_asm;

global_asm!(
    ".hidden cutap_on_stacked_callback, cutap_on_callback_with",
    ".globl cutap_on_stacked_callback",
    ".text",
    ".type cutap_on_stacked_callback,@function",
    "cutap_on_stacked_callback:", // edi id, rsi record, edx instance
    ".cfi_startproc",
    "  lea rax, [rsp + 8]",
    "  mov rcx, [rsp]",
    "  sub rsp, 72",
    ".cfi_adjust_cfa_offset 72",
    "  mov [rsp], rbx",
    "  mov [rsp + 8], rbp",
    "  mov [rsp + 16], r12",
    "  mov [rsp + 24], r13",
    "  mov [rsp + 32], r14",
    "  mov [rsp + 40], r15",
    "  mov [rsp + 48], rax",
    "  mov [rsp + 56], rcx",
    "  mov rcx, rsp",
    "  call cutap_on_callback_with",
    "  add rsp, 72",
    ".cfi_adjust_cfa_offset -72",
    "  ret",
    ".cfi_endproc",
    ".size cutap_on_stacked_callback, . - cutap_on_stacked_callback",
);
