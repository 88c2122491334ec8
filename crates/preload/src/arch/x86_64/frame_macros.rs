//! What the frames that do not leave the assembler on the way in have in common, as macros of the assembler:
//! `fast` and `launch_frame` are made of them, and of those of `ring_macros`. Each says what it needs; a frame
//! that ends otherwise must undo what it has done.
//!
//! Limits: a function with more than 40 stack words gets wrong arguments, which nothing notices. No known function
//! has more than 35: `cudaEGLStreamProducerPresentFrame` takes a struct of 280 bytes by value.

/// Defines the macros, in front of what uses them. `cutap_head` is the gate, as in `thunks`, and the fields of
/// `FastFrame`, with the slot's address in r11. What is not recorded by this process leaves it immediately, in the
/// frame's first line of code. `cutap_arguments` brings the argument registers back.
macro_rules! frame_macros {
    () => {
        "
.macro cutap_head
  cmp dword ptr [rip + CUTAP_CONTROL + {recording}], {on}
  jne cutap_not_on
  cmp qword ptr [rip + CUTAP_FORK], {recorded}
  je 9f
  cmp dword ptr [rip + CUTAP_FORK], {here}
  jne cutap_frame // a forked child that nobody has noticed
  jmp [r11]
9: push rbp
.cfi_def_cfa_offset 16
.cfi_offset rbp, -16
  mov rbp, rsp
.cfi_def_cfa_register rbp
  push rdi
  push rsi
  push rdx
  push rcx
  push r8
  push r9
  push r11
  push rax
  sub rsp, 48
.endm
.macro cutap_arguments
  mov rdi, [rbp - 8]
  mov rsi, [rbp - 16]
  mov rdx, [rbp - 24]
  mov rcx, [rbp - 32]
  mov r8, [rbp - 40]
  mov r9, [rbp - 48]
  mov rax, [rbp - 64]
.endm
"
    };
}

/// The same for `cutap_open`, which opens a call, whose thread state is in rsi and whose chunk is in rdi: the head
/// comes to rcx, the first word of its record to edx, the second to the frame; rax, r8 and r9 are lost. Where anything
/// is not as usual it goes `otherwise`, with nothing done. `cutap_not_opened` takes it back, rax is lost. And for
/// `cutap_keep_thread_state`, which keeps in the frame what the way out needs; rax and rcx are lost.
macro_rules! open_macro {
    () => {
        "
.macro cutap_keep_thread_state
  mov [rbp - {bytes} + {thread_state}], rsi
  mov [rbp - {bytes} + {thread_state} + 8], rdi
  mov rax, [rip + cutap_tls@GOTTPOFF]
  mov rcx, [r11 + {plan}]
  mov [rbp - {bytes} + {thread}], rax
  mov [rbp - {bytes} + {thread} + 8], rcx
.endm
.macro cutap_open otherwise
  mov rax, [rip + CUTAP_CONTROL + {recording}] // and the number of the rules
  cmp byte ptr [rsi + {inside}], 0
  jne \\otherwise
  cmp rax, [rip + CUTAP_FORK + {on_word}]
  jne \\otherwise
  test byte ptr [r11 + {plan}], {unwanted}
  jnz \\otherwise
  mov rcx, [rdi + {head}]
  mov rdx, [rsi + {depth}]
  mov rax, rcx
  shr rax, 32 // the number of this call
  xor r8d, r8d
  test rdx, rdx
  jnz 5f
  // It has no parent: see `runtime::suppress`.
  mov r9, [rbp + 8]
  sub r9, [rip + CUTAP_QUIET]
  cmp r9, [rip + CUTAP_QUIET + 8]
  jb \\otherwise
  jmp 2f
5:
  // Its parent is the innermost open call; none that the stack has left is open.
  cmp rdx, {depths}
  jae \\otherwise
  lea r9, [rdx + 2 * rdx]
  lea r9, [rsi + 8 * r9 - 24]
  lea r8, [rbp + 16]
  sub r8, [r9 + {open_frame}]
  cmp r8, {one_stack}
  jb \\otherwise
  mov r8d, eax
  sub r8d, [r9 + {open_number}]
  lea r9d, [r8 - 1]
  cmp r9d, 0xfffe
  jae \\otherwise
  shl r8, 48
2: mov r9, [rbp + 8]
  shl r9, 16
  shr r9, 16
  or r8, r9
  mov [rbp - {bytes} + {word}], r8
  mov [rbp - {bytes} + {number}], rax
  // It is open before its record is there, so that a signal handler's call finds its parent.
  lea r8, [rdx + 2 * rdx]
  lea r8, [rsi + 8 * r8]
  lea r9, [rbp + 16]
  mov [r8 + {open_number}], eax
  mov eax, [r11 + {first}]
  mov [r8 + {open_frame}], r9
  mov qword ptr [r8 + {open_reported}], 0
  mov r9d, eax
  shr r9d, 13
  mov [r8 + {open_slot}], r9d
  mov [rbp - {bytes} + {thread_state} + 8], rdx
  inc rdx
  mov [rsi + {depth}], rdx
  mov edx, eax
.endm
.macro cutap_not_opened // handlers may have closed it: what they found was half theirs
  mov rax, [rbp - {bytes} + {thread_state} + 8]
  mov [rsi + {depth}], rax
.endm
"
    };
}

/// Ends what `frame_macros` began: another block may define them again.
macro_rules! end_of_frame_macros {
    () => {
        "
.purgem cutap_head
.purgem cutap_arguments
"
    };
}

pub(crate) use {end_of_frame_macros, frame_macros, open_macro};
