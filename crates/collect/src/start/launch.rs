//! Starts the program by fork and exec, with the signal mask, dispositions, descriptors and arguments that it would
//! have without cutap. Only system calls are made between fork and exec.

use crate::base::error::{Error, Result};
use crate::start::program::Program;
use crate::start::signals::Mask;
use crate::start::startup_state::{StartupState, restore_file_limit};
use std::ffi::{CString, OsString};
use std::io::Read;
use std::os::fd::{FromRawFd, IntoRawFd};
use std::os::unix::ffi::OsStringExt;

/// What a caller adds to the start.
pub struct LaunchSteps<'a> {
    /// Runs in the new process right before exec, and makes system calls only: 0 or an errno.
    pub child: &'a dyn Fn() -> i32,
    /// Runs in this process after fork. An error ends the new process.
    pub parent: &'a dyn Fn(i32) -> Result<()>,
}

/// Starts it; its process id, once exec has worked. `mask` is the signal mask as it was: now all are blocked.
pub fn launch(program: &Program, env: Vec<OsString>, startup: &StartupState, mask: Mask) -> Result<i32> {
    launch_with_steps(program, env, startup, mask, &LaunchSteps { child: &|| 0, parent: &|_| Ok(()) })
}

/// Like [`launch`], with further steps in both processes.
pub fn launch_with_steps(
    program: &Program,
    env: Vec<OsString>,
    startup: &StartupState,
    mask: Mask,
    steps: &LaunchSteps<'_>,
) -> Result<i32> {
    let strings = |all: Vec<OsString>| -> Result<Vec<CString>> {
        let text =
            |s: OsString| CString::new(s.into_vec()).map_err(|_| Error::own("an argument has a zero byte in it"));
        all.into_iter().map(text).collect()
    };
    let path = strings(vec![program.path.clone().into_os_string()])?.remove(0);
    let (args, env) = (strings(program.args.clone())?, strings(env)?);
    let pointers = |all: &[CString]| all.iter().map(|s| s.as_ptr()).chain([std::ptr::null()]).collect::<Vec<_>>();
    let (argv, envp) = (pointers(&args), pointers(&env));
    let (mut status_reader, status_writer) =
        std::io::pipe().map_err(|e| Error::own(format!("cannot make a pipe: {e}")))?;
    let status_writer = status_writer.into_raw_fd();
    let mut timers = startup.timers;
    timers.capture_real();
    // SAFETY: this process has one thread, so the child may continue as a copy; until exec it makes
    // system calls only. All pointers lead to strings that live until the end of this function.
    unsafe {
        match libc::fork() {
            -1 => {
                let e = std::io::Error::last_os_error();
                Err(Error::own(format!("cannot start a process: {e}; end others or raise the limit (ulimit -u)")))
            }
            0 => {
                // Rust and we ignore them in us; what was ignored before us stays ignored.
                libc::signal(libc::SIGPIPE, if startup.pipe_ignored { libc::SIG_IGN } else { libc::SIG_DFL });
                libc::signal(libc::SIGXFSZ, if startup.limit_ignored { libc::SIG_IGN } else { libc::SIG_DFL });
                if startup.child_ignored {
                    libc::signal(libc::SIGCHLD, libc::SIG_IGN);
                }
                for fd in (0..3).filter(|fd| startup.closed & 1 << fd != 0) {
                    libc::close(fd);
                }
                restore_file_limit();
                mask.restore();
                timers.rearm();
                let mut errno = (steps.child)();
                if errno == 0 {
                    libc::execve(path.as_ptr(), argv.as_ptr(), envp.as_ptr());
                    errno = *libc::__errno_location();
                }
                libc::write(status_writer, (&raw const errno).cast(), size_of::<i32>());
                libc::_exit(127)
            }
            child => {
                drop(std::fs::File::from_raw_fd(status_writer));
                if let Err(error) = (steps.parent)(child) {
                    libc::kill(child, libc::SIGKILL);
                    libc::waitpid(child, std::ptr::null_mut(), 0);
                    return Err(error);
                }
                let mut errno = [0; 4];
                match status_reader.read_exact(&mut errno) {
                    Err(_) => Ok(child),
                    Ok(()) => {
                        libc::waitpid(child, std::ptr::null_mut(), 0);
                        Err(refused(program, i32::from_ne_bytes(errno)))
                    }
                }
            }
        }
    }
}

/// What exec said that the checks before could not know.
fn refused(program: &Program, errno: i32) -> Error {
    let path_text = program.path.display();
    match errno {
        libc::ENOENT => {
            Error::not_found(format!("cannot run {path_text}: it or its interpreter is gone; check the path"))
        }
        libc::E2BIG => Error::own(format!(
            "cannot run {path_text}: its arguments and environment are too long together; make one of them shorter"
        )),
        libc::EACCES => Error::not_executable(format!(
            "cannot run {path_text}: permission denied (perhaps its file system is mounted noexec); copy it elsewhere"
        )),
        _ => {
            let e = std::io::Error::from_raw_os_error(errno);
            Error::not_executable(format!(
                "cannot run {path_text}: {}; try it without cutap",
                crate::base::error::reason(&e)
            ))
        }
    }
}
