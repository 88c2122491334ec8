//! The frame of calls that are counted when they return, and recorded only where they fail: `interceptors::chatter`. It
//! reads the result and adds one to this thread's number of the slot, and writes no record.
//!
//! A call of a runtime or a library stands among the open ones meanwhile. For a runtime may report it too, and the
//! driver's calls inside must not seem to come past its slot. It has the number of the call around it, so that calls
//! inside hang on that one.
//!
//! As in `fast`, anything that is not as usual leads to the common frame with nothing changed, or behind the call to
//! `cutap_chatter_after`. It must agree with `counts::add` and `ThreadState::push_counted`.

use super::frame_macros::{end_of_frame_macros, frame_macros};
use crate::process::fork::{ON_WORD, RECORDED};
use crate::ring::counts::THUNK_COUNTS;
use crate::ring::thread_state::{DEPTH, NOWHERE, ONE_STACK, OpenCall, ThreadState};
use crate::slots::fast_frame;
use crate::slots::plan::UNWANTED;
use crate::slots::slot::PLAN;
use core::arch::global_asm;
use core::mem::offset_of;
use cutap_wire::control::{Control, RECORDING_ON};
use cutap_wire::counts::HEAD;
use cutap_wire::ring::{ChunkHeader, ChunkWriter};

unsafe extern "C" {
    fn cutap_chatter();
    fn cutap_chatter_of_driver();
}

/// The frame of a function of the driver, inside which no slot is called; or of another one.
pub fn entry(is_drivers: bool) -> usize {
    let frame: unsafe extern "C" fn() = if is_drivers { cutap_chatter_of_driver } else { cutap_chatter };
    frame as *const () as usize
}

const WRITER: usize = offset_of!(ThreadState, writer);
const OPEN: usize = offset_of!(ThreadState, open);
const _: () = assert!(size_of::<OpenCall>() == 24 && cfg!(target_endian = "little"));

global_asm!(
    ".hidden cutap_chatter, cutap_chatter_of_driver, cutap_chatter_after, cutap_frame, cutap_not_on, cutap_tls",
    ".hidden CUTAP_CONTROL, CUTAP_FORK, CUTAP_SLOTS, CUTAP_QUIET",
    ".text",
    frame_macros!(),
    // `opened`: the call stands among the open ones meanwhile.
    ".macro cutap_chatter_frame name, opened",
    ".globl \\name",
    ".type \\name,@function",
    ".balign 64",
    "\\name:",
    ".cfi_startproc",
    "  cutap_head",
    "  mov rax, [rip + CUTAP_CONTROL + {recording}]", // and the number of the rules
    "  mov rsi, [rip + cutap_tls@GOTTPOFF]",
    "  mov rsi, fs:[rsi]",
    "  cmp rsi, 1", // none, or being made
    "  jbe 7f",
    "  cmp rax, [rip + CUTAP_FORK + {on_word}]",
    "  jne 7f",
    "  cmp byte ptr [rsi + {inside}], 0",
    "  jne 7f",
    "  test byte ptr [r11 + {plan}], {unwanted}",
    "  jnz 7f",
    "  mov rdx, [rsi + {depth}]",
    ".if \\opened",
    "  lea r9, [rbp + 16]",
    "  lea r8, [rdx + 2 * rdx]",
    "  cmp rdx, {depths}",
    "  jae 7f",
    "  lea r8, [rsi + 8 * r8]",
    ".endif",
    "  test rdx, rdx",
    "  jz 5f",
    ".if \\opened",
    // None that the stack has left is open.
    "  mov rcx, r9",
    "  sub rcx, [r8 + {open_frame} - 24]",
    "  cmp rcx, {one_stack}",
    "  jb 7f",
    "  mov eax, [r8 + {open_number} - 24]",
    ".endif",
    "6: lea rcx, [rip + CUTAP_SLOTS]",
    "  mov rdi, r11",
    "  sub rdi, rcx",
    "  shr rdi, 6",
    ".if \\opened",
    "  mov [r8 + {open_number}], eax",
    "  mov [r8 + {open_frame}], r9",
    "  mov qword ptr [r8 + {open_reported}], 0",
    "  mov [r8 + {open_slot}], edi",
    "  inc rdx",
    "  mov [rsi + {depth}], rdx",
    ".endif",
    "  mov [rsp + {thread_state}], rsi",
    "  mov [rsp + {number}], rdi",
    "  cutap_arguments",
    "  call [r11]",
    // ---- behind the call
    "  mov rsi, [rsp + {thread_state}]",
    "  mov r11, [rsp + {number}]",
    "  test eax, eax",
    "  jnz 8f",
    "  cmp dword ptr [rip + CUTAP_FORK], {here}",
    "  jne 8f",
    "  mov rcx, [rip + cutap_tls@GOTTPOFF]",
    "  cmp fs:[rcx], rsi",
    "  jne 8f",
    ".if \\opened",
    "  mov rdi, [rsi + {depth}]",
    "  lea r9, [rbp + 16]",
    "  lea r8, [rdi + 2 * rdi]",
    "  lea rcx, [rdi - 1]",
    "  cmp rcx, {depths}",
    "  jae 8f",
    "  cmp [rsi + 8 * r8 + {open_frame} - 24], r9",
    "  jne 8f",
    ".endif",
    "  mov rcx, [rsi + {counts}]",
    "  test rcx, rcx",
    "  jz 8f",
    "  cmp r11d, [rcx]",
    "  jae 8f",
    "  inc qword ptr [rcx + 8 * r11 + {head_of_counts}]",
    ".if \\opened",
    "  dec qword ptr [rsi + {depth}]",
    ".endif",
    "  leave",
    ".cfi_remember_state",
    ".cfi_def_cfa rsp, 8",
    "  ret",
    ".cfi_restore_state",
    // It failed, or something is not as usual: in Rust, with the result kept.
    "8: mov [rsp], rax",
    "  mov [rsp + 8], rdx",
    "  mov rdi, rsp",
    "  and rsp, -16",
    "  sub rsp, 32",
    "  movaps [rsp], xmm0",
    "  movaps [rsp + 16], xmm1",
    "  call cutap_chatter_after",
    "  movaps xmm0, [rsp]",
    "  movaps xmm1, [rsp + 16]",
    "  lea rsp, [rbp - {bytes}]",
    "  mov rax, [rsp]",
    "  mov rdx, [rsp + 8]",
    "  leave",
    ".cfi_remember_state",
    ".cfi_def_cfa rsp, 8",
    "  ret",
    ".cfi_restore_state",
    // No call is open around it.
    "5: mov rcx, [rbp + 8]", // see `runtime::suppress`
    "  sub rcx, [rip + CUTAP_QUIET]",
    "  cmp rcx, [rip + CUTAP_QUIET + 8]",
    "  jb 7f",
    ".if \\opened",
    "  mov rdi, [rsi + {chunk}]",
    "  test rdi, rdi",
    "  jz 7f",
    "  mov eax, [rdi + {head} + 4]", // calls so far
    "  add eax, {nowhere}",
    ".endif",
    "  jmp 6b",
    // Not as usual, and nothing has happened yet.
    "7: cutap_arguments",
    "  leave",
    ".cfi_def_cfa rsp, 8",
    "  jmp cutap_frame",
    ".cfi_endproc",
    ".size \\name, . - \\name",
    ".endm",
    "cutap_chatter_frame cutap_chatter, 1",
    "cutap_chatter_frame cutap_chatter_of_driver, 0",
    ".purgem cutap_chatter_frame",
    end_of_frame_macros!(),
    bytes = const fast_frame::BYTES,
    recording = const offset_of!(Control, recording),
    on = const RECORDING_ON,
    recorded = const RECORDED,
    here = const RECORDED as u32,
    on_word = const ON_WORD,
    inside = const offset_of!(ThreadState, inside),
    chunk = const WRITER + offset_of!(ChunkWriter, chunk),
    head = const offset_of!(ChunkHeader, head),
    plan = const PLAN,
    unwanted = const UNWANTED,
    depth = const offset_of!(ThreadState, depth),
    depths = const DEPTH,
    nowhere = const NOWHERE,
    one_stack = const ONE_STACK,
    open_frame = const OPEN + offset_of!(OpenCall, frame),
    open_number = const OPEN + offset_of!(OpenCall, number),
    open_slot = const OPEN + offset_of!(OpenCall, slot),
    open_reported = const OPEN + offset_of!(OpenCall, reported),
    thread_state = const fast_frame::THREAD_STATE,
    number = const fast_frame::NUMBER,
    counts = const THUNK_COUNTS,
    head_of_counts = const HEAD,
);
