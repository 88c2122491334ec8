//! The gate of the few functions that a runtime calls only because it reports a launch to us: those calls are our own
//! footprint, at every launch, so they are sorted out before a frame is made. It must leave every integer register as
//! it was (the functions take no others), and lead to a frame where the call is anybody else's: to the common one where
//! anything is not as usual.

use crate::process::{fork, page, switch};
use crate::ring::thread_state::{self, DEPTH, OpenCall, ThreadState};
use crate::runtime::{own_calls, suppress};
use crate::slots::slot::{FIRST, PLAN};
use crate::slots::{plan, table};
use core::arch::global_asm;
use core::mem::offset_of;
use core::sync::atomic::Ordering::Relaxed;
use cutap_wire::control::{Control, RECORDING_ON};
use cutap_wire::diagnostic;
use cutap_wire::ring::RingHeader;

unsafe extern "C" {
    fn cutap_footprint();
}

/// The gate.
pub fn entry() -> usize {
    cutap_footprint as *const () as usize
}

global_asm!(
    ".hidden cutap_footprint, cutap_is_footprint, cutap_frame, cutap_fast_2, CUTAP_CONTROL, CUTAP_FORK",
    ".hidden CUTAP_ASKING, CUTAP_QUIET, cutap_tls",
    ".globl cutap_footprint",
    ".type cutap_footprint,@function",
    ".text",
    ".balign 32",
    "cutap_footprint:",
    ".cfi_startproc",
    "  push rax",
    ".cfi_adjust_cfa_offset 8",
    "  push rcx",
    ".cfi_adjust_cfa_offset 8",
    "  mov rcx, [rip + CUTAP_CONTROL + {recording}]", // and the number of the rules
    "  mov rax, [rip + cutap_tls@GOTTPOFF]",
    "  cmp rcx, [rip + CUTAP_FORK + {on_word}]",
    "  je 2f",
    "  cmp rcx, [rip + CUTAP_FORK + {count_word}]",
    "  jne 6f",
    "2: mov rax, fs:[rax]",
    "  cmp rax, 1",
    "  jbe 5f",
    "  cmp byte ptr [rax + {inside}], 0",
    "  jne 5f",
    "  mov rcx, [rax + {depth}]",
    "  test rcx, rcx",
    "  jnz 4f",
    // From a place that is known, while no call is open.
    "  or rcx, [rax + {reported}]",
    "  or rcx, [rax + {asked}]",
    "  jne 5f",
    "  mov rcx, [rsp + 16]",
    "  lea rax, [rip + CUTAP_ASKING]",
    "  cmp rcx, [rax]",
    "  je 3f",
    "  add rax, 16",
    "  cmp rcx, [rax]",
    "  jne 5f",
    "3: sub rcx, [rip + CUTAP_QUIET]",
    "  cmp rcx, [rip + CUTAP_QUIET + 8]",
    "  jb 5f",
    "  mov rax, [rax + 8]",
    "  cmp dword ptr [rax], 0",
    "  je 5f", // the runtime reports no launches now
    // Counted in this thread's own ring: a number of the whole process would be fought for at each launch.
    "  mov rax, [rip + cutap_tls@GOTTPOFF]",
    "  mov rax, fs:[rax]",
    "  mov rax, [rax + {header}]",
    "  inc qword ptr [rax + {counter}]",
    "  pop rcx",
    ".cfi_adjust_cfa_offset -8",
    "  pop rax",
    ".cfi_adjust_cfa_offset -8",
    "  jmp [r11]",
    ".cfi_adjust_cfa_offset 16",
    // In a call that a runtime has reported it is the program's; the fast frame looks whether that is still open.
    "4: cmp rcx, {depths}",
    "  jae 5f",
    "  lea rcx, [rcx + 2 * rcx]",
    "  cmp qword ptr [rax + 8 * rcx + {open_reported} - 24], 0",
    "  je 5f",
    "  mov ecx, [r11 + {plan}]",
    "  and ecx, {of_words}",
    "  cmp ecx, {two_words}",
    "  jne 5f",
    "  cmp dword ptr [r11 + {first}], 0",
    "  je 5f",
    "  pop rcx",
    ".cfi_adjust_cfa_offset -8",
    "  pop rax",
    ".cfi_adjust_cfa_offset -8",
    "  jmp cutap_fast_2",
    ".cfi_adjust_cfa_offset 16",
    // Off, as the common gate has it; another process, other rules.
    "6: cmp dword ptr [rip + CUTAP_FORK + 4], 0",
    "  jne 8f",
    "  cmp ecx, {on}",
    "  jae 7f",
    "  cmp dword ptr [rip + CUTAP_FORK], {here}",
    "  jne 7f",
    "8: pop rcx",
    ".cfi_adjust_cfa_offset -8",
    "  pop rax",
    ".cfi_adjust_cfa_offset -8",
    "  jmp [r11]",
    ".cfi_adjust_cfa_offset 16",
    "7: pop rcx",
    ".cfi_adjust_cfa_offset -8",
    "  pop rax",
    ".cfi_adjust_cfa_offset -8",
    "  jmp cutap_frame",
    ".cfi_adjust_cfa_offset 16",
    "5: pop rcx",
    ".cfi_adjust_cfa_offset -8",
    "  pop rax",
    ".cfi_adjust_cfa_offset -8",
    "  push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "  mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "  and rsp, -16",
    "  push rdi",
    "  push rsi",
    "  push rdx",
    "  push rcx",
    "  push r8",
    "  push r9",
    "  push rax",
    "  push r10",
    "  push r11",
    "  sub rsp, 8",
    "  mov rdi, [rbp + 8]",
    "  lea rsi, [rbp + 16]",
    "  mov rdx, r11",
    "  call cutap_is_footprint",
    "  cmp eax, {function}",
    "  lea rsp, [rsp + 8]", // the flags are needed
    "  pop r11",
    "  pop r10",
    "  pop rax",
    "  pop r9",
    "  pop r8",
    "  pop rcx",
    "  pop rdx",
    "  pop rsi",
    "  pop rdi",
    "  leave",
    ".cfi_def_cfa rsp, 8",
    "  jb cutap_frame",
    "  ja cutap_fast_2",
    "  jmp [r11]",
    ".cfi_endproc",
    ".size cutap_footprint, . - cutap_footprint",
    recording = const offset_of!(Control, recording),
    on = const RECORDING_ON,
    here = const fork::RECORDED as u32,
    on_word = const fork::ON_WORD,
    count_word = const fork::COUNT_WORD,
    function = const FUNCTION,
    inside = const offset_of!(ThreadState, inside),
    depth = const offset_of!(ThreadState, depth),
    depths = const DEPTH,
    open_reported = const offset_of!(ThreadState, open) + offset_of!(OpenCall, reported),
    plan = const PLAN,
    of_words = const plan::TWO_WORDS[0],
    two_words = const plan::TWO_WORDS[1],
    first = const FIRST,
    reported = const offset_of!(ThreadState, reported),
    asked = const offset_of!(ThreadState, unreported_lookup.0),
    header = const offset_of!(ThreadState, header),
    counter = const offset_of!(RingHeader, footprint),
);

/// Answers of `cutap_is_footprint`. `BY_QUICK` is for functions of two words.
const COMMON: u32 = 0;
const FUNCTION: u32 = 1;
const BY_QUICK: u32 = 2;

/// What is to be done with the call that returns to `caller`, and whose stack words begin at `at`: it is our footprint
/// or only counted, or for which of the frames it is.
#[unsafe(no_mangle)]
extern "C" fn cutap_is_footprint(caller: usize, at: usize, slot: usize) -> u32 {
    let Some(thread_state) =
        thread_state::existing().filter(|thread_state| !thread_state.inside && !switch::rules_changed())
    else {
        return COMMON;
    };
    thread_state.leave_below(at);
    if thread_state.depth == 0 && suppress::is_suppressed_runtime(caller) {
        return COMMON;
    }
    let n = table::number_at(slot);
    if switch::counting() {
        own_calls::counted(thread_state, caller, at, n);
        return FUNCTION;
    }
    if own_calls::is_one(thread_state, caller, n) {
        page::count(diagnostic::FOOTPRINT, 1);
        return FUNCTION;
    }
    let [of_words, two_words] = plan::TWO_WORDS;
    match table::slot(n) {
        Some(s) if s.has_first() && s.plan.load(Relaxed) as u32 & of_words == two_words => BY_QUICK,
        _ => COMMON,
    }
}
