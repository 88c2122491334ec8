//! What a runtime calls through its copy of the callback table: an entry for each instance, which passes its number.

use crate::runtime::instances::{ALL, Instance};
use crate::slots::code::CALLBACK_BYTES;
use core::arch::global_asm;
use cutap_wire::flags::INSTANCES;

unsafe extern "C" {
    pub fn cutap_callbacks();
    pub fn cutap_hooked_callbacks();
    pub fn cutap_stacked_callbacks();
    pub fn cutap_flags();
}

// An entry says which instance it is of: its number in edx, its address in r8.
global_asm!(
    ".hidden cutap_callbacks, cutap_flags, cutap_reports, cutap_on_flags",
    ".hidden cutap_hooked_callbacks, cutap_reported, cutap_stacked_callbacks, cutap_on_stacked_callback",
    ".globl cutap_callbacks, cutap_flags, cutap_hooked_callbacks, cutap_stacked_callbacks",
    ".macro cutap_entries name, function",
    ".balign {bytes}",
    ".type \\name,@function",
    "\\name:",
    ".cfi_startproc",
    ".set cutap_i, 0",
    ".rept {n}",
    "  .balign {bytes}",
    "  endbr64",
    "  .byte 0xba", // mov edx, cutap_i
    "  .long cutap_i",
    "  lea r8, [rip + {all} + cutap_i * {instance}]",
    "  .byte 0xe9", // jmp function
    "  .long \\function - . - 4",
    "  .set cutap_i, cutap_i + 1",
    ".endr",
    ".cfi_endproc",
    ".size \\name, . - \\name",
    ".endm",
    "cutap_entries cutap_callbacks, cutap_reports",
    "cutap_entries cutap_hooked_callbacks, cutap_reported",
    "cutap_entries cutap_stacked_callbacks, cutap_on_stacked_callback",
    "cutap_entries cutap_flags, cutap_on_flags",
    n = const INSTANCES,
    bytes = const CALLBACK_BYTES,
    all = sym ALL,
    instance = const size_of::<Instance>(),
);
