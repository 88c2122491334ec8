//! What stands between the slot and the driver for the cuKernelGetFunction that a runtime has from cuGetProcAddress:
//! what the driver hands out is told behind the call, and so the slot may have any frame, or none. Runtimes before 13
//! call it at every launch, once for themselves and once more because we watch. It must change nothing of the call, and
//! is for one driver in a process.

use core::arch::global_asm;
use core::mem::offset_of;
use core::sync::atomic::{AtomicUsize, Ordering::*};
use cutap_wire::control::{Control, RECORDING_ON};

/// The driver's function.
#[unsafe(no_mangle)]
static CUTAP_KERNEL_FUNCTION: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" {
    fn cutap_handed();
}

/// What a slot of `real` is to call instead; `None`: another driver's came first.
pub fn instead_of(real: usize) -> Option<usize> {
    let first = CUTAP_KERNEL_FUNCTION.compare_exchange(0, real, AcqRel, Acquire).unwrap_or_else(|first| first);
    (first == 0 || first == real).then_some(cutap_handed as *const () as usize)
}

global_asm!(
    ".hidden cutap_handed, cutap_handed_out, CUTAP_KERNEL_FUNCTION, CUTAP_CONTROL",
    ".globl cutap_handed",
    ".type cutap_handed,@function",
    ".text",
    ".balign 32",
    "cutap_handed:",
    ".cfi_startproc",
    "  push rdi",
    ".cfi_adjust_cfa_offset 8",
    "  push rsi",
    ".cfi_adjust_cfa_offset 8",
    "  push rax",
    ".cfi_adjust_cfa_offset 8",
    "  call [rip + CUTAP_KERNEL_FUNCTION]",
    "  test eax, eax",
    "  jnz 1f",
    "  cmp dword ptr [rip + CUTAP_CONTROL + {recording}], {on}",
    "  jne 1f", // nothing is recorded that could need it
    "  mov rdi, [rsp + 16]",
    "  mov rsi, [rsp + 8]",
    "  mov [rsp], rax",
    "  call cutap_handed_out",
    "  mov rax, [rsp]",
    "1: add rsp, 24",
    ".cfi_adjust_cfa_offset -24",
    "  ret",
    ".cfi_endproc",
    ".size cutap_handed, . - cutap_handed",
    recording = const offset_of!(Control, recording),
    on = const RECORDING_ON,
);
