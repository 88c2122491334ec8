//! Where a runtime's reports arrive. Where calls are only counted, those of known functions are counted here, without leaving the
//! assembler: counting costs less than the runtime's own report. All else goes to `callbacks`, with nothing changed. It must agree
//! with `callbacks::counted` and `counts::add`, and never touch more than scratch registers.

use super::callbacks::CallbackRecord;
use super::instances::{Function, Instance};
use super::quiet;
use crate::slots::thunks_x86_64::THUNKS;
use crate::thread::block::Block;
use crate::thread::counts::REPORTED;
use crate::thread::fork::RECORDED;
use core::arch::global_asm;
use core::mem::offset_of;
use cutap_wire::control::{Control, RECORDING_COUNT};
use cutap_wire::counts::HEAD;

global_asm!(
    ".hidden cutap_reports, cutap_on_callback, CUTAP_SEEN, CUTAP_CONTROL, CUTAP_FORK, cutap_tls",
    ".globl cutap_reports",
    ".type cutap_reports,@function",
    ".text",
    ".balign 64",
    // Callback id in edi, the record in rsi, the instance's number in edx, its address in r8.
    "cutap_reports:",
    ".cfi_startproc",
    "  cmp dword ptr [rip + CUTAP_CONTROL + {recording}], {counting}",
    "  jne cutap_on_callback",
    "  cmp qword ptr [rip + CUTAP_FORK], {here}",
    "  jne cutap_on_callback",
    "  test rsi, rsi",
    "  jz cutap_on_callback",
    "  mov edi, edi",
    "  cmp rdi, [r8 + {count}]",
    "  jae cutap_on_callback",
    "  mov r9, [r8 + {driver_flags}]",
    "  cmp dword ptr [r9 + 4 * rdi], 0",
    "  jne cutap_on_callback", // a profiler wants it
    "  cmp dword ptr [rsi + {phase}], 0",
    "  jne 2f", // where calls are counted, none is open
    "  mov eax, [rip + CUTAP_CONTROL + {epoch}]",
    "  cmp eax, [rip + CUTAP_SEEN]",
    "  jne cutap_on_callback",
    "  mov r9, [rip + cutap_tls@GOTTPOFF]",
    "  mov r9, fs:[r9]",
    "  cmp r9, 1",
    "  jbe cutap_on_callback",
    "  cmp byte ptr [r9 + {inside}], 0",
    "  jne cutap_on_callback",
    "  cmp qword ptr [r9 + {depth}], 0",
    "  jne cutap_on_callback",
    "  mov r9, [r9 + {numbers}]",
    "  test r9, r9",
    "  jz cutap_on_callback",
    "  imul rcx, rdi, {function}",
    "  add rcx, r8",
    "  cmp dword ptr [rcx + {bound}], {enough}",
    "  jb cutap_on_callback",
    "  mov eax, [rcx + {slot}]",
    "  sub eax, {thunks}", // no number, or nobody wants it: beyond all that are counted
    "  cmp eax, [r9]",
    "  jae cutap_on_callback",
    "  inc qword ptr [r9 + 8 * rax + {head}]",
    "2: xor eax, eax",
    "  ret",
    ".cfi_endproc",
    ".size cutap_reports, . - cutap_reports",
    recording = const offset_of!(Control, recording),
    counting = const RECORDING_COUNT,
    here = const RECORDED,
    count = const offset_of!(Instance, count),
    driver_flags = const offset_of!(Instance, driver_flags),
    phase = const offset_of!(CallbackRecord, phase),
    epoch = const offset_of!(Control, rules_epoch),
    inside = const offset_of!(Block, inside),
    depth = const offset_of!(Block, depth),
    numbers = const REPORTED,
    function = const size_of::<Function>(),
    bound = const offset_of!(Instance, functions) + offset_of!(Function, bound),
    slot = const offset_of!(Instance, functions) + offset_of!(Function, slot),
    enough = const quiet::ENOUGH,
    thunks = const THUNKS,
    head = const HEAD,
);
