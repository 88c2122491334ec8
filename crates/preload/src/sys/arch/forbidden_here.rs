//! System calls that are forbidden to one thread alone: a child by vfork that installed a seccomp filter. Its memory is
//! its parent's, which has no such filter, so the set is in the thread's own words. The parent's side of vfork clears
//! them (`arch/x86_64/vfork.rs`).

use core::arch::{asm, global_asm};
use core::sync::atomic::AtomicU64;

/// Words of a set.
pub const WORDS: usize = 5;

/// The thread's words.
#[repr(C)]
pub struct Here {
    /// Not zero: there is such a set.
    pub any: AtomicU64,
    pub calls: [AtomicU64; WORDS],
}

global_asm!(
    ".section .tbss.cutap,\"awT\",@nobits",
    ".balign 8",
    ".hidden cutap_forbidden_here",
    ".globl cutap_forbidden_here",
    ".type cutap_forbidden_here,@object",
    ".size cutap_forbidden_here, {bytes}",
    "cutap_forbidden_here: .zero {bytes}",
    ".text",
    bytes = const size_of::<Here>(),
);

/// This thread's.
#[inline(always)]
pub fn thread_words<'a>() -> &'a Here {
    let p: *const Here;
    // SAFETY: computes an address in this thread's static TLS block.
    unsafe {
        asm!("mov {0}, qword ptr [rip + cutap_forbidden_here@GOTTPOFF]", "add {0}, qword ptr fs:[0]", out(reg) p,
             options(nostack, pure, readonly));
        &*p
    }
}
