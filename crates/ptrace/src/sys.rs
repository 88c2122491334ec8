//! The system calls of a tracer.

use std::io;
use std::mem::{offset_of, zeroed};

/// A system call of a stopped thread.
#[derive(Debug, Clone, Copy)]
pub enum Syscall {
    /// Its begin, or the stop of a seccomp filter before it, with the value of that filter.
    Entry(Entry, Option<u32>),
    /// Its end.
    Exit {
        /// Its result, or a negative errno.
        result: i64,
    },
    /// The thread is in none.
    None,
}

/// The begin of a system call.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Of 64-bit code.
    pub native: bool,
    /// Its number.
    pub number: i64,
    /// The words of its arguments.
    pub arguments: [u64; 6],
}

fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Attaches without stopping the thread.
pub fn seize(tid: i32, options: i32) -> io::Result<()> {
    // SAFETY: the request takes numbers only.
    check(unsafe { libc::ptrace(libc::PTRACE_SEIZE, tid, 0_usize, options as usize as *mut libc::c_void) }).map(drop)
}

/// A request that has a number as its data: a signal, or 0.
pub fn request(request: libc::c_uint, tid: i32, data: i32) -> io::Result<()> {
    // SAFETY: the requests of this file's callers take numbers only.
    check(unsafe { libc::ptrace(request, tid, 0_usize, data as usize as *mut libc::c_void) }).map(drop)
}

/// The message of an event: the new thread, or the former id of a thread that called exec.
pub fn event_message(tid: i32) -> io::Result<i32> {
    let mut message: libc::c_ulong = 0;
    // SAFETY: the kernel writes one word to the variable.
    check(unsafe { libc::ptrace(libc::PTRACE_GETEVENTMSG, tid, 0_usize, &raw mut message) })?;
    Ok(i32::try_from(message).unwrap_or(0))
}

/// The system call at which a thread is stopped.
pub fn syscall(tid: i32) -> io::Result<Syscall> {
    // SAFETY: all zeros are a valid value of this struct of numbers.
    let mut info: libc::ptrace_syscall_info = unsafe { zeroed() };
    let size = size_of::<libc::ptrace_syscall_info>();
    // SAFETY: the kernel writes at most `size` bytes to the variable.
    check(unsafe { libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, tid, size, &raw mut info) })?;
    let native = info.arch == AUDIT_ARCH_X86_64;
    let entry = |number: u64, arguments| Entry { native, number: number.cast_signed(), arguments };
    // SAFETY: `op` says which member of the union the kernel wrote.
    Ok(unsafe {
        match info.op {
            libc::PTRACE_SYSCALL_INFO_ENTRY => Syscall::Entry(entry(info.u.entry.nr, info.u.entry.args), None),
            libc::PTRACE_SYSCALL_INFO_SECCOMP => {
                let seccomp = info.u.seccomp;
                Syscall::Entry(entry(seccomp.nr, seccomp.args), Some(seccomp.ret_data))
            }
            libc::PTRACE_SYSCALL_INFO_EXIT => Syscall::Exit { result: info.u.exit.sval },
            _ => Syscall::None,
        }
    })
}

/// The architecture of 64-bit system calls, in the numbers of the audit subsystem.
pub const AUDIT_ARCH_X86_64: u32 = 0xc000_003e;
/// That of 32-bit ones.
pub const AUDIT_ARCH_I386: u32 = 0x4000_0003;

/// The next stop or end of a traced thread. None: there is no child, or with `nowait` no event.
pub fn wait(tid: i32, nowait: bool) -> io::Result<Option<(i32, i32)>> {
    let flags = libc::__WALL | if nowait { libc::WNOHANG } else { 0 };
    loop {
        let mut status = 0;
        // SAFETY: the kernel writes the status to the variable.
        let waited = unsafe { libc::waitpid(tid, &raw mut status, flags) };
        match waited {
            0 => return Ok(None),
            -1 => {
                let error = io::Error::last_os_error();
                match error.raw_os_error() {
                    Some(libc::EINTR) => {}
                    _ => return Err(error),
                }
            }
            found => return Ok(Some((found, status))),
        }
    }
}

/// Waits for events of traced threads without asking for them again and again. The kernel sends SIGCHLD with each, so
/// while this lives, SIGCHLD is blocked. For a stop it sends none to who ignores it, as the caller of cutap may have
/// chosen (`env --ignore-signal=CHLD`).
pub struct EventWait {
    action: libc::sighandler_t,
    before: libc::sigset_t,
    event: libc::sigset_t,
}

impl EventWait {
    /// Blocks SIGCHLD.
    pub fn start() -> EventWait {
        // SAFETY: all zeros are a valid set, and the functions write to these variables.
        unsafe {
            let (mut before, mut event) = (zeroed(), zeroed());
            libc::sigemptyset(&raw mut event);
            libc::sigaddset(&raw mut event, libc::SIGCHLD);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const event, &raw mut before);
            EventWait { action: libc::signal(libc::SIGCHLD, libc::SIG_DFL), before, event }
        }
    }

    /// Until the next event, or a signal with a handler; at most 20 ms, in which such a signal may have come before.
    pub fn wait(&self) {
        let limit = libc::timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        // SAFETY: the set and the time live during the call.
        unsafe { libc::sigtimedwait(&raw const self.event, std::ptr::null_mut(), &raw const limit) };
    }
}

impl Drop for EventWait {
    fn drop(&mut self) {
        // SAFETY: the action is the one that was there, and the set was filled by pthread_sigmask.
        unsafe {
            libc::signal(libc::SIGCHLD, self.action);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut());
        }
    }
}

/// A register of a stopped thread.
#[derive(Debug, Clone, Copy)]
pub enum Register {
    /// The number of the system call.
    Number,
    /// Its result.
    Result,
    /// Its first argument, in 64-bit code.
    First,
    /// Its first argument, in 32-bit code.
    NarrowFirst,
}

/// Sets a register of a stopped thread.
pub fn set(tid: i32, register: Register, value: u64) -> io::Result<()> {
    let place = match register {
        Register::Number => offset_of!(libc::user_regs_struct, orig_rax),
        Register::Result => offset_of!(libc::user_regs_struct, rax),
        Register::First => offset_of!(libc::user_regs_struct, rdi),
        Register::NarrowFirst => offset_of!(libc::user_regs_struct, rbx),
    };
    // SAFETY: the request takes numbers only: the registers are at the start of the kernel's `struct user`.
    check(unsafe { libc::ptrace(libc::PTRACE_POKEUSER, tid, place, value as usize as *mut libc::c_void) }).map(drop)
}

/// The call of a thread that is stopped at its begin is not made. Its result is as if no tracer existed: ENOSYS.
pub fn refuse(tid: i32) -> io::Result<()> {
    set(tid, Register::Number, u64::MAX)?;
    set(tid, Register::Result, i64::from(-libc::ENOSYS).cast_unsigned())
}

/// The device number of the character device that a thread has open as `fd`. The file system of the file is not asked.
pub fn device_of(tid: i32, fd: i32) -> Option<(u32, u32)> {
    let path = std::ffi::CString::new(format!("/proc/{tid}/fd/{fd}")).ok()?;
    // SAFETY: all zeros are a valid value of this struct of numbers; the kernel writes to it, and reads the path.
    let (result, data) = unsafe {
        let mut data: libc::statx = zeroed();
        let result = libc::statx(
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::AT_STATX_DONT_SYNC | libc::AT_NO_AUTOMOUNT,
            libc::STATX_TYPE,
            &raw mut data,
        );
        (result, data)
    };
    let is_device = result == 0 && u32::from(data.stx_mode) & libc::S_IFMT == libc::S_IFCHR;
    is_device.then_some((data.stx_rdev_major, data.stx_rdev_minor))
}

/// Writes a byte of a process's memory, where the process may too.
pub fn write(tid: i32, address: u64, byte: u8) -> bool {
    let local = libc::iovec { iov_base: (&raw const byte).cast_mut().cast(), iov_len: 1 };
    let remote = libc::iovec { iov_base: address as usize as *mut libc::c_void, iov_len: 1 };
    // SAFETY: the kernel reads one byte of this frame, and checks the other process's address.
    unsafe { libc::process_vm_writev(tid, &raw const local, 1, &raw const remote, 1, 0) == 1 }
}

/// Reads memory of a process, as far as it can be read; the number of bytes. An error: the process may not be read.
pub fn read(tid: i32, address: u64, into: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = into.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        let Some(from) = address.checked_add(filled as u64) else { break };
        let length = rest.len();
        let local = libc::iovec { iov_base: rest.as_mut_ptr().cast(), iov_len: length };
        let remote = libc::iovec { iov_base: from as usize as *mut libc::c_void, iov_len: length };
        // SAFETY: the kernel writes at most `length` bytes to `rest`, and checks the other process's address.
        let read = unsafe { libc::process_vm_readv(tid, &raw const local, 1, &raw const remote, 1, 0) };
        match usize::try_from(read) {
            Ok(read) if read > 0 => filled += read,
            Err(_) if filled == 0 => {
                let error = io::Error::last_os_error();
                return if error.raw_os_error() == Some(libc::EPERM) { Err(error) } else { Ok(0) };
            }
            _ => break,
        }
    }
    Ok(filled)
}

/// Nanoseconds of the monotonic clock.
pub fn now() -> u64 {
    // SAFETY: all zeros are a valid value; the kernel writes the time to the variable.
    let time = unsafe {
        let mut time: libc::timespec = zeroed();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time);
        time
    };
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}
