//! The frame of cuLaunchKernel, which does in assembler what `capture::launch` does: the kernel is known and has few
//! parameters, and they, and the array of pointers to them, lie on the caller's stack. They go from there into the
//! ring.
//!
//! It only ever continues where all is as usual; anything else leads to the frame of calls with inputs with nothing
//! changed. Each place of the program's is read once, by halves: what was written a moment ago in halves would be
//! waited for. It must agree with `capture::{launch, kernels}`.

use super::frame_macros::{end_of_frame_macros, frame_macros, open_macro};
use super::ring_macros::{end_of_ring_macros, ring_macros};
use crate::capture::{kernels, launch};
use crate::process::fork::{ON_WORD, RECORDED};
use crate::ring::thread_state::{DEPTH, ONE_STACK, OpenCall, ThreadState};
use crate::slots::fast_frame::{self, INPUTS_STACK_WORDS as STACK_WORDS};
use crate::slots::plan::UNWANTED;
use crate::slots::slot::{FIRST, PLAN};
use crate::sys::stack;
use core::arch::global_asm;
use core::mem::offset_of;
use cutap_calls::capture::Row;
use cutap_wire::control::{Control, RECORDING_ON};
use cutap_wire::record::{COMMITTED, FRAGMENT_WORDS};
use cutap_wire::ring::{AHEAD, ChunkHeader, ChunkWriter, LINE};

/// Parameters that it looks at, at most.
const FEW: usize = 16;
/// Words of the record in front of the parameters: two, the call's, the fragment's.
const WORDS: usize = 2 + 11 + FRAGMENT_WORDS;
const _: () = assert!(FRAGMENT_WORDS == 2 && STACK_WORDS == 16 && size_of::<OpenCall>() == 24);

const WRITER: usize = offset_of!(ThreadState, writer);
const OPEN: usize = offset_of!(ThreadState, open);
/// Below the outgoing stack words: where the parameters lie, two registers of the caller's, how many bytes there are.
const KEPT: usize = FEW * 8;
const BYTES: usize = KEPT + 16;
const BELOW: usize = BYTES + 16;
const OUTGOING: usize = STACK_WORDS * 8;

unsafe extern "C" {
    fn cutap_launch();
}

/// The frame, if the function is one for it: eleven words, the kernel's handle first, the array and `extra` last.
pub fn entry(row: &Row) -> Option<usize> {
    let words = row.ints == 6 && row.stack == 5 && launch::places(row) == Some([9 * 8, 0, 10 * 8]);
    words.then_some(cutap_launch as *const () as usize)
}

global_asm!(
    ".hidden cutap_launch, cutap_inputs, cutap_inputs_personality, cutap_fast_end",
    ".hidden cutap_frame, cutap_not_on, cutap_tls",
    ".hidden CUTAP_CONTROL, CUTAP_FORK, CUTAP_QUIET, CUTAP_KERNELS, CUTAP_PARAMETERS, CUTAP_UNLOADED",
    ".text",
    ring_macros!(),
    frame_macros!(),
    open_macro!(),
    ".globl cutap_launch",
    ".type cutap_launch,@function",
    ".balign 64",
    "cutap_launch:",
    ".cfi_startproc",
    ".cfi_personality 0x1b, cutap_inputs_personality",
    "  cutap_head",
    "  sub rsp, {below} + {outgoing}",
    "  mov [rsp + {kept}], rbx",
    ".cfi_offset rbx, -{cfa_below} + {kept}",
    "  mov [rsp + {kept} + 8], r12",
    ".cfi_offset r12, -{cfa_below} + {kept} + 8",
    "  cutap_thread 7f",
    "  mov rdx, [rsi + {chunk}]",
    "  prefetchw [rdx + {head}]",
    // The kernel.
    "  mov rax, rdi",
    "  shr rax, 4",
    "  movabs rcx, {mix}",
    "  imul rax, rcx",
    "  shr rax, 32",
    "  and eax, {handles} - 1",
    "  lea rax, [rax + 2 * rax]",
    "  lea rcx, [rip + CUTAP_KERNELS]",
    "  lea rcx, [rcx + 8 * rax]",
    "  cmp [rcx + {handle}], rdi",
    "  jne 7f",
    "  mov eax, [rip + CUTAP_UNLOADED]",
    "  inc eax",
    "  cmp [rcx + {asked}], eax",
    "  jne 7f",
    "  mov rdx, [rcx + {place}]", // in the order in which it is read, and not in which it is written
    "  cmp [rcx + {handle}], rdi", // another thread may be turning it out
    "  jne 7f",
    "  mov r9d, edx",
    "  shr rdx, 32",
    "  lea eax, [rdx - 1]",
    "  cmp eax, {few}",
    "  jae 7f",
    "  lea rax, [r9 + rdx]",
    "  cmp rax, {pool}",
    "  ja 7f",
    "  lea r12, [rip + CUTAP_PARAMETERS]",
    "  lea r12, [r12 + 8 * r9]", // its parameters: offset, bytes
    "  mov r10d, edx",           // how many
    // The array and what it leads to, on this thread's stack.
    "  mov rdi, [rbp + 16 + 24]",
    "  cmp qword ptr [rbp + 16 + 32], 0",
    "  jne 7f",
    "  mov r8, [rsi + {low}]",
    "  mov rcx, [rsi + {high}]",
    "  sub rcx, r8",
    "  mov rax, rdi",
    "  sub rax, r8",
    "  cmp rax, rcx",
    "  jae 7f",
    "  neg rax",
    "  add rax, rcx", // bytes from the array to the end of the stack
    "  lea r9, [8 * rdx]",
    "  cmp r9, rax",
    "  ja 7f",
    "  xor ebx, ebx",
    "1: mov rax, [rdi + 8 * rdx - 8]",
    "  mov [rsp + 8 * rdx - 8], rax",
    "  sub rax, r8",
    "  cmp rax, rcx",
    "  jae 7f",
    "  neg rax",
    "  add rax, rcx",
    "  mov r9d, [r12 + 8 * rdx - 8 + {size}]",
    "  cmp r9, rax",
    "  ja 7f",
    "  add rbx, r9",
    "  dec edx",
    "  jnz 1b",
    "  cmp rbx, {most}",
    "  ja 7f",
    "  mov [rsp + {bytes_at}], rbx",
    "  add ebx, 7",
    "  and ebx, -8",
    // The record.
    "  cutap_chunk 7f",
    "  cutap_open 7f",
    "  lea edx, [rdx + 4 * rbx + 32 * ({words} - 8)]",
    "  cutap_reserve 8*{words}+rbx, 0x100000000+8*{words}, rbx, rbp+16, 6f",
    "  cutap_keep_thread_state",
    "  lea ecx, [rbx + 8*{words} - {line}]",
    "1: prefetchw [r8 + rcx + {ahead}]", // all of its lines
    "  sub ecx, {line}",
    "  jg 1b",
    "  mov rax, [rbp - {bytes} + {word}]",
    "  mov qword ptr [r8 + rbx + 8*{words} - 8], 0", // behind the last parameter its word is zero
    "  mov [r8 + 8], rax",
    ".irp n, 0, 1, 2, 3, 4, 5",
    "  mov rax, [rbp - 8 - 8 * \\n]",
    "  mov [r8 + 16 + 8 * \\n], rax",
    ".endr",
    ".irp n, 0, 1, 2, 3, 4",
    "  mov eax, [rbp + 16 + 8 * \\n]",
    "  mov ecx, [rbp + 20 + 8 * \\n]",
    "  shl rcx, 32",
    "  or rax, rcx",
    "  mov [r8 + 64 + 8 * \\n], rax",
    "  mov [rsp + {below} + 8 * \\n], rax",
    ".endr",
    "  mov rax, [rsp + {below} + 24]", // the array
    "  mov rcx, [rsp + {bytes_at}]",
    "  mov [r8 + 104], rax",
    "  mov rax, rcx",
    "  shl rcx, 32",
    "  or rax, rcx",
    "  mov [r8 + 112], rax",
    // The parameters, one behind the other: r9 counts them.
    "  lea rdi, [r8 + 8*{words}]",
    "  xor r9d, r9d",
    "1: mov rcx, [rsp + 8 * r9]",
    "  mov r11d, [r12 + 8 * r9 + {size}]",
    "2: sub r11d, 8",
    "  jl 3f",
    "  mov eax, [rcx]",
    "  mov ebx, [rcx + 4]",
    "  mov [rdi], eax",
    "  mov [rdi + 4], ebx",
    "  lea rcx, [rcx + 8]",
    "  lea rdi, [rdi + 8]",
    "  jne 2b",
    "  jmp 5f",
    "3: add r11d, 8",
    "  jz 5f",
    "  cmp r11d, 4",
    "  jb 4f",
    "  mov eax, [rcx]",
    "  mov [rdi], eax",
    "  lea rcx, [rcx + 4]",
    "  lea rdi, [rdi + 4]",
    "  sub r11d, 4",
    "  jz 5f",
    "4: movzx eax, byte ptr [rcx]",
    "  mov [rdi], al",
    "  inc rcx",
    "  inc rdi",
    "  dec r11d",
    "  jnz 4b",
    "5: inc r9d",
    "  cmp r9d, r10d",
    "  jb 1b",
    "  cutap_commit",
    "  mov rbx, [rsp + {kept}]",
    ".cfi_restore rbx",
    "  mov r12, [rsp + {kept} + 8]",
    ".cfi_restore r12",
    "  mov r11, [rbp - 56]",
    "  add rsp, {below}",
    "  cutap_arguments",
    "  call [r11]",
    "  add rsp, {outgoing}",
    "  jmp cutap_fast_end",
    // Not as usual, and nothing has happened yet.
    ".cfi_offset rbx, -{cfa_below} + {kept}",
    ".cfi_offset r12, -{cfa_below} + {kept} + 8",
    "6: cutap_not_opened",
    "7: mov rbx, [rsp + {kept}]",
    ".cfi_restore rbx",
    "  mov r12, [rsp + {kept} + 8]",
    ".cfi_restore r12",
    "  mov r11, [rbp - 56]",
    "  cutap_arguments",
    "  leave",
    ".cfi_def_cfa rsp, 8",
    "  jmp cutap_inputs",
    ".cfi_endproc",
    ".size cutap_launch, . - cutap_launch",
    end_of_ring_macros!(),
    end_of_frame_macros!(),
    ".purgem cutap_open",
    ".purgem cutap_not_opened",
    ".purgem cutap_keep_thread_state",
    recording = const offset_of!(Control, recording),
    on = const RECORDING_ON,
    recorded = const RECORDED,
    here = const RECORDED as u32,
    on_word = const ON_WORD,
    below = const BELOW,
    outgoing = const OUTGOING,
    kept = const KEPT,
    bytes_at = const BYTES,
    cfa_below = const 16 + fast_frame::BYTES + BELOW + OUTGOING,
    words = const WORDS,
    few = const FEW,
    most = const launch::FEW,
    mix = const kernels::MIX,
    handles = const kernels::HANDLES,
    handle = const kernels::HANDLE,
    asked = const kernels::EPOCH,
    place = const kernels::PLACE,
    pool = const kernels::POOL,
    size = const kernels::SIZE,
    low = const offset_of!(ThreadState, stack) + stack::LOW,
    high = const offset_of!(ThreadState, stack) + stack::HIGH,
    inside = const offset_of!(ThreadState, inside),
    writing = const offset_of!(ThreadState, writing),
    chunk = const WRITER + offset_of!(ChunkWriter, chunk),
    last = const WRITER + offset_of!(ChunkWriter, last),
    room = const WRITER + offset_of!(ChunkWriter, bytes),
    head = const offset_of!(ChunkHeader, head),
    ahead = const AHEAD,
    line = const LINE,
    committed = const COMMITTED,
    plan = const PLAN,
    first = const FIRST,
    unwanted = const UNWANTED,
    depth = const offset_of!(ThreadState, depth),
    depths = const DEPTH,
    one_stack = const ONE_STACK,
    open_frame = const OPEN + offset_of!(OpenCall, frame),
    open_number = const OPEN + offset_of!(OpenCall, number),
    open_slot = const OPEN + offset_of!(OpenCall, slot),
    open_reported = const OPEN + offset_of!(OpenCall, reported),
    bytes = const fast_frame::BYTES,
    thread_state = const fast_frame::THREAD_STATE,
    thread = const fast_frame::THREAD,
    word = const fast_frame::WORD,
    number = const fast_frame::NUMBER,
);
