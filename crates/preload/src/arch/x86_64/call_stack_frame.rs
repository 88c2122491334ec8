//! The way to the frame of a function whose callers' stacks are kept: the registers that a function keeps for its
//! caller are put aside, for code that is compiled has changed them by the time that somebody asks. No other call comes
//! through here, so that none pays for it.

use core::arch::{asm, global_asm};

/// rbx, r12, r13, r14, r15 of the caller, as they were put aside last on this thread.
pub type Payload = [u64; 5];

unsafe extern "C" {
    fn cutap_stacked();
}

/// What a thunk jumps to.
pub fn entry() -> usize {
    cutap_stacked as *const () as usize
}

/// What was put aside on the way to the call whose stack arguments begin at `stack`; `None`: a signal handler's call
/// has come in between.
pub fn saved_registers(stack: usize) -> Option<Payload> {
    let p: *const [u64; 6];
    // SAFETY: computes an address in this thread's static TLS block, and reads what lies there.
    let [at, registers @ ..] = unsafe {
        asm!("mov {0}, qword ptr [rip + cutap_aside@GOTTPOFF]", "add {0}, qword ptr fs:[0]", out(reg) p,
             options(nostack, pure, readonly));
        p.read_volatile()
    };
    // Where the return address stood, and rax below it.
    (at as usize == stack.wrapping_sub(16)).then_some(registers)
}

global_asm!(
    ".section .tbss.cutap,\"awT\",@nobits",
    ".balign 8",
    ".hidden cutap_aside",
    ".globl cutap_aside",
    ".type cutap_aside,@object",
    ".size cutap_aside, 48",
    "cutap_aside: .zero 48",
    ".text",
    ".hidden cutap_stacked, cutap_frame",
    ".globl cutap_stacked",
    ".type cutap_stacked,@function",
    "cutap_stacked:",
    ".cfi_startproc",
    "  push rax",
    ".cfi_adjust_cfa_offset 8",
    "  mov rax, [rip + cutap_aside@GOTTPOFF]",
    "  mov fs:[rax], rsp",
    "  mov fs:[rax + 8], rbx",
    "  mov fs:[rax + 16], r12",
    "  mov fs:[rax + 24], r13",
    "  mov fs:[rax + 32], r14",
    "  mov fs:[rax + 40], r15",
    "  pop rax",
    ".cfi_adjust_cfa_offset -8",
    "  jmp cutap_frame",
    ".cfi_endproc",
    ".size cutap_stacked, . - cutap_stacked",
);
