//! A thread's own word that says whether it is a child by vfork, which has its parent's memory: see `vfork`.

use super::fork;
use crate::sys::{self, allowed};
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

/// A child by vfork, and one that cannot have a ring.
#[cfg(feature = "inject")]
pub const CHILD: usize = 1;
const WITHOUT: usize = 2;

/// This thread's word.
fn word() -> *mut usize {
    let p;
    // SAFETY: computes an address in this thread's static TLS block.
    unsafe {
        asm!("mov {0}, qword ptr [rip + cutap_vforked@GOTTPOFF]", "add {0}, qword ptr fs:[0]", out(reg) p,
             options(nostack, pure, readonly));
    }
    p
}

/// True in a child by vfork, which has its parent's memory. A system call: for what is done once.
pub fn is_child() -> bool {
    // SAFETY: this thread's own word. A child that such a child forked has it too, and memory of its own.
    unsafe { *word() != 0 && (allowed::has_own_filter() || sys::getpid() != fork::pid()) }
}

/// True in such a child once it could not have a ring, or has installed a filter: it does not try again.
pub fn goes_without() -> bool {
    // SAFETY: this thread's own word.
    unsafe { *word() == WITHOUT || allowed::has_own_filter() }
}

/// See `goes_without`. The parent finds its own word again.
pub fn go_without() {
    // SAFETY: as above.
    unsafe { *word() = WITHOUT };
}
