//! Whether memory can be read, and reading what may be gone: the kernel is asked, so there is never a fault.

use super::allowed::may;
use super::arch::{in_valgrind, syscall3, syscall4, syscall6};
use super::gettid;
use super::used::nr;

const EPERM: isize = -1;
const ESRCH: isize = -3;
const ENOMEM: isize = -12;
const EFAULT: isize = -14;

/// True when eight bytes at `at` can be read. The kernel copies the set before it looks at `how`, and
/// no `how` is usize::MAX, so nothing changes. No set at all is no error to it.
pub fn readable(at: usize) -> bool {
    // Valgrind would tell the person of such a `how`, and of a set that nobody wrote. To copy is seven times as dear.
    if !may(nr::RT_SIGPROCMASK) || in_valgrind() {
        let mut word = 0u64;
        // SAFETY: a word of ours.
        return unsafe { read_process(gettid(), (&raw mut word).cast(), 8, &[(at, 8)]) } == Ok(8);
    }
    // SAFETY: the kernel checks the memory.
    at != 0 && unsafe { syscall4(nr::RT_SIGPROCMASK, usize::MAX, at, 0, 8) != EFAULT }
}

/// True when the page at `at` is in memory. A page that is none, or not there yet, is not fetched.
pub fn resident(at: usize) -> bool {
    let mut pages = 0u8;
    // SAFETY: a byte of ours.
    unsafe { syscall3(nr::MINCORE, at, 1, &raw mut pages as usize) == 0 && pages & 1 != 0 }
}

/// Copies pieces (address, length) of this process's own memory (`pid` is it, or one that shares it) to `to`, as far as
/// they can be read: how many bytes; or an error, with true if the kernel refuses to do so at all.
///
/// # Safety
/// `to` is writable for `len` bytes, which is no less than the pieces hold.
pub unsafe fn read_process(pid: u32, to: *mut u8, len: usize, pieces: &[(usize, usize)]) -> Result<usize, bool> {
    const MOST: usize = 2;
    let local = [to as usize, len];
    let mut remote = [[0usize; 2]; MOST];
    for (to, &(at, len)) in remote.iter_mut().zip(pieces) {
        *to = [at, len];
    }
    let (local, remote, count) = (local.as_ptr() as usize, remote.as_ptr() as usize, pieces.len().min(MOST));
    // SAFETY: the kernel checks what is read; what is written is the caller's promise.
    let read = |pid| unsafe { syscall6(nr::PROCESS_VM_READV, pid as usize, local, 1, remote, count, 0) };
    let mut result = read(pid);
    if matches!(result, ESRCH | EPERM) {
        // A child that shares its parent's memory outlived it, or may not trace it; or the first thread has ended, and
        // has no memory.
        result = read(gettid());
    }
    match result {
        n @ 0.. => Ok(n as usize),
        // What the kernel itself says of memory. All else is a filter's, which may answer any error.
        error => Err(!matches!(error, EFAULT | ENOMEM)),
    }
}

/// Writes to this process's own memory as the kernel would: false where that is not there or may not be written to.
/// `None`: the kernel does not write for us.
///
/// # Safety
/// The program expects the bytes there.
pub unsafe fn write_process(pid: u32, to: usize, bytes: &[u8]) -> Option<bool> {
    let (local, remote) = ([bytes.as_ptr() as usize, bytes.len()], [to, bytes.len()]);
    let (local, remote) = (local.as_ptr() as usize, remote.as_ptr() as usize);
    // SAFETY: the kernel checks the memory; that it may change is the caller's promise.
    let write = |pid| unsafe { syscall6(nr::PROCESS_VM_WRITEV, pid as usize, local, 1, remote, 1, 0) };
    let mut result = write(pid);
    // As in `read_process`.
    if matches!(result, ESRCH | EPERM) {
        result = write(gettid());
    }
    match result {
        n @ 0.. => Some(n as usize == bytes.len()),
        EFAULT | ENOMEM => Some(false),
        _ => None,
    }
}
