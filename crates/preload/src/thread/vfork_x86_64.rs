//! vfork: its child has our memory and the thread's own words too, while the parent waits. So the words are put aside in registers,
//! which each of the two has for itself; the child begins without them, and makes a folder and a ring of its own at its first call;
//! the parent finds them as they were, whatever the child did, and however it ended.
//!
//! Must never be on the stack between the two: the child returns first, and writes over it. What the real one does beyond the
//! system call (errno, a shadow stack) is left to it.

use super::fork;
use crate::sys;
use core::arch::{asm, global_asm};

global_asm!(
    ".section .tbss.cutap,\"awT\",@nobits",
    ".balign 8",
    ".hidden cutap_vforked",
    ".globl cutap_vforked",
    ".type cutap_vforked,@object",
    ".size cutap_vforked, 8",
    "cutap_vforked: .zero 8",
    ".text",
);

/// True in a child by vfork, which has its parent's memory. A system call: for what is done once.
pub fn is_child() -> bool {
    let word: usize;
    // SAFETY: reads this thread's static TLS block.
    unsafe {
        asm!("mov {0}, qword ptr [rip + cutap_vforked@GOTTPOFF]", "mov {0}, qword ptr fs:[{0}]", out(reg) word,
             options(nostack, readonly));
    }
    // A child that it forked has the word too, and memory of its own.
    word != 0 && sys::getpid() != fork::pid()
}

/// The child of this block has ended, or runs another program: nothing of it is needed any more.
#[cfg(feature = "inject")]
unsafe extern "C" fn over(block: *mut super::block::Block) {
    // SAFETY: a block that the child made; nobody else knows of it.
    unsafe {
        if !(*block).lent.is_null() {
            super::ring::bury(block);
        }
    }
}

/// vfork().
#[cfg(feature = "inject")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfork() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "endbr64",
        // A shadow stack is the child's too.
        "test dword ptr fs:[0x48], 2",
        "jnz 4f",
        "mov rax, [rip + cutap_tls@GOTTPOFF]",
        "mov r8, fs:[rax]",
        "mov rax, [rip + cutap_counts@GOTTPOFF]",
        "mov r9, fs:[rax]",
        "mov rax, [rip + cutap_hook_tls@GOTTPOFF]",
        "mov r10, fs:[rax]",
        "mov rax, [rip + cutap_vforked@GOTTPOFF]",
        "mov rdx, fs:[rax]",
        "pop rdi",
        ".cfi_adjust_cfa_offset -8",
        ".cfi_register rip, rdi",
        "mov eax, 58",
        "syscall",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        ".cfi_offset rip, -8",
        "test eax, eax",
        "jz 3f",
        "js 4f",
        "mov rcx, [rip + cutap_counts@GOTTPOFF]",
        "mov fs:[rcx], r9",
        "mov rcx, [rip + cutap_hook_tls@GOTTPOFF]",
        "mov fs:[rcx], r10",
        "mov rcx, [rip + cutap_vforked@GOTTPOFF]",
        "mov fs:[rcx], rdx",
        "mov rcx, [rip + cutap_tls@GOTTPOFF]",
        "mov rdi, fs:[rcx]",
        "mov fs:[rcx], r8",
        // None, being made, or the parent's: the child was killed before it came to its first instruction.
        "cmp rdi, 1",
        "jbe 2f",
        "cmp rdi, r8",
        "je 2f",
        "push rax",
        ".cfi_adjust_cfa_offset 8",
        "call {over}",
        "pop rax",
        ".cfi_adjust_cfa_offset -8",
        "2: ret",
        "3: mov rcx, [rip + cutap_tls@GOTTPOFF]",
        "mov fs:[rcx], rax",
        "mov rcx, [rip + cutap_counts@GOTTPOFF]",
        "mov fs:[rcx], rax",
        "mov rcx, [rip + cutap_hook_tls@GOTTPOFF]",
        "mov fs:[rcx], rax",
        "mov rcx, [rip + cutap_vforked@GOTTPOFF]",
        "mov qword ptr fs:[rcx], 1",
        "ret",
        "4: .weak __vfork",
        "mov r11, [rip + __vfork@GOTPCREL]",
        "test r11, r11",
        "jz 5f",
        "jmp r11",
        "5: mov eax, -1",
        "ret",
        ".cfi_endproc",
        over = sym over,
    )
}
