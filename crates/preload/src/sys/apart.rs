//! Work with files where the program cannot meet their descriptors. Its threads share one table of them: while we have a file open,
//! another thread's dup2, close or close_range may take its number, and what we did with that number next would be done to a file
//! of the program's; a child that it forks would inherit it. So where there are other threads, a thread of ours with a table of its own
//! does the work, while this one waits as for a vfork: on the same stack, with the same thread-local words, and gone when the
//! work is done. Mappings that it makes stay.
//!
//! Must never be what a thread id, a robust list or anything else of the calling thread is asked in. Where such a thread cannot be made
//! (a limit, a filter, valgrind) the work is done here, as it is where nobody else is there to meet it.

use super::x86_64::{in_valgrind, syscall4};
use super::{block_signals, nr, restore_signals};
use core::arch::asm;

const CLONE_VM: usize = 0x100;
const CLONE_FS: usize = 0x200;
const CLONE_SIGHAND: usize = 0x800;
const CLONE_VFORK: usize = 0x4000;
const CLONE_THREAD: usize = 0x1_0000;
const CLONE_SYSVSEM: usize = 0x4_0000;
/// A debugger is not told: it would take what waits like this for a process.
const CLONE_UNTRACED: usize = 0x80_0000;
/// All but the descriptors, and what a thread of libc's has for itself.
const SHARED: usize = CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_VFORK | CLONE_THREAD | CLONE_SYSVSEM | CLONE_UNTRACED;

/// Does the work once.
pub fn run(mut work: impl FnMut()) {
    let mut work: &mut dyn FnMut() = &mut work;
    let signals = block_signals();
    // SAFETY: the work is done before `aside` returns.
    if is_alone() || in_valgrind() || !unsafe { aside((&raw mut work).cast()) } {
        work();
    }
    restore_signals(signals);
}

/// True where this process has one thread. Of a folder, the kernel counts its own two names and one for each folder in it.
fn is_alone() -> bool {
    const AT_FDCWD: usize = -100isize as usize;
    let path = b"/proc/self/task\0";
    // struct stat: device, inode, links, ...
    let mut stat = [0u64; 18];
    // SAFETY: the path ends in a zero byte; the kernel writes 144 bytes.
    let done = unsafe { syscall4(nr::NEWFSTATAT, AT_FDCWD, path.as_ptr() as usize, stat.as_mut_ptr() as usize, 0) };
    let [_, _, links, ..] = stat;
    done == 0 && links == 3
}

unsafe extern "C" fn call(work: *mut &mut dyn FnMut()) {
    // SAFETY: `run` waits, and does not look at it meanwhile.
    unsafe { (*work)() }
}

/// Has the work done by a thread with descriptors of its own; false: there is none.
///
/// # Safety
/// `work` is a `&mut dyn FnMut()`, and signals are blocked.
unsafe fn aside(work: *mut ()) -> bool {
    let made: isize;
    // SAFETY: the new thread begins with our registers and stack and goes on below it, where nothing lies, while we wait in the kernel.
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "mov rdi, r12",
            "call r13",
            "xor edi, edi",
            "mov eax, {exit}",
            "syscall",
            "ud2",
            "2:",
            exit = const nr::EXIT,
            inlateout("rax") nr::CLONE as isize => made,
            inlateout("rdi") SHARED => _,
            inlateout("rsi") 0usize => _,
            inlateout("rdx") 0usize => _,
            inlateout("r10") 0usize => _,
            inlateout("r8") 0usize => _,
            in("r12") work,
            in("r13") call as *const (),
            clobber_abi("C"),
        );
    }
    made > 0
}
