//! The kernel and libc as the target may use them: raw system calls, which leave errno alone, and
//! libc functions as weak references, so that the library has no DT_NEEDED and no versioned symbol.

pub mod allowed;
pub mod arch;
pub mod callback;
pub mod classic_bpf;
mod file;
mod forbidden_here;
pub mod kept;
pub mod libc;
pub mod mappings;
mod memory;
pub mod program_headers;
pub mod robust_list;
pub mod stack;
mod table;
pub mod used;

pub use file::{File, MADE, Open, device_node, is_same_file, make_folder, regular_file, remove, with};
pub use memory::{read_process, readable, resident, write_process};
pub use table::{Opened, Table};

use arch::{syscall2, syscall3, syscall4, syscall6};
use core::sync::atomic::AtomicU32;
use used::nr;

/// `PROT_READ`
pub const PROT_READ: usize = 1;
/// `PROT_WRITE`
pub const PROT_WRITE: usize = 2;
const MAP_PRIVATE: usize = 2;
const MAP_ANONYMOUS: usize = 0x20;
const MAP_NORESERVE: usize = 0x4000;
const MREMAP_MAYMOVE: usize = 1;
const MREMAP_FIXED: usize = 2;
const MADV_WIPEONFORK: usize = 18;
/// What a call says that is not made: see `allowed`.
const ENOSYS: isize = -38;

/// Fresh zeroed memory of this process. Null when refused.
pub fn pages(bytes: usize) -> *mut u8 {
    // SAFETY: a new mapping.
    let p = unsafe {
        syscall6(nr::MMAP, 0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, usize::MAX, 0)
    };
    if p < 0 { core::ptr::null_mut() } else { p as *mut u8 }
}

/// Memory of this process that reads as zeros and counts as no data until it is [`opened`]. Null when refused.
pub fn closed_pages(bytes: usize) -> *mut u8 {
    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    // SAFETY: a new mapping.
    let p = unsafe { syscall6(nr::MMAP, 0, bytes, PROT_READ, flags, usize::MAX, 0) };
    if p < 0 { core::ptr::null_mut() } else { p as *mut u8 }
}

/// Gives a mapping back.
///
/// # Safety
/// Nothing uses it any more.
pub unsafe fn unmap(at: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { syscall2(nr::MUNMAP, at as usize, bytes) };
}

/// Makes the beginning of what [`File::map_closed`] or [`closed_pages`] gave usable, as far as its file is allocated;
/// twice does no harm.
pub fn opened(at: *mut u8, bytes: usize) -> bool {
    // SAFETY: a mapping of ours, which only gains rights.
    unsafe { protect(at as usize, bytes, PROT_READ | PROT_WRITE) }
}

/// Changes what may be done with pages.
///
/// # Safety
/// The caller knows that nothing depends on the rights that are taken away.
pub unsafe fn protect(at: usize, bytes: usize, rights: usize) -> bool {
    // SAFETY: the caller's promise.
    unsafe { syscall3(nr::MPROTECT, at, bytes, rights) == 0 }
}

/// Puts pages into the place of others.
///
/// # Safety
/// Both are mappings of ours of this length, and what the others hold is not needed any more.
pub unsafe fn move_over(from: *mut u8, to: *mut u8, bytes: usize) -> bool {
    let flags = MREMAP_MAYMOVE | MREMAP_FIXED;
    // SAFETY: the caller's promise.
    unsafe { syscall6(nr::MREMAP, from as usize, bytes, bytes, flags, to as usize, 0) == to as isize }
}

/// The pages read as zero in a forked child.
pub fn wipe_on_fork(at: *mut u8, bytes: usize) -> bool {
    // SAFETY: advice on a mapping of ours.
    unsafe { syscall3(nr::MADVISE, at as usize, bytes, MADV_WIPEONFORK) == 0 }
}

/// Makes a symbolic link.
pub fn link(to: &[u8], path: &[u8]) -> bool {
    debug_assert!(to.last() == Some(&0) && path.last() == Some(&0));
    // SAFETY: both end in a zero byte.
    unsafe { syscall2(nr::SYMLINK, to.as_ptr() as usize, path.as_ptr() as usize) == 0 }
}

/// Where a symbolic link points; the length.
pub fn read_link(path: &[u8], to: &mut [u8]) -> usize {
    // SAFETY: the path ends in a zero byte, the buffer is ours.
    let n = unsafe { syscall3(nr::READLINK, path.as_ptr() as usize, to.as_mut_ptr() as usize, to.len()) };
    n.max(0) as usize
}

/// Bytes of the longest name of a thread.
pub const THREAD_NAME: usize = 15;

/// What this thread is called.
pub fn thread_name(to: &mut [u8; THREAD_NAME + 1]) -> &[u8] {
    const PR_GET_NAME: usize = 16;
    // SAFETY: the kernel writes 16 bytes.
    let succeeded = unsafe { syscall2(nr::PRCTL, PR_GET_NAME, to.as_mut_ptr() as usize) } == 0;
    let len = to.iter().position(|&c| c == 0).filter(|_| succeeded).unwrap_or(0);
    to.get(..len).unwrap_or(&[])
}

/// Names this thread.
pub fn set_thread_name(name: &[u8]) {
    const PR_SET_NAME: usize = 15;
    let mut text = [0u8; THREAD_NAME + 1];
    text.iter_mut().take(THREAD_NAME).zip(name).for_each(|(to, from)| *to = *from);
    // SAFETY: sixteen bytes of ours, with a zero at the end.
    unsafe { syscall2(nr::PRCTL, PR_SET_NAME, text.as_ptr() as usize) };
}

/// Runs another program in this process. It returns if that cannot be.
///
/// # Safety
/// That of execve.
pub unsafe fn execute(path: *const u8, argv: *const *const u8, envp: *const *const u8) {
    // SAFETY: the caller's promise.
    unsafe { syscall3(nr::EXECVE, path as usize, argv as usize, envp as usize) };
}

/// Process id.
pub fn getpid() -> u32 {
    // SAFETY: no memory.
    id(unsafe { syscall2(nr::GETPID, 0, 0) }, kept::pid)
}
/// Parent's process id.
pub fn getppid() -> u32 {
    // SAFETY: no memory.
    id(unsafe { syscall2(nr::GETPPID, 0, 0) }, kept::ppid)
}
/// Thread id.
pub fn gettid() -> u32 {
    // SAFETY: no memory.
    id(unsafe { syscall2(nr::GETTID, 0, 0) }, kept::tid)
}
/// What the kernel answered; where it may not be asked, what is known.
fn id(answer: isize, kept: fn() -> u32) -> u32 {
    u32::try_from(answer).unwrap_or_else(|_| kept())
}
/// The list of what this thread holds that the kernel marks at its end; 0: it knows none.
pub fn robust_list() -> usize {
    let (mut list, mut bytes) = (0usize, 0usize);
    // SAFETY: the kernel writes two words of ours.
    unsafe { syscall3(nr::GET_ROBUST_LIST, 0, &raw mut list as usize, &raw mut bytes as usize) };
    list
}
/// Makes it this one.
///
/// # Safety
/// It is a list as the kernel wants it, and stays as long as the thread.
pub unsafe fn set_robust_list(list: usize) {
    /// The head's three words.
    const BYTES: usize = 24;
    // SAFETY: the caller's promise.
    unsafe { syscall2(nr::SET_ROBUST_LIST, list, BYTES) };
}
/// Whether a thread of this process is there.
pub fn thread_lives(tid: u32) -> bool {
    const ESRCH: isize = -3;
    // SAFETY: no memory; signal 0 is not sent.
    unsafe { syscall3(nr::TGKILL, getpid() as usize, tid as usize, 0) != ESRCH }
}
const FUTEX_LOCK_PI: usize = 6 | FUTEX_PRIVATE;
const FUTEX_UNLOCK_PI: usize = 7 | FUTEX_PRIVATE;
const FUTEX_PRIVATE: usize = 128;

/// Waits for a lock whose word is its holder's thread id, and takes it; the holder runs with this thread's priority
/// meanwhile. An error: the kernel does not do it; true: because it knows no such thread.
pub fn lock_pi(word: &AtomicU32) -> Result<(), bool> {
    const ESRCH: isize = -3;
    // SAFETY: a word that stays.
    match unsafe { syscall4(nr::FUTEX, word.as_ptr() as usize, FUTEX_LOCK_PI, 0, 0) } {
        0 => Ok(()),
        error => Err(error == ESRCH),
    }
}
/// Gives it to the next thread that waits for it.
pub fn unlock_pi(word: &AtomicU32) -> bool {
    // SAFETY: a word that stays.
    unsafe { syscall4(nr::FUTEX, word.as_ptr() as usize, FUTEX_UNLOCK_PI, 0, 0) == 0 }
}

/// Lets others run that are as urgent.
pub fn yield_now() {
    // SAFETY: no memory.
    if unsafe { syscall2(nr::SCHED_YIELD, 0, 0) } != 0 {
        core::hint::spin_loop();
    }
}
/// Sleeps about this long; where that is forbidden, for a moment.
pub fn sleep_us(us: u64) {
    let time = [us / 1_000_000, us % 1_000_000 * 1000];
    // SAFETY: two words of ours.
    if unsafe { syscall2(nr::NANOSLEEP, time.as_ptr() as usize, 0) } == ENOSYS {
        (0..1000).for_each(|_| core::hint::spin_loop());
    }
}
/// Waits for another thread, the `turn`th time. To yield does not let a thread run that is less urgent, and a real-time
/// thread would wait for it in vain. So after some turns this sleeps.
pub fn wait(turn: u32) {
    const YIELDS: u32 = 50;
    if turn < YIELDS { yield_now() } else { sleep_us(100) }
}

/// CLOCK_MONOTONIC
pub const MONOTONIC: usize = 1;
/// CLOCK_REALTIME
pub const REALTIME: usize = 0;

/// A clock in nanoseconds, by system call.
pub fn clock(which: usize) -> u64 {
    let mut t = [0u64; 2];
    // SAFETY: two words of ours.
    if unsafe { syscall2(nr::CLOCK_GETTIME, which, t.as_mut_ptr() as usize) } != 0 {
        return kept::clock(which == REALTIME);
    }
    let [s, ns] = t;
    s.wrapping_mul(1_000_000_000).wrapping_add(ns)
}

/// Every signal but those that a thread causes itself: blocked, they would end the program where its handler
/// stands ready, such as a sandbox's for SIGSYS.
pub const ALL_BUT_OWN: u64 = !(1 << 3 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 10 | 1 << 30);

/// Blocks them; gives back the mask as it was.
pub fn block_signals() -> u64 {
    let (all, mut old) = (ALL_BUT_OWN, 0u64);
    let (set, was) = (&raw const all as usize, &raw mut old as usize);
    // SAFETY: two words of ours. SIG_BLOCK is 0.
    unsafe { syscall4(nr::RT_SIGPROCMASK, 0, set, was, 8) };
    old
}
/// Puts the mask back.
pub fn restore_signals(old: u64) {
    // SAFETY: a word of ours. SIG_SETMASK is 2.
    unsafe { syscall4(nr::RT_SIGPROCMASK, 2, &raw const old as usize, 0, 8) };
}

/// True on an alternate signal stack, where nothing can be said of frames by their addresses.
pub fn on_signal_stack() -> bool {
    const SS_ONSTACK: usize = 1;
    let mut stack = [0usize; 3];
    // SAFETY: three words of ours.
    let answer = unsafe { syscall2(nr::SIGALTSTACK, 0, stack.as_mut_ptr() as usize) };
    let [_, flags, _] = stack;
    // Nothing can be said either where that is not known.
    answer == ENOSYS || flags & SS_ONSTACK != 0
}

/// A word that only one thread takes at a time, for set-up work: `who` is a thread id, 0 is free.
/// It is no lock: who cannot have it continues without.
pub fn take(word: &AtomicU32, who: u32) -> bool {
    use core::sync::atomic::Ordering::{Acquire, Relaxed};
    word.compare_exchange(0, who, Acquire, Relaxed).is_ok()
}

/// A zero-terminated string at `p`, at most `max` bytes.
///
/// # Safety
/// `p` is null or points to such a string that outlives the result.
pub unsafe fn text<'a>(p: *const u8, max: usize) -> &'a [u8] {
    if p.is_null() {
        return &[];
    }
    let mut n = 0;
    // SAFETY: the caller's promise; every byte up to the zero is part of the string.
    while n < max && unsafe { p.add(n).read() } != 0 {
        n += 1;
    }
    // SAFETY: as above.
    unsafe { core::slice::from_raw_parts(p, n) }
}
