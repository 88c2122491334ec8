//! A thread's own words, in the static block of thread-local storage: found without a call, and without a destructor.
//! The frames and vfork know them by their names.

use super::registers::Registers;
use core::arch::{asm, global_asm};

global_asm!(
    ".section .tbss.cutap,\"awT\",@nobits",
    ".balign 8",
    ".hidden cutap_tls, cutap_counts, cutap_hook_tls, cutap_vforked, cutap_forbidden_here, cutap_aside",
    ".globl cutap_tls, cutap_counts, cutap_hook_tls, cutap_vforked, cutap_forbidden_here, cutap_aside",
    ".type cutap_tls,@object",
    ".size cutap_tls, 8",
    "cutap_tls: .zero 8",
    ".type cutap_counts,@object",
    ".size cutap_counts, 8",
    "cutap_counts: .zero 8",
    ".type cutap_hook_tls,@object",
    ".size cutap_hook_tls, 8",
    "cutap_hook_tls: .zero 8",
    ".type cutap_vforked,@object",
    ".size cutap_vforked, 8",
    "cutap_vforked: .zero 8",
    ".type cutap_forbidden_here,@object",
    ".size cutap_forbidden_here, {forbidden}",
    "cutap_forbidden_here: .zero {forbidden}",
    ".type cutap_aside,@object",
    ".size cutap_aside, 48",
    "cutap_aside: .zero 48",
    ".text",
    forbidden = const 8 * FORBIDDEN_WORDS,
);

/// Words of `forbidden_here`.
pub const FORBIDDEN_WORDS: usize = 6;

/// The address of a word, by initial-exec: two instructions.
macro_rules! thread_word {
    ($(#[$doc:meta])* $name:ident, $symbol:literal) => {
        $(#[$doc])*
        #[inline(always)]
        pub fn $name() -> *mut usize {
            let at;
            // SAFETY: computes an address in this thread's static TLS block.
            unsafe {
                asm!(concat!("mov {0}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"), "add {0}, qword ptr fs:[0]",
                     out(reg) at, options(nostack, pure, readonly));
            }
            at
        }
    };
}

thread_word!(
    /// The thread's state: `ring::thread_state`.
    thread_state,
    "cutap_tls"
);
thread_word!(
    /// Its numbers of thunks, for the gate: `ring::counts`.
    counts,
    "cutap_counts"
);
thread_word!(
    /// Its entry of `hook_libraries::thread`.
    hook_thread,
    "cutap_hook_tls"
);
thread_word!(
    /// Whether it is a child by vfork: `process::vfork_word`.
    vforked,
    "cutap_vforked"
);
thread_word!(
    /// What is forbidden to it alone: `sys::forbidden_here`.
    forbidden_here,
    "cutap_forbidden_here"
);
thread_word!(
    /// See `saved_registers`.
    aside,
    "cutap_aside"
);

/// The caller's registers, at the call whose stack arguments begin at `stack`, as they were put aside on the way to it.
/// Those but the given ones are 0 where a signal handler's call has come in between.
pub fn saved_registers(stack: usize, next: usize, frame_pointer: u64) -> Registers {
    // SAFETY: this thread's own words.
    let [at, saved @ ..] = unsafe { aside().cast::<[u64; 6]>().read_volatile() };
    // Where the return address stood, and rax below it.
    let [rbx, r12, r13, r14, r15] = if at as usize == stack.wrapping_sub(16) { saved } else { [0; 5] };
    Registers { callee_saved: [rbx, frame_pointer, r12, r13, r14, r15], stack, next }
}
