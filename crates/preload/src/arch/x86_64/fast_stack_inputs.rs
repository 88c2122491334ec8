//! The frame of calls with small inputs: up to three pieces of memory on the caller's stack, at pointers among the
//! words, of a size that is known or that a word says; and of functions that have stack words and no inputs. What is
//! kept is what the steps would keep.
//!
//! It only ever continues where all is as usual; anything else leads to the frame of calls with inputs with nothing
//! changed, and it believes the same. Each place of the program's is read once: stack words when they are passed on,
//! memory behind the reservation.

use super::frame_macros::{end_of_frame_macros, frame_macros, open_macro};
use super::ring_macros::{end_of_ring_macros, ring_macros};
use crate::process::fork::{ON_WORD, RECORDED};
use crate::ring::counts::THUNKS;
use crate::ring::thread_state::{DEPTH, ONE_STACK, OpenCall, ThreadState};
use crate::slots::fast_frame::INPUTS_STACK_WORDS as STACK_WORDS;
use crate::slots::plan::{EXITS, UNWANTED};
use crate::slots::slot::{FIRST, PLAN};
use crate::slots::{fast_frame, rows};
use crate::sys::stack;
use core::arch::global_asm;
use core::mem::offset_of;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use cutap_calls::capture::{ALWAYS, COUNT64, EXIT, NONE, Row, Step, WORDS, kind};
use cutap_wire::control::{Control, RECORDING_ON};
use cutap_wire::record::{COMMITTED, FRAGMENT_WORDS};
use cutap_wire::ring::{AHEAD, ChunkHeader, ChunkWriter, LINE};

/// What the frame of each slot does: sixteen bits for each input, then the number of stack words.
#[unsafe(no_mangle)]
static CUTAP_STACK_INPUTS: [AtomicU64; THUNKS] = [const { AtomicU64::new(0) }; THUNKS];

/// Inputs at most; the number of stack words stands behind them.
const MOST: usize = 3;
const STACK_AT: u32 = 48;
/// Of an input: where its pointer stands; that its length stands somewhere, too; that, or the length itself; that there
/// is one.
const PLACE: u64 = 0x1f;
const COUNTED: u64 = 1 << 5;
const LENGTH_AT: u32 = 6;
const LENGTH: u64 = 0x7f;
const IS_ONE: u64 = 1 << 15;
/// Bytes of an input at most; of one whose length a word says, no others are kept.
const BYTES: usize = 64;

const WRITER: usize = offset_of!(ThreadState, writer);
const OPEN: usize = offset_of!(ThreadState, open);
const OUTGOING: usize = STACK_WORDS * 8;
const _: () = assert!(FRAGMENT_WORDS == 2 && STACK_WORDS == 16 && OUTGOING == 128 && size_of::<OpenCall>() == 24);
/// Places are words above the outgoing ones, of which the first is 0; the fields of the frame are above those, r9
/// lowest.
const LOWEST: usize = fast_frame::BYTES + OUTGOING;
const RDI: u64 = (LOWEST / 8 - 1) as u64;

unsafe extern "C" {
    fn cutap_stack_inputs_0();
    fn cutap_stack_inputs_1();
    fn cutap_stack_inputs_2();
    fn cutap_stack_inputs_3();
    fn cutap_stack_inputs_4();
    fn cutap_stack_inputs_5();
    fn cutap_stack_inputs_6();
    fn cutap_stack_inputs_passed();
}

/// The frame for slot `n`, if its function is one for it.
pub fn entry(n: u32, row: &Row) -> Option<usize> {
    let plan = plan(row)?;
    let frames: [unsafe extern "C" fn(); 7] = [
        cutap_stack_inputs_0,
        cutap_stack_inputs_1,
        cutap_stack_inputs_2,
        cutap_stack_inputs_3,
        cutap_stack_inputs_4,
        cutap_stack_inputs_5,
        cutap_stack_inputs_6,
    ];
    let frame = match row.stack {
        0 => *frames.get(usize::from(row.ints))?,
        _ if row.ints == 6 => cutap_stack_inputs_passed,
        _ => return None,
    };
    CUTAP_STACK_INPUTS.get(n as usize)?.store(plan, Relaxed);
    Some(frame as *const () as usize)
}

/// What there is to do for a function.
fn plan(row: &Row) -> Option<u64> {
    let steps = rows::steps_of(row);
    let words = usize::from(row.stack) <= STACK_WORDS && row.ints <= 6 && row.vectors == 0;
    if !words || steps.iter().any(|s| s.kind == kind::FLOATS) {
        return None;
    }
    let mut plan = u64::from(row.stack) << STACK_AT;
    for (n, step) in steps.iter().filter(|s| s.flags & (EXIT | ALWAYS) == 0).enumerate() {
        if n == MOST {
            return None;
        }
        plan |= input(row, step)? << (16 * n);
    }
    Some(plan)
}

/// One input.
fn input(row: &Row, step: &Step) -> Option<u64> {
    let place = |offset: u16| {
        let (word, ints) = (u64::from(offset / 8), u64::from(row.ints));
        let is_argument = offset.is_multiple_of(8) && word < ints + u64::from(row.stack);
        is_argument.then(|| if word < ints { RDI - word } else { word - ints })
    };
    if step.kind != kind::MEMORY || step.base != WORDS {
        return None;
    }
    let at = IS_ONE | place(step.offset)?;
    let len = usize::from(step.count) * usize::from(step.size);
    match step.count_base {
        NONE if step.flags == 0 => {
            let whole = len.is_multiple_of(4) && (1..=BYTES).contains(&len) && len <= step.most.into();
            whole.then_some(at | (len as u64) << LENGTH_AT)
        }
        WORDS if step.flags == COUNT64 && step.size == 1 && usize::from(step.most) == BYTES => {
            Some(at | COUNTED | place(step.count)? << LENGTH_AT)
        }
        _ => None,
    }
}

global_asm!(
    ".hidden cutap_stack_inputs_0, cutap_stack_inputs_1, cutap_stack_inputs_2, cutap_stack_inputs_3",
    ".hidden cutap_stack_inputs_4, cutap_stack_inputs_5, cutap_stack_inputs_6, cutap_stack_inputs_passed",
    ".hidden cutap_inputs, cutap_inputs_personality, cutap_fast_end, cutap_fast_end_by_steps",
    ".hidden cutap_frame, cutap_not_on, cutap_tls, CUTAP_CONTROL, CUTAP_FORK, CUTAP_QUIET, CUTAP_SLOTS",
    ".hidden CUTAP_STACK_INPUTS",
    ".text",
    ring_macros!(),
    frame_macros!(),
    open_macro!(),
    // The next input: its address in rax, its length in rcx.
    ".macro cutap_input",
    "  mov eax, r10d",
    "  mov ecx, r10d",
    "  and eax, {place}",
    "  shr ecx, {length_at}",
    "  mov rax, [rbp + 8 * rax - {lowest}]",
    "  and ecx, {length}",
    "  test r10b, {counted}",
    "  jz 9f",
    "  mov rcx, [rbp + 8 * rcx - {lowest}]",
    "9:",
    ".endm",
    ".macro cutap_stack_inputs name, n, passed",
    ".globl \\name",
    ".type \\name,@function",
    ".balign 64",
    "\\name:",
    ".cfi_startproc",
    ".cfi_personality 0x1b, cutap_inputs_personality",
    "  cutap_head",
    "  sub rsp, {outgoing}",
    "  cutap_thread_state 7f",
    "  lea rax, [rip + CUTAP_SLOTS]",
    "  mov rcx, r11",
    "  sub rcx, rax",
    "  shr ecx, 3", // a word for each slot
    "  lea rax, [rip + CUTAP_STACK_INPUTS]",
    "  mov r10, [rax + rcx]",
    "  mov [rbp - {bytes}], r10", // where the result will be
    ".if \\passed",
    // Nothing says how many stack words there are, and a stack may end behind them: all must lie in one page.
    "  lea rax, [rbp + 16]",
    "  and eax, 4095",
    "  cmp eax, 4096 - {outgoing}",
    "  ja 7f",
    // By halves, for what was written a moment ago in halves; and put together, for what will be read as a whole.
    ".irp at, 0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120",
    "  mov ecx, [rbp + 20 + \\at]",
    "  mov eax, [rbp + 16 + \\at]",
    "  shl rcx, 32",
    "  or rax, rcx",
    "  mov [rsp + \\at], rax",
    ".endr",
    "  mov r9, r10",
    "  shr r9, {stack_at}",
    "  lea r9d, [8 * r9 + 8*\\n+16]",
    ".else",
    "  mov r9d, 8*\\n+16",
    ".endif",
    // How long all is, and whether it lies on the known stack. No place is read yet.
    "  shl r10, 64 - {stack_at}",
    "  shr r10, 64 - {stack_at}",
    "  jz 2f",
    "1: cutap_input",
    "  test rax, rax",
    "  jz 3f", // NULL: nothing is kept
    "  lea rdx, [rcx - 1]",
    "  cmp rdx, {most}",
    "  jae 7f",
    "  test cl, 3",
    "  jnz 7f",
    "  sub rax, [rsi + {low}]",
    "  mov rdx, [rsi + {high}]",
    "  sub rdx, [rsi + {low}]",
    "  sub rdx, rcx",
    "  jb 7f",
    "  cmp rax, rdx",
    "  ja 7f",
    "  lea r9d, [r9 + rcx + 16 + 7]",
    "  and r9d, -8",
    "3: shr r10, 16",
    "  jnz 1b",
    "2: mov r10d, r9d",
    "  cutap_open 7f",
    "  lea edx, [rdx + 4 * r10 - 32*(\\n+2)]",
    "  cutap_reserve r10, 0x100000000, r10, rbp+16, 6f",
    "  prefetchw [r8 + {ahead} + {line}]", // it takes two lines
    "  mov r10, [rbp - {bytes}]",
    "  cutap_keep_thread_state",
    "  mov rax, [rbp - {bytes} + {word}]",
    "  mov [r8 + 8], rax",
    ".irp register, 0, 1, 2, 3, 4, 5",
    "  .if \\register < \\n",
    "  mov rax, [rbp - 8 - 8 * \\register]",
    "  mov [r8 + 16 + 8 * \\register], rax",
    "  .endif",
    ".endr",
    "  lea r9, [r8 + 8*\\n+16]",
    ".if \\passed",
    "  mov rcx, r10",
    "  shr rcx, {stack_at}",
    "  lea rdi, [r9 + 8 * rcx]",
    "1: mov rax, [rsp + 8 * rcx - 8]",
    "  mov [r9 + 8 * rcx - 8], rax",
    "  dec ecx",
    "  jnz 1b",
    "  mov r9, rdi",
    ".endif",
    "  shl r10, 64 - {stack_at}",
    "  shr r10, 64 - {stack_at}",
    "  jz 4f",
    "1: cutap_input",
    "  test rax, rax",
    "  jz 3f",
    "  mov [r9], rax",
    "  mov [r9 + 8], ecx",
    "  mov [r9 + 12], ecx",
    "  add r9, 16",
    "2: mov edi, [rax]",
    "  mov [r9], edi",
    "  add rax, 4",
    "  add r9, 4",
    "  sub ecx, 4",
    "  jnz 2b",
    "  test r9b, 4",
    "  jz 3f",
    "  mov dword ptr [r9], 0",
    "  add r9, 4",
    "3: shr r10, 16",
    "  jnz 1b",
    "4: cutap_commit",
    "  cutap_arguments",
    "  call [r11]",
    "  mov r11, [rbp - 56]",
    "  add rsp, {outgoing}",
    "  test byte ptr [r11 + {plan}], {exits}",
    "  jnz cutap_fast_end",
    "  jmp cutap_fast_end_by_steps",
    // Not as usual, and nothing has happened yet.
    "6: cutap_not_opened",
    "7: cutap_arguments",
    "  leave",
    ".cfi_def_cfa rsp, 8",
    "  jmp cutap_inputs",
    ".cfi_endproc",
    ".size \\name, . - \\name",
    ".endm",
    ".irp words, 0, 1, 2, 3, 4, 5, 6",
    "cutap_stack_inputs cutap_stack_inputs_\\words, \\words, 0",
    ".endr",
    "cutap_stack_inputs cutap_stack_inputs_passed, 6, 1",
    end_of_ring_macros!(),
    end_of_frame_macros!(),
    ".purgem cutap_open",
    ".purgem cutap_not_opened",
    ".purgem cutap_keep_thread_state",
    ".purgem cutap_input",
    ".purgem cutap_stack_inputs",
    outgoing = const OUTGOING,
    lowest = const LOWEST,
    place = const PLACE,
    counted = const COUNTED,
    length_at = const LENGTH_AT,
    length = const LENGTH,
    most = const BYTES,
    stack_at = const STACK_AT,
    exits = const EXITS,
    recording = const offset_of!(Control, recording),
    on = const RECORDING_ON,
    recorded = const RECORDED,
    here = const RECORDED as u32,
    on_word = const ON_WORD,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slots::rows::find;
    use crate::slots::rows::of;

    #[test]
    fn which_inputs_are_fast() {
        let of_name = |name: &[u8]| of(find(name, false, 13)).and_then(plan);
        let factors = (IS_ONE | 16 << LENGTH_AT) | (IS_ONE | 7 | 16 << LENGTH_AT) << 16;
        assert_eq!(of_name(b"cublasGemmEx"), Some(factors | 13 << STACK_AT), "both on the stack");
        let counted = IS_ONE | COUNTED | (RDI - 2) | (RDI - 3) << LENGTH_AT;
        assert_eq!(of_name(b"cublasLtMatmulDescSetAttribute"), Some(counted), "as many bytes as a word says");
        assert_eq!(of_name(b"cudaLaunchKernel"), Some(2 << STACK_AT), "words alone");
        assert_eq!(of_name(b"cuArrayCreate_v2"), Some(IS_ONE | (RDI - 1) | 24 << LENGTH_AT));
        assert_eq!(of_name(b"cuLaunchKernel"), None, "parameters of a kernel");
        assert_eq!(of_name(b"cuModuleGetFunction"), None, "a text");
    }
}
