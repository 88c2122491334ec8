//! What depends on the processor: system calls, the time stamp counter, the shadow stack test and
//! the memory functions that the compiler calls. The last are hidden: undefined they would bind to
//! the program's (or ASan's), exported they would be everybody's.

pub mod numbers;
mod registers;
mod thread_words;

pub use registers::{Registers, dwarf};
pub use thread_words::*;

use crate::sys::allowed::may;
use core::arch::asm;

/// True under valgrind: the words by which it is asked are instructions that do nothing on a processor.
#[inline]
pub fn in_valgrind() -> bool {
    /// RUNNING_ON_VALGRIND of valgrind.h.
    const REQUEST: [usize; 6] = [0x1001, 0, 0, 0, 0, 0];
    let answer: usize;
    // SAFETY: rdi is rotated by 128 bits in all, rbx exchanged with itself; valgrind reads the six words and writes
    // rdx.
    unsafe {
        asm!("rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
             in("rax") REQUEST.as_ptr(), inlateout("rdx") 0usize => answer, options(nostack, readonly));
    }
    answer != 0
}

/// The size of glibc's pthread_mutex_t.
pub const MUTEX_BYTES: usize = 40;

/// What a filter sees of a system call of this processor: AUDIT_ARCH_X86_64.
pub const AUDIT_ARCHITECTURE: u32 = 0xc000_003e;
/// The number of seccomp, which the program calls.
pub const SECCOMP: usize = 317;

/// What a system call says that is not made.
const ENOSYS: isize = -38;

/// A system call; a negative result is an error number.
///
/// # Safety
/// That of the call.
#[inline]
pub unsafe fn syscall2(nr: usize, a: usize, b: usize) -> isize {
    if !may(nr) {
        return ENOSYS;
    }
    let r;
    // SAFETY: the caller's promise; the kernel clobbers rcx and r11 only.
    unsafe {
        asm!("syscall", inlateout("rax") nr as isize => r, in("rdi") a, in("rsi") b,
             lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    r
}

/// A system call; a negative result is an error number.
///
/// # Safety
/// That of the call.
#[inline]
pub unsafe fn syscall3(nr: usize, a: usize, b: usize, c: usize) -> isize {
    if !may(nr) {
        return ENOSYS;
    }
    let r;
    // SAFETY: the caller's promise; the kernel clobbers rcx and r11 only.
    unsafe {
        asm!("syscall", inlateout("rax") nr as isize => r, in("rdi") a, in("rsi") b, in("rdx") c,
             lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    r
}

/// A system call; a negative result is an error number.
///
/// # Safety
/// That of the call.
#[inline]
pub unsafe fn syscall4(nr: usize, a: usize, b: usize, c: usize, d: usize) -> isize {
    if !may(nr) {
        return ENOSYS;
    }
    let r;
    // SAFETY: the caller's promise; the kernel clobbers rcx and r11 only.
    unsafe {
        asm!("syscall", inlateout("rax") nr as isize => r, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
             lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    r
}

/// A system call; a negative result is an error number.
///
/// # Safety
/// That of the call.
#[inline]
pub unsafe fn syscall6(nr: usize, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize {
    if !may(nr) {
        return ENOSYS;
    }
    let r;
    // SAFETY: the caller's promise; the kernel clobbers rcx and r11 only.
    unsafe {
        asm!("syscall", inlateout("rax") nr as isize => r, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
             lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    r
}

/// Eight bytes that the program may be writing, at any address.
///
/// # Safety
/// They can be read.
#[inline(always)]
pub unsafe fn load8(at: usize) -> u64 {
    let word;
    // SAFETY: the caller's promise.
    unsafe { asm!("mov {}, qword ptr [{}]", out(reg) word, in(reg) at, options(nostack, readonly, preserves_flags)) };
    word
}

/// Four bytes.
///
/// # Safety
/// They can be read.
#[inline(always)]
pub unsafe fn load4(at: usize) -> u32 {
    let word;
    // SAFETY: the caller's promise.
    unsafe { asm!("mov {:e}, dword ptr [{}]", out(reg) word, in(reg) at, options(nostack, readonly, preserves_flags)) };
    word
}

/// Copies words, two at a time.
///
/// # Safety
/// That many pairs can be read; `to` has room for them, and lies as two words do.
#[inline(always)]
pub unsafe fn copy_pairs(from: *const u64, to: *mut u64, pairs: usize) {
    use core::arch::x86_64::{__m128i, _mm_loadu_si128};
    for n in 0..pairs {
        // SAFETY: the caller's promise; volatile, or the compiler calls memcpy after all.
        unsafe { to.cast::<__m128i>().add(n).write_volatile(_mm_loadu_si128(from.cast::<__m128i>().add(n))) };
    }
}

/// Where this thread's block of libc's is.
pub fn thread_pointer() -> usize {
    let p;
    // SAFETY: the ABI keeps the block's own address in its first word.
    unsafe { asm!("mov {}, qword ptr fs:[0]", out(reg) p, options(nostack, pure, readonly, preserves_flags)) };
    p
}

/// Roughly where this thread's stack ends now.
#[inline(always)]
pub fn stack_pointer() -> usize {
    let p: usize;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, rsp", out(reg) p, options(nomem, nostack, preserves_flags)) };
    p
}

/// Where this library's own dynamic section is.
pub fn own_dynamic() -> usize {
    let ours;
    // SAFETY: computes an address.
    unsafe { asm!(".hidden _DYNAMIC", "lea {}, [rip + _DYNAMIC]", out(reg) ours, options(nomem, nostack)) };
    ours
}

/// The address of a weak symbol; 0: there is none.
macro_rules! weak_address {
    ($symbol:literal) => {{
        let at: usize;
        // SAFETY: loads an address from the global offset table.
        unsafe {
            core::arch::asm!(concat!(".weak ", $symbol), concat!("mov {}, qword ptr [rip + ", $symbol, "@GOTPCREL]"),
                 out(reg) at, options(nostack, readonly, preserves_flags));
        }
        at
    }};
}
pub(crate) use weak_address;

/// The time stamp counter.
#[inline(always)]
pub fn timestamp() -> u64 {
    // SAFETY: every x86-64 has it; where the kernel forbids it `constant_timestamp` is false.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// True when the counter runs at one speed in all power states; and its ticks a second, if stated.
pub fn constant_timestamp() -> (bool, u64) {
    use core::arch::x86_64::__cpuid;
    let highest = __cpuid(0).eax;
    let invariant = __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0;
    let mut hz = 0;
    if highest >= 0x15 {
        let c = __cpuid(0x15);
        if let Some(ratio) = (u64::from(c.ecx) * u64::from(c.ebx)).checked_div(u64::from(c.eax)) {
            hz = ratio;
        }
    }
    (invariant, hz)
}

/// True when shadow stacks are on: then a return must go where the call came from.
pub fn shadow_stack() -> bool {
    let p: u64;
    // SAFETY: rdsspq is a no-op where there is none, and leaves the zero.
    unsafe { asm!("xor eax, eax", "rdsspq rax", out("rax") p, options(nomem, nostack)) };
    p != 0
}

#[cfg(feature = "inject")]
core::arch::global_asm!(
    ".hidden memcpy",
    ".hidden memmove",
    ".hidden memset",
    ".hidden memcmp",
    ".hidden bcmp",
    ".globl memcpy, memmove, memset, memcmp, bcmp",
    ".type memcpy,@function",
    ".type memmove,@function",
    ".type memset,@function",
    ".type memcmp,@function",
    ".type bcmp,@function",
    "memcpy:",
    "  mov rax, rdi",
    "  mov rcx, rdx",
    "  rep movsb",
    "  ret",
    "memmove:",
    "  mov rax, rdi",
    "  mov rcx, rdx",
    "  mov r8, rdi",
    "  sub r8, rsi",
    "  cmp r8, rdx",
    "  jb 2f",
    "  rep movsb",
    "  ret",
    "2: lea rdi, [rdi + rdx - 1]",
    "  lea rsi, [rsi + rdx - 1]",
    "  std",
    "  rep movsb",
    "  cld",
    "  ret",
    "memset:",
    "  mov r8, rdi",
    "  mov eax, esi",
    "  mov rcx, rdx",
    "  rep stosb",
    "  mov rax, r8",
    "  ret",
    "memcmp:",
    "bcmp:",
    "  xor eax, eax",
    "  xor ecx, ecx",
    "3: cmp rcx, rdx",
    "  je 4f",
    "  movzx eax, byte ptr [rdi + rcx]",
    "  movzx r8d, byte ptr [rsi + rcx]",
    "  inc rcx",
    "  sub eax, r8d",
    "  je 3b",
    "4: ret",
);
