//! The start of a traced program. Its process waits until it is traced, sets no_new_privs, installs the filter, then
//! executes. Between fork and exec it makes system calls only.

use crate::error::{Error, reason};
use crate::filter::StopRule;
use crate::{filter, refused, sys};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// The options of every traced thread.
pub(crate) const OPTIONS: i32 = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXEC;

/// Made before fork; both processes have it.
#[derive(Debug)]
pub struct Gate {
    wait: OwnedFd,
    go: OwnedFd,
    filter: Vec<libc::sock_filter>,
    value: u16,
}

impl Gate {
    /// Prepares the start of a program that stops at these system calls.
    ///
    /// # Errors
    /// There are too many open files.
    pub fn new(rules: &[StopRule]) -> Result<Self, Error> {
        let (wait, go) = io::pipe().map_err(|e| {
            let why = reason(&e);
            Error::new(format!("cannot make a pipe: {why}; close files or raise the limit (ulimit -n)"))
        })?;
        let value = unlikely_value();
        Ok(Self { wait: wait.into(), go: go.into(), filter: filter::program(value, rules), value })
    }

    /// The value of the filter's stops.
    #[must_use]
    pub fn value(&self) -> u16 {
        self.value
    }

    /// In the child, right before exec: 0, or the errno of what failed.
    pub fn child(&self) -> i32 {
        let errno = || io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL);
        let program = libc::sock_fprog {
            len: u16::try_from(self.filter.len()).unwrap_or(0),
            filter: self.filter.as_ptr().cast_mut(),
        };
        // SAFETY: system calls on descriptors of this process, one byte of its stack, and the filter, which the
        // kernel copies.
        unsafe {
            libc::close(self.go.as_raw_fd());
            let mut byte = 0_u8;
            // The tracer has failed, or is gone.
            if libc::read(self.wait.as_raw_fd(), (&raw mut byte).cast(), 1) != 1 {
                return libc::ECANCELED;
            }
            libc::close(self.wait.as_raw_fd());
            if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 {
                return errno();
            }
            if libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) != 0 {
                return errno();
            }
        }
        0
    }

    /// In the parent: traces the child, and lets it continue.
    ///
    /// # Errors
    /// The system does not allow it; the sentence names the setting.
    pub fn parent(&self, child: i32) -> Result<(), Error> {
        sys::seize(child, OPTIONS | libc::PTRACE_O_TRACESECCOMP | libc::PTRACE_O_EXITKILL)
            .map_err(|error| refused::sentence("the program", child, &error))?;
        // SAFETY: one byte of a constant.
        let written = unsafe { libc::write(self.go.as_raw_fd(), c"g".as_ptr().cast(), 1) };
        if written == 1 {
            return Ok(());
        }
        Err(Error::new("the program's process ended before it was traced; try again"))
    }
}

/// A value that no filter of the program has, except by chance: other stops are refused as without a tracer.
fn unlikely_value() -> u16 {
    let mut bytes = [0; 2];
    // SAFETY: the kernel writes at most two bytes to the array. Without random bytes 0 is as good as another value.
    unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    u16::from_le_bytes(bytes) | 0x8000
}
