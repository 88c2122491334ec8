//! The frame of the commonest calls: up to six integer arguments, nothing on the stack, nothing to keep but words and
//! a few small outputs. The first word of its enter records is `Slot::first`, which `arch::frames` computes. It does
//! what `call` and `ring::record` do for all calls, in the same order and to the same ring, without leaving the
//! assembler.
//!
//! It only ever continues where all is as usual. Before the call, anything else leads to the common frame with nothing
//! changed; behind it, to `cutap_fast_after`. It never touches a vector register of an argument, r10 or the caller's
//! stack words, so that only one thing is believed of the function: that it takes no arguments on the stack. Of an
//! unknown function nothing is believed: its form of the frame passes as many stack words on as the common
//! one. It must agree with `wire::ring` and `ring::{record, reserve}`.

use super::frame_macros::{end_of_frame_macros, frame_macros, open_macro};
use super::ring_macros::{end_of_ring_macros, output_macro, ring_macros};
use crate::process::fork::{ON_WORD, RECORDED};
use crate::ring::record;
use crate::ring::thread_state::{DEPTH, ONE_STACK, OpenCall, ThreadState};
use crate::slots::fast_frame::{self, PASSED};
use crate::slots::plan::{LENGTH_AT, ONE_OUTPUT, OUTPUT_BITS, OUTPUTS, UNWANTED};
use crate::slots::slot::{FIRST, PLAN};
use crate::sys::stack;
use core::arch::global_asm;
use core::mem::offset_of;
use cutap_wire::control::{Control, RECORDING_ON};
use cutap_wire::record::{COMMITTED, OUTPUT_LEN, OUTPUT_WORD, first_word, kind};
use cutap_wire::ring::{AHEAD, ChunkHeader, ChunkWriter};

unsafe extern "C" {
    fn cutap_fast_0();
    fn cutap_fast_1();
    fn cutap_fast_2();
    fn cutap_fast_3();
    fn cutap_fast_4();
    fn cutap_fast_5();
    fn cutap_fast_6();
    fn cutap_fast_unknown();
}

/// The frame for functions of so many words.
pub fn frame(words: usize) -> Option<usize> {
    let frames: [unsafe extern "C" fn(); 7] =
        [cutap_fast_0, cutap_fast_1, cutap_fast_2, cutap_fast_3, cutap_fast_4, cutap_fast_5, cutap_fast_6];
    frames.get(words).map(|frame| *frame as *const () as usize)
}

/// The frame for functions of which nothing is known: six words are kept.
pub fn unknown() -> usize {
    cutap_fast_unknown as *const () as usize
}

const _: () = assert!(PASSED == 320);

const WRITER: usize = offset_of!(ThreadState, writer);
const OPEN: usize = offset_of!(ThreadState, open);
const _: () = assert!(size_of::<OpenCall>() == 24);

global_asm!(
    ".hidden cutap_fast_0, cutap_fast_1, cutap_fast_2, cutap_fast_3, cutap_fast_4, cutap_fast_5, cutap_fast_6",
    ".hidden cutap_fast_unknown, cutap_fast_unknown_personality, cutap_fast_after, cutap_fast_personality",
    ".hidden CUTAP_CONTROL, CUTAP_FORK, CUTAP_QUIET",
    ".hidden cutap_frame, cutap_not_on, cutap_tls",
    ".text",
    ring_macros!(),
    output_macro!(),
    frame_macros!(),
    open_macro!(),
    ".macro cutap_fast name, n, passed, personality",
    ".globl \\name",
    ".type \\name,@function",
    ".balign 64",
    "\\name:",
    ".cfi_startproc",
    ".cfi_personality 0x1b, \\personality",
    "  cutap_head",
    "  cutap_thread_state 7f",
    ".if \\passed",
    // A stack may end behind the words: they must lie in one page.
    "  lea rax, [rbp + 16]",
    "  and eax, 4095",
    "  cmp eax, 4096 - \\passed",
    "  ja 7f",
    ".endif",
    "  cutap_open 7f",
    "  cutap_reserve 8*\\n+16, 0x100000000+8*\\n+16, 0, rbp+16, 6f",
    "  cutap_keep_thread_state",
    "  mov rax, [rsp + {word}]",
    "  mov [r8 + 8], rax",
    ".irp register, 0, 1, 2, 3, 4, 5",
    "  .if \\register < \\n",
    "  mov rax, [rbp - 8 - 8 * \\register]",
    "  mov [r8 + 16 + 8 * \\register], rax",
    "  .endif",
    ".endr",
    "  cutap_commit",
    ".if \\passed",
    "  sub rsp, \\passed",
    // The first are the likeliest to be arguments that were just written, one by one.
    ".irp at, 0, 8, 16, 24, 32, 40, 48, 56",
    "  mov rax, [rbp + 16 + \\at]",
    "  mov [rsp + \\at], rax",
    ".endr",
    ".irp at, 64, 96, 128, 160, 192, 224, 256, 288",
    "  movups xmm8, [rbp + 16 + \\at]",
    "  movups xmm9, [rbp + 32 + \\at]",
    "  movups [rsp + \\at], xmm8",
    "  movups [rsp + 16 + \\at], xmm9",
    ".endr",
    ".endif",
    "  cutap_arguments",
    "  call [r11]",
    ".if \\passed",
    "  add rsp, \\passed",
    ".endif",
    "  jmp cutap_fast_end",
    // Not as usual, and nothing has happened yet.
    "6: cutap_not_opened",
    "7: cutap_arguments",
    "  leave",
    ".cfi_def_cfa rsp, 8",
    "  jmp cutap_frame",
    ".cfi_endproc",
    ".size \\name, . - \\name",
    ".endm",
    ".irp words, 0, 1, 2, 3, 4, 5, 6",
    "cutap_fast cutap_fast_\\words, \\words, 0, cutap_fast_personality",
    ".endr",
    "cutap_fast cutap_fast_unknown, 6, 320, cutap_fast_unknown_personality",
    // ---- behind the call: the frame is that of all of them
    ".globl cutap_fast_end",
    ".hidden cutap_fast_end, cutap_fast_end_by_steps",
    ".type cutap_fast_end,@function",
    ".balign 64",
    "cutap_fast_end:",
    ".cfi_startproc",
    ".cfi_def_cfa rbp, 16",
    ".cfi_offset rbp, -16",
    // The thread state and its chunk, as the way in has left them, and only then whether they are this thread's still:
    // what the function did has turned them out of the caches, and one behind the other they would be waited for.
    "  mov rsi, [rsp + {thread_state}]",
    "  mov rdi, [rsp + {thread_state} + 8]",
    "  mov rcx, [rsp + {thread}]",
    "  mov [rsp], rax",
    "  mov [rsp + 8], rdx",
    "  cmp dword ptr [rip + CUTAP_FORK], {here}",
    "  jne 7f",
    "  cmp fs:[rcx], rsi",
    "  jne 7f",
    "  cmp qword ptr [rsi + {writing}], 0",
    "  jne 7f",
    "  cmp [rsi + {chunk}], rdi",
    "  jne 7f",
    "  mov r8, rax",
    "  mov edx, {exit}",
    "  mov r9, [rsp + {thread} + 8]",
    "  shr r9, {outputs}",
    "  jnz 23f",
    "22: mov rcx, [rdi + {head}]",
    "  mov rax, rcx",
    "  shr rax, 32",
    "  sub eax, [rsp + {number}]",
    "  dec eax", // how many calls ago it began
    "  cmp eax, {far}",
    "  jae 7f",
    "  shl eax, 13",
    "  or edx, eax",
    "  mov [rsp + {word}], r8",
    "  cutap_reserve 16, 16, 0, rbp+16, 7f",
    "  mov rax, [rsp + {word}]",
    "  mov [r8 + 8], rax",
    "  cutap_commit",
    // It is closed.
    "4: mov rcx, [rsi + {depth}]",
    "  test rcx, rcx",
    "  jz 6f",
    "  lea rdx, [rcx + 2 * rcx]",
    "  mov eax, [rsi + 8 * rdx + {open_number} - 24]",
    "  cmp eax, [rsp + {number}]",
    "  jne 6f",
    "  dec rcx",
    "  mov [rsi + {depth}], rcx",
    "5: mov rax, [rsp]",
    "  mov rdx, [rsp + 8]",
    "  leave",
    ".cfi_remember_state",
    ".cfi_def_cfa rsp, 8",
    "  ret",
    ".cfi_restore_state",
    "6: mov rdx, rsi",
    "  mov esi, 1",
    "  jmp 8f",
    "7: mov rdx, rsi",
    "  xor esi, esi",
    "8: mov rdi, rsp",
    "  and rsp, -16",
    "  sub rsp, 32",
    "  movaps [rsp], xmm0",
    "  movaps [rsp + 16], xmm1",
    "  call cutap_fast_after",
    "  movaps xmm0, [rsp]",
    "  movaps xmm1, [rsp + 16]",
    "  lea rsp, [rbp - {bytes}]",
    "  jmp 5b",
    // What is kept behind the call goes by steps.
    ".globl cutap_fast_end_by_steps",
    "cutap_fast_end_by_steps:",
    "  mov rsi, [rsp + {thread_state}]",
    "  mov [rsp], rax",
    "  mov [rsp + 8], rdx",
    "  jmp 7b",
    // Several outputs, each a fragment: first how long all are, and whether they lie on the known stack. No place is
    // read yet.
    "9: mov r10, r9",
    "  mov r11d, 16",
    "1: mov ecx, r9d",
    "  and ecx, {words}",
    "  neg rcx",
    "  mov rax, [rbp + 8 * rcx - 8]",
    "  mov ecx, r9d",
    "  shr ecx, {length_at}",
    "  movzx ecx, cl",
    "  test cl, 3",
    "  jnz 7b",
    // One that is NULL is below all stacks.
    "  sub rax, [rsi + {low}]",
    "  mov r8, [rsi + {high}]",
    "  sub r8, [rsi + {low}]",
    "  sub r8, rcx",
    "  jb 7b",
    "  cmp rax, r8",
    "  ja 7b",
    "  lea r11d, [r11 + rcx + 16 + 7]",
    "  and r11d, -8",
    "  shr r9, {output_bits}",
    "  jnz 1b",
    "  mov rcx, [rdi + {head}]",
    "  mov rax, rcx",
    "  shr rax, 32",
    "  sub eax, [rsp + {number}]",
    "  dec eax",
    "  cmp eax, {far}",
    "  jae 7b",
    "  shl eax, 13",
    "  lea edx, [4 * r11 + {exit_of_nothing}]",
    "  or edx, eax",
    "  cutap_reserve r11, 0, r11, rbp+16, 7b",
    "  prefetchw [r8 + {ahead} + 64]", // it takes two lines
    "  mov rax, [rsp]",
    "  mov [r8 + 8], rax",
    "  lea r9, [r8 + 16]",
    "1: mov ecx, r10d",
    "  and ecx, {words}",
    "  neg rcx",
    "  mov r11, [rbp + 8 * rcx - 8]",
    "  mov ecx, r10d",
    "  shr ecx, {length_at}",
    "  movzx ecx, cl",
    "  mov [r9], r11",
    "  mov [r9 + 8], ecx",
    "  mov [r9 + 12], ecx",
    "  add r9, 16",
    "2: sub ecx, 8",
    "  jb 3f",
    "  mov rax, [r11]",
    "  mov [r9], rax",
    "  add r11, 8",
    "  add r9, 8",
    "  jmp 2b",
    "3: add ecx, 8",
    "  jz 5f",
    "  mov eax, [r11]",
    "  mov [r9], rax",
    "  add r9, 8",
    "5: shr r10, {output_bits}",
    "  jnz 1b",
    "  cutap_commit",
    "  jmp 4b",
    // What the function gave back. It lies here so that the rest is few lines of code, which the function has turned
    // out of the caches.
    "23: test eax, eax",
    "  jnz 22b", // failed: there is no output
    "  cmp r9, {one_output}",
    "  ja 9b",
    // One output of four or eight bytes on the known stack.
    "  test rax, rax",
    "  jnz 7b",
    "  mov ecx, r9d",
    "  and ecx, {words}",
    "  shr r9d, {length_at}",
    "  mov rax, rcx",
    "  neg rax",
    "  mov rax, [rbp + 8 * rax - 8]", // the argument
    "  test rax, rax",
    "  jz 22b",
    "  mov r10, rax",
    "  sub r10, [rsi + {low}]",
    "  mov r8, [rsi + {high}]",
    "  sub r8, [rsi + {low}]",
    "  sub r8, r9",
    "  jb 7b",
    "  cmp r10, r8",
    "  ja 7b",
    "  cutap_output 7b",
    "  jmp 22b",
    ".cfi_endproc",
    ".size cutap_fast_end, . - cutap_fast_end",
    end_of_ring_macros!(),
    ".purgem cutap_output",
    end_of_frame_macros!(),
    ".purgem cutap_open",
    ".purgem cutap_not_opened",
    ".purgem cutap_keep_thread_state",
    bytes = const fast_frame::BYTES,
    recording = const offset_of!(Control, recording),
    on = const RECORDING_ON,
    recorded = const RECORDED,
    here = const RECORDED as u32,
    on_word = const ON_WORD,
    writing = const offset_of!(ThreadState, writing),
    inside = const offset_of!(ThreadState, inside),
    low = const offset_of!(ThreadState, stack) + stack::LOW,
    high = const offset_of!(ThreadState, stack) + stack::HIGH,
    chunk = const WRITER + offset_of!(ChunkWriter, chunk),
    last = const WRITER + offset_of!(ChunkWriter, last),
    room = const WRITER + offset_of!(ChunkWriter, bytes),
    head = const offset_of!(ChunkHeader, head),
    ahead = const AHEAD,
    committed = const COMMITTED,
    plan = const PLAN,
    first = const FIRST,
    unwanted = const UNWANTED,
    outputs = const OUTPUTS,
    one_output = const ONE_OUTPUT,
    output_bits = const OUTPUT_BITS,
    length_at = const LENGTH_AT,
    words = const (1 << LENGTH_AT) - 1,
    depth = const offset_of!(ThreadState, depth),
    depths = const DEPTH,
    one_stack = const ONE_STACK,
    open_frame = const OPEN + offset_of!(OpenCall, frame),
    open_number = const OPEN + offset_of!(OpenCall, number),
    open_slot = const OPEN + offset_of!(OpenCall, slot),
    open_reported = const OPEN + offset_of!(OpenCall, reported),
    thread_state = const fast_frame::THREAD_STATE,
    thread = const fast_frame::THREAD,
    word = const fast_frame::WORD,
    number = const fast_frame::NUMBER,
    exit = const first_word(kind::EXIT, 2, 0, 0),
    exit_of_nothing = const first_word(kind::EXIT, 0, 0, 0),
    exit_output = const first_word(kind::EXIT_OUTPUT, 2, 0, 0),
    output_word = const OUTPUT_WORD,
    len_behind_word = const OUTPUT_LEN - OUTPUT_WORD,
    far = const record::NEAR_CALLS,
);
