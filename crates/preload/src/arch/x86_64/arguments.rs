//! Where the argument registers of a call are kept, and taken from again, as macros of the assembler: frames that begin
//! with `Frame`'s fields share them. They must keep all registers that a function of the C or C++ ABI may take
//! arguments in.

/// Defines the macros, in front of what uses them. `cutap_keep_arguments` writes the registers to `at` from rsp, behind
/// them where the caller's stack arguments are, by rbp of a frame of one push; rax is lost. `cutap_give_arguments`
/// takes them back.
macro_rules! argument_macros {
    () => {
        "
.macro cutap_keep_arguments at
  mov [rsp + \\at], rdi
  mov [rsp + \\at + 8], rsi
  mov [rsp + \\at + 16], rdx
  mov [rsp + \\at + 24], rcx
  mov [rsp + \\at + 32], r8
  mov [rsp + \\at + 40], r9
  mov [rsp + \\at + 48], rax
  mov [rsp + \\at + 56], r10
  movaps [rsp + \\at + 64], xmm0
  movaps [rsp + \\at + 80], xmm1
  movaps [rsp + \\at + 96], xmm2
  movaps [rsp + \\at + 112], xmm3
  movaps [rsp + \\at + 128], xmm4
  movaps [rsp + \\at + 144], xmm5
  movaps [rsp + \\at + 160], xmm6
  movaps [rsp + \\at + 176], xmm7
  lea rax, [rbp + 16]
  mov [rsp + \\at + 192], rax
.endm
.macro cutap_give_arguments at
  mov rdi, [rsp + \\at]
  mov rsi, [rsp + \\at + 8]
  mov rdx, [rsp + \\at + 16]
  mov rcx, [rsp + \\at + 24]
  mov r8, [rsp + \\at + 32]
  mov r9, [rsp + \\at + 40]
  mov rax, [rsp + \\at + 48]
  mov r10, [rsp + \\at + 56]
  movaps xmm0, [rsp + \\at + 64]
  movaps xmm1, [rsp + \\at + 80]
  movaps xmm2, [rsp + \\at + 96]
  movaps xmm3, [rsp + \\at + 112]
  movaps xmm4, [rsp + \\at + 128]
  movaps xmm5, [rsp + \\at + 144]
  movaps xmm6, [rsp + \\at + 160]
  movaps xmm7, [rsp + \\at + 176]
.endm
"
    };
}

/// Takes them back, so that other files may have macros of these names.
macro_rules! end_of_argument_macros {
    () => {
        "
.purgem cutap_keep_arguments
.purgem cutap_give_arguments
"
    };
}

pub(crate) use {argument_macros, end_of_argument_macros};
