//! The gate of the few functions that a runtime calls only because it reports a launch to us: those calls are our own footprint, at
//! every launch, so they are sorted out before a frame is made. It must leave every integer register as it was (the functions take no
//! others), and lead to the common frame where the call is anybody else's or anything is not as usual.

use crate::routes::{callbacks, quiet};
use crate::start::{self, switch};
use crate::thread::{block, fork};
use core::arch::global_asm;
use core::mem::offset_of;
use cutap_wire::control::{Control, RECORDING_COUNT, RECORDING_ON};
use cutap_wire::count;

unsafe extern "C" {
    fn cutap_footprint();
}

/// The gate.
pub fn entry() -> usize {
    cutap_footprint as *const () as usize
}

global_asm!(
    ".hidden cutap_footprint, cutap_is_footprint, cutap_frame, CUTAP_CONTROL, CUTAP_FORK",
    ".globl cutap_footprint",
    ".type cutap_footprint,@function",
    ".text",
    ".balign 32",
    "cutap_footprint:",
    ".cfi_startproc",
    "  cmp dword ptr [rip + CUTAP_CONTROL + {recording}], {on}",
    "  je 2f",
    "  cmp dword ptr [rip + CUTAP_CONTROL + {recording}], {counting}",
    "  jne cutap_frame",
    "2: cmp qword ptr [rip + CUTAP_FORK], {recorded}",
    "  jne cutap_frame",
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
    "  call cutap_is_footprint",
    "  test eax, eax",
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
    "  jz cutap_frame",
    "  jmp [r11]",
    ".cfi_endproc",
    ".size cutap_footprint, . - cutap_footprint",
    recording = const offset_of!(Control, recording),
    on = const RECORDING_ON,
    counting = const RECORDING_COUNT,
    recorded = const fork::RECORDED,
);

/// Whether the call that returns to `caller`, and whose stack words begin at `at`, is our footprint; then it is counted.
#[unsafe(no_mangle)]
extern "C" fn cutap_is_footprint(caller: usize, at: usize) -> u32 {
    let Some(b) = block::current().filter(|b| !b.inside && !switch::rules_changed()) else { return 0 };
    b.leave_below(at);
    if b.depth == 0 && quiet::holds(caller) || !callbacks::is_footprint(b, caller) {
        return 0;
    }
    start::count(count::FOOTPRINT, 1);
    1
}
