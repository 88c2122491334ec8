//! The code that a slot's address leads to. No code is made at run time: the array of thunks is fixed.
//!
//! A thunk puts the address of its slot into r11, which no caller keeps and no C or C++ function takes arguments
//! in. It jumps to the slot's entry: a gate, the frame, the first-call stub or the note of a C++ name. Nothing is
//! pushed there, so one FDE covers the array.
//!
//! A program may patch the entry of a function that it looked up (libucm of UCX, Detours, Frida). It overwrites up to
//! 14 bytes with a jump, and calls on through a copy of the instructions that stood there. So a thunk begins with
//! [`PROLOGUE`]: instructions that mean the same at any address, and that such a program knows from real functions.
//!
//! A gate stands before the frame of a function that is only recorded. It looks at two words at fixed places. Armed and
//! off, it jumps to the function immediately, unless later calls depend on the function. Else it continues with the
//! frame (this one, or `fast`), or it adds one to this thread's number of the slot and jumps to the function.
//!
//! The frame keeps every argument register, passes stack words on, and has unwind data all the way,
//! so that exceptions, longjmp, pthread_exit and debuggers pass through it. It keeps the stack aligned
//! for itself even where the caller did not.

use super::arguments::{argument_macros, end_of_argument_macros};
use crate::process::fork::{COUNT_WORD, RECORDED};
use crate::ring::counts::THUNKS;
use crate::slots::code::THUNK_BYTES;
use crate::slots::frame::{Frame, STACK_WORDS};
use crate::slots::plan::{STATE, UNWANTED};
use crate::slots::slot::{ENTRY, PLAN};
use core::arch::global_asm;
use core::mem::offset_of;
use cutap_wire::control::{Control, RECORDING_COUNT, RECORDING_ON};
use cutap_wire::counts::HEAD;

/// What each thunk begins with. The instructions end at the lengths of usual patches: 5, 12 and 14 bytes. They change
/// the flags and eight bytes below the stack. libucm knows the first two. It does not know `endbr64` or an address
/// relative to rip. The last two bytes are of the next instruction, `lea r11, [rip + ...]`.
pub const PROLOGUE: [u8; 16] = [
    0x48, 0x89, 0x44, 0x24, 0xf8, // mov [rsp - 8], rax
    0x48, 0x81, 0xec, 0, 0, 0, 0, // sub rsp, 0
    0x66, 0x90, // a nop
    0x4c, 0x8d,
];
unsafe extern "C" {
    pub fn cutap_thunks();
    pub fn cutap_frame();
    pub fn cutap_frame_called();
    pub fn cutap_gate();
    pub fn cutap_resolve();
    pub fn cutap_note();
    /// Calls `real(handle, name, version)` with a return address of `gate`, a `ret` instruction.
    fn cutap_call_through(handle: usize, name: *const u8, version: *const u8, gate: usize, real: usize) -> usize;
}
const _: () = assert!(THUNK_BYTES == 32);

/// A look-up that seems to come from the object in which `gate` lies.
///
/// # Safety
/// `real` is dlsym or dlvsym, `gate` a `ret` in an object that stays mapped.
pub unsafe fn call_through(real: usize, handle: usize, name: *const u8, version: *const u8, gate: usize) -> usize {
    // SAFETY: the caller's promise.
    unsafe { cutap_call_through(handle, name, version, gate, real) }
}

global_asm!(
    ".hidden cutap_thunks, cutap_frame, cutap_frame_called, cutap_not_on",
    ".hidden cutap_resolve, cutap_note, cutap_call_through",
    ".hidden cutap_before, cutap_after, cutap_bind, cutap_noted, cutap_counted, cutap_personality",
    ".hidden cutap_gate, CUTAP_CONTROL, CUTAP_SLOTS, CUTAP_FORK",
    argument_macros!(),
    ".globl cutap_thunks, cutap_gate, cutap_not_on, cutap_frame, cutap_frame_called",
    ".globl cutap_resolve, cutap_note, cutap_call_through",
    ".text",
    ".balign 64",
    ".type cutap_thunks,@function",
    "cutap_thunks:",
    ".cfi_startproc",
    ".set cutap_n, 0",
    ".rept {thunks}",
    // `PROLOGUE`
    "  .byte 0x48, 0x89, 0x44, 0x24, 0xf8, 0x48, 0x81, 0xec, 0, 0, 0, 0, 0x66, 0x90",
    "  lea r11, [rip + CUTAP_SLOTS + 64 * cutap_n]",
    "  jmp [r11 + {entry}]",
    "  .balign 32, 0xcc",
    "  .set cutap_n, cutap_n + 1",
    ".endr",
    ".cfi_endproc",
    ".size cutap_thunks, . - cutap_thunks",
    // ---- the gate: only r11 and the flags are its own
    ".type cutap_gate,@function",
    ".balign 32",
    "cutap_gate:",
    ".cfi_startproc",
    "  cmp dword ptr [rip + CUTAP_CONTROL + {recording}], {on}",
    "  jne cutap_not_on",
    "  cmp dword ptr [rip + CUTAP_FORK + 4], 0",
    "  je cutap_frame",
    "  jmp [r11]",
    ".cfi_endproc",
    ".size cutap_gate, . - cutap_gate",
    // Behind the comparison above: off, or counted: a number of this thread and slot, if it has one, and this is the
    // process that it belongs to.
    ".type cutap_not_on,@function",
    ".balign 64",
    "cutap_not_on:",
    ".cfi_startproc",
    "  ja 6f",
    // Off. A child that was not noticed yet may have been switched alone.
    "  cmp dword ptr [rip + CUTAP_FORK], {here}",
    "  jne cutap_frame",
    "  test byte ptr [r11 + {plan}], {state}",
    "  jnz cutap_frame",
    "  jmp [r11]",
    "6: push rax",
    ".cfi_adjust_cfa_offset 8",
    "  push rcx",
    ".cfi_adjust_cfa_offset 8",
    "  mov rcx, [rip + CUTAP_CONTROL + {recording}]", // and the number of the rules
    "  mov rax, [rip + cutap_counts@GOTTPOFF]",
    "  cmp rcx, [rip + CUTAP_FORK + {count_word}]",
    "  jne 3f",
    "  mov rax, fs:[rax]",
    "  test rax, rax",
    "  jz 3f",
    "  test byte ptr [r11 + {plan}], {unwanted}",
    "  jnz 4f",
    "  lea rcx, [rip + CUTAP_SLOTS]",
    "  neg rcx",
    "  add rcx, r11",
    "  shr ecx, 6",
    "  cmp ecx, [rax]",
    "  jae 3f",
    "  inc qword ptr [rax + 8*rcx + {head}]",
    "4: pop rcx",
    ".cfi_adjust_cfa_offset -8",
    "  pop rax",
    ".cfi_adjust_cfa_offset -8",
    "5: jmp [r11]",
    ".cfi_adjust_cfa_offset 16",
    "3: pop rcx",
    ".cfi_adjust_cfa_offset -8",
    "  pop rax",
    ".cfi_adjust_cfa_offset -8",
    "  cmp dword ptr [rip + CUTAP_CONTROL + {recording}], {count}",
    "  jne cutap_frame",
    "  cmp dword ptr [rip + CUTAP_FORK + 4], 0",
    "  jne 5b",
    "  jmp cutap_count_anyhow",
    ".cfi_endproc",
    ".size cutap_not_on, . - cutap_not_on",
    // ---- the frame: outgoing stack words, then Frame
    ".type cutap_frame,@function",
    "cutap_frame:",
    ".cfi_startproc",
    ".cfi_personality 0x1b, cutap_personality", // pc-relative: told when the frame is being left
    "  push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "  mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "  and rsp, -16",
    "  sub rsp, {frame} + {frame_bytes}",
    "  cutap_keep_arguments {frame}",
    "  mov rax, [rbp + 8]",
    "  mov [rsp + {frame} + {caller}], rax",
    "  lea rax, [rip + CUTAP_SLOTS]",
    "  sub r11, rax",
    "  shr r11, 6",
    "  mov [rsp + {frame} + {slot}], r11d",
    "  lea rdi, [rsp + {frame}]",
    "  call cutap_before",
    "  test eax, eax",
    "  jz 5f",
    // stack words
    "  mov rcx, [rsp + {frame} + {stack_words}]",
    "  mov rsi, [rsp + {frame} + {stack}]",
    "  cmp rcx, {most_stack_words}",
    "  jne 2f",
    ".irp at, 0, 32, 64, 96, 128, 160, 192, 224, 256, 288",
    "  movups xmm8, [rsi + \\at]",
    "  movups xmm9, [rsi + 16 + \\at]",
    "  movaps [rsp + \\at], xmm8",
    "  movaps [rsp + 16 + \\at], xmm9",
    ".endr",
    "  jmp 4f",
    "2: test rcx, rcx",
    "  jz 4f",
    "3: mov rax, [rsi + 8*rcx - 8]",
    "  mov [rsp + 8*rcx - 8], rax",
    "  dec rcx",
    "  jnz 3b",
    "4: cutap_give_arguments {frame}",
    "  call [rsp + {frame} + {target}]",
    "cutap_frame_called:",
    "  mov [rsp + {frame} + {result}], rax",
    "  mov [rsp + {frame} + {result} + 8], rdx",
    "  movaps [rsp + {frame} + {result_vectors}], xmm0",
    "  movaps [rsp + {frame} + {result_vectors} + 16], xmm1",
    "5: lea rdi, [rsp + {frame}]",
    "  call cutap_after",
    "  mov rax, [rsp + {frame} + {result}]",
    "  mov rdx, [rsp + {frame} + {result} + 8]",
    "  movaps xmm0, [rsp + {frame} + {result_vectors}]",
    "  movaps xmm1, [rsp + {frame} + {result_vectors} + 16]",
    "  leave",
    ".cfi_def_cfa rsp, 8",
    "  ret",
    ".cfi_endproc",
    ".size cutap_frame, . - cutap_frame",
    // ---- keeps all argument registers, asks a function for the target, jumps there
    ".macro cutap_ask_and_jump name, function",
    ".type \\name,@function",
    "\\name:",
    ".cfi_startproc",
    "  push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "  mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "  and rsp, -16",
    "  sub rsp, {frame_bytes}",
    "  cutap_keep_arguments 0",
    "  mov rax, [rbp + 8]",
    "  mov [rsp + {caller}], rax",
    "  lea rax, [rip + CUTAP_SLOTS]",
    "  sub r11, rax",
    "  shr r11, 6",
    "  mov [rsp + {slot}], r11d",
    "  mov rdi, rsp",
    "  call \\function",
    "  mov r11, rax",
    "  cutap_give_arguments 0",
    "  leave",
    ".cfi_def_cfa rsp, 8",
    "  jmp r11",
    ".cfi_endproc",
    ".size \\name, . - \\name",
    ".endm",
    "cutap_ask_and_jump cutap_resolve, cutap_bind",
    "cutap_ask_and_jump cutap_note, cutap_noted",
    "cutap_ask_and_jump cutap_count_anyhow, cutap_counted",
    // ---- rdi handle, rsi name, rdx version, rcx gate, r8 real
    ".type cutap_call_through,@function",
    "cutap_call_through:",
    ".cfi_startproc",
    "  lea rax, [rip + 6f]",
    "  push rax",
    ".cfi_adjust_cfa_offset 8",
    "  push rcx",
    ".cfi_adjust_cfa_offset 8",
    "  jmp r8",
    "6:",
    ".cfi_adjust_cfa_offset -16",
    "  ret",
    ".cfi_endproc",
    ".size cutap_call_through, . - cutap_call_through",
    end_of_argument_macros!(),
    thunks = const THUNKS,
    entry = const ENTRY,
    recording = const offset_of!(Control, recording),
    on = const RECORDING_ON,
    count = const RECORDING_COUNT,
    here = const RECORDED as u32,
    count_word = const COUNT_WORD,
    plan = const PLAN,
    unwanted = const UNWANTED,
    state = const STATE,
    head = const HEAD,
    frame = const 8 * STACK_WORDS,
    frame_bytes = const size_of::<Frame>(),
    most_stack_words = const STACK_WORDS,
    stack = const offset_of!(Frame, stack),
    caller = const offset_of!(Frame, caller),
    target = const offset_of!(Frame, target),
    slot = const offset_of!(Frame, slot),
    stack_words = const offset_of!(Frame, stack_words),
    result = const offset_of!(Frame, result),
    result_vectors = const offset_of!(Frame, result_vectors),
);
