//! The frame of calls with inputs: integer arguments in registers and on the stack, and memory that is kept on the way
//! in. What the fast frame (`fast`) does in assembler before the call is done here in Rust; behind the call
//! both are the same.
//!
//! It only ever continues where all is as usual; anything else leads to the common frame with nothing changed. All
//! registers are kept, whatever the registry says of the function. Believed is that it takes no more than `STACK_WORDS`
//! on the stack, where the registry says that there are none, none, and of a launch, which is a driver's exported
//! function, as many as it says.

use super::frame_macros::{end_of_frame_macros, frame_macros};
use crate::capture::{self, ArgumentWords, Call, launch};
use crate::interceptors::fast_end::left_above;
use crate::process::{fork, switch};
use crate::ring::record;
use crate::ring::thread_state::{OpenCall, ThreadState};
use crate::runtime::suppress;
use crate::slots::fast_frame::{self, FastFrame};
use crate::slots::plan::{EXITS, LAUNCH, UNWANTED};
use crate::slots::slot::{PLAN, Slot};
use crate::slots::{rows, table, unwound};
use core::arch::global_asm;
use core::ffi::{c_int, c_void};
use core::mem::offset_of;
use core::sync::atomic::Ordering::Relaxed;
use cutap_calls::capture::{Row, kind};
use cutap_wire::control::{Control, RECORDING_ON};

/// Stack words that it passes on at most.
pub const STACK_WORDS: usize = 16;
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

/// Answers of `cutap_inputs_before`: by the common frame; not recorded; else the number of stack words to pass on, and
/// one.
const COMMON: i32 = 0;
const NOT_RECORDED: i32 = -1;

#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_inputs_before(frame: *mut FastFrame) -> i32 {
    // SAFETY: the assembler's frame.
    let frame = unsafe { &mut *frame };
    let n = frame.slot();
    // Where the thread has none yet, the common frame makes it, or counts that it could not.
    let (Some(slot), Some(thread_state)) = (table::slot(n), record::ready_already()) else { return COMMON };
    let (at, caller) = (frame.at(), frame.caller());
    thread_state.leave_below(at);
    let plan = slot.plan.load(Relaxed);
    let Some(row) = rows::of(table::row_of(n)).filter(|_| plan & UNWANTED == 0 && !switch::rules_changed()) else {
        return COMMON;
    };
    if thread_state.depth == 0 && suppress::is_suppressed_runtime(caller) {
        return COMMON;
    }
    let args = frame.args();
    // SAFETY: the function's own stack words, as the registry says; the stack is aligned.
    let stack = unsafe { core::slice::from_raw_parts(at as *const u64, row.stack.into()) };
    let words = [args.get(..usize::from(row.ints)).unwrap_or(&[]), stack];
    let call = OpenCall { number: 0, slot: n, frame: at, reported: 0 };
    let launched = if plan & LAUNCH != 0 { launch::enter(thread_state, call, caller, row, words) } else { None };
    let Some(number) = launched.unwrap_or_else(|| by_steps(thread_state, call, caller, row, words, slot)) else {
        return NOT_RECORDED;
    };
    frame.entered(number, thread_state);
    // Launches are the driver's, whose functions take the same arguments in all versions. That there are none is what
    // the fast frame believes.
    let stack_words = if plan & LAUNCH != 0 || row.stack == 0 { row.stack.into() } else { STACK_WORDS };
    1 + stack_words as i32
}

#[inline(never)]
fn by_steps(
    thread_state: &mut ThreadState,
    call: OpenCall,
    caller: usize,
    row: &Row,
    words: ArgumentWords,
    slot: &Slot,
) -> Option<u32> {
    let target = slot.real.load(Relaxed);
    let driver = table::real_of(target).unwrap_or(target);
    let of_frame = Call { words, result: 0, floats: [0; 2], driver };
    capture::inputs(thread_state, row, &of_frame, call.frame, |thread_state, words| {
        record::enter(thread_state, call, caller, words)
    })
}

/// The frame's personality routine: see `left_above`.
#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_inputs_personality(
    _version: c_int,
    actions: c_int,
    _class: u64,
    exception: *const unwound::Exception,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the unwinder's own; during the call the outgoing words lie below the frame's fields.
    unsafe { left_above(OUTGOING, actions, exception, context) }
}
