//! The frame of calls with inputs: integer arguments in registers and on the stack, and memory that is kept on the way
//! in. What the fast frame (`fast`) does in assembler before the call is done here in Rust; behind the call
//! both are the same.
//!
//! It only ever continues where all is as usual; anything else leads to the common frame with nothing changed. All
//! registers are kept, whatever the registry says of the function. Believed is that it takes no more than `STACK_WORDS`
//! on the stack, where the registry says that there are none, none, and of a launch, which is a driver's exported
//! function, as many as it says.

use super::frame_macros::{end_of_frame_macros, frame_macros};
use crate::process::fork;
use crate::slots::fast_frame::{self, INPUTS_STACK_WORDS as STACK_WORDS};
use crate::slots::plan::EXITS;
use crate::slots::rows;
use crate::slots::slot::PLAN;
use core::arch::global_asm;
use core::mem::offset_of;
use cutap_calls::capture::{Row, kind};
use cutap_wire::control::{Control, RECORDING_ON};

const OUTGOING: usize = STACK_WORDS * 8;
const _: () = assert!(OUTGOING == 8 * 16);

unsafe extern "C" {
    fn cutap_inputs();
}

/// The frame, if the function is one for it.
pub fn entry(row: &Row) -> Option<usize> {
    let steps = rows::steps_of(row);
    let plain = row.vectors == 0 && row.ints <= 6 && usize::from(row.stack) <= STACK_WORDS;
    let floats = steps.iter().any(|s| s.kind == kind::FLOATS);
    (plain && !floats).then_some(cutap_inputs as *const () as usize)
}

global_asm!(
    ".hidden cutap_inputs, cutap_inputs_before, cutap_inputs_personality, cutap_fast_end, cutap_fast_end_by_steps",
    ".hidden cutap_frame, cutap_not_on, cutap_tls, CUTAP_CONTROL, CUTAP_FORK",
    ".text",
    frame_macros!(),
    ".globl cutap_inputs",
    ".type cutap_inputs,@function",
    ".balign 64",
    "cutap_inputs:",
    ".cfi_startproc",
    ".cfi_personality 0x1b, cutap_inputs_personality",
    "  cutap_head",
    "  test spl, 15",
    "  jnz 4f", // the common frame aligns the stack
    // Nothing says how many stack words there are, and a stack may end behind them: all must lie in one page.
    "  lea rax, [rbp + 16]",
    "  and eax, 4095",
    "  cmp eax, 4096 - {outgoing}",
    "  ja 4f",
    "  mov rdi, rsp",
    "  sub rsp, {outgoing}",
    "  movaps [rsp + 0], xmm0",
    "  movaps [rsp + 16], xmm1",
    "  movaps [rsp + 32], xmm2",
    "  movaps [rsp + 48], xmm3",
    "  movaps [rsp + 64], xmm4",
    "  movaps [rsp + 80], xmm5",
    "  movaps [rsp + 96], xmm6",
    "  movaps [rsp + 112], xmm7",
    "  call cutap_inputs_before",
    "  movaps xmm0, [rsp + 0]",
    "  movaps xmm1, [rsp + 16]",
    "  movaps xmm2, [rsp + 32]",
    "  movaps xmm3, [rsp + 48]",
    "  movaps xmm4, [rsp + 64]",
    "  movaps xmm5, [rsp + 80]",
    "  movaps xmm6, [rsp + 96]",
    "  movaps xmm7, [rsp + 112]",
    "  mov r11, [rbp - 56]",
    "  test eax, eax",
    "  jle 5f",
    "  mov rcx, [rip + cutap_tls@GOTTPOFF]",
    "  mov rdx, [r11 + {plan}]",
    "  mov [rbp - {bytes} + {thread}], rcx",
    "  mov [rbp - {bytes} + {thread} + 8], rdx",
    "  mov ecx, eax",
    "  dec ecx",
    "  jz 2f",
    // By halves, for what was written a moment ago in halves; and put together, for what will be read as a whole.
    "1: mov eax, [rbp + 8 * rcx + 8]",
    "  mov edx, [rbp + 8 * rcx + 12]",
    "  shl rdx, 32",
    "  or rax, rdx",
    "  mov [rsp + 8 * rcx - 8], rax",
    "  dec ecx",
    "  jnz 1b",
    "2: cutap_arguments",
    "  call [r11]",
    "  mov r11, [rbp - 56]",
    "  add rsp, {outgoing}",
    "  test byte ptr [r11 + {plan}], {exits}",
    "  jnz cutap_fast_end",
    "  jmp cutap_fast_end_by_steps",
    // 0: by the common frame; less: the call is not recorded.
    "4: xor eax, eax",
    "5: test eax, eax",
    "  cutap_arguments", // the flags are kept
    "  leave",
    ".cfi_def_cfa rsp, 8",
    "  js 9f",
    "  jmp cutap_frame",
    "9: jmp [r11]",
    ".cfi_endproc",
    ".size cutap_inputs, . - cutap_inputs",
    end_of_frame_macros!(),
    recording = const offset_of!(Control, recording),
    on = const RECORDING_ON,
    recorded = const fork::RECORDED,
    here = const fork::RECORDED as u32,
    outgoing = const OUTGOING,
    plan = const PLAN,
    bytes = const fast_frame::BYTES,
    thread = const fast_frame::THREAD,
    exits = const EXITS,
);
