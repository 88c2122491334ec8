//! A pager for long outputs: only when standard output is a terminal. `PAGER` names another one; empty, there is none.

use cutap_collect::keep_terminal;
use std::io::{IsTerminal, Write, stdout};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, Command, Stdio};

/// A pager that reads standard output, until it is dropped.
pub struct Pager(Option<(Child, OwnedFd)>);

impl Pager {
    /// Starts one, if there is a terminal to page on.
    pub fn start() -> Pager {
        let is_wanted = stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        Pager(is_wanted.then(begin).flatten())
    }
}

fn begin() -> Option<(Child, OwnedFd)> {
    let mut command = match std::env::var_os("PAGER") {
        Some(pager) if pager.is_empty() => return None,
        Some(pager) => {
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(pager);
            shell
        }
        None => {
            // It quits if all fits on one screen, keeps colours, and leaves the text on the screen.
            let mut less = Command::new("less");
            less.arg("-FRX");
            less
        }
    };
    keep_terminal();
    let terminal = std::os::fd::AsFd::as_fd(&stdout()).try_clone_to_owned().ok()?;
    let mut child = command.stdin(Stdio::piped()).spawn().ok()?;
    let pipe = child.stdin.take()?;
    // SAFETY: both are descriptors of this process; standard output is the terminal again when this is dropped.
    let moved = unsafe { libc::dup2(pipe.as_raw_fd(), libc::STDOUT_FILENO) };
    (moved >= 0).then_some((child, terminal))
}

impl Drop for Pager {
    fn drop(&mut self) {
        let Some((child, terminal)) = &mut self.0 else { return };
        let _ = stdout().flush();
        // SAFETY: closes the pipe, at whose end the pager waits, and puts the terminal back.
        unsafe { libc::dup2(terminal.as_raw_fd(), libc::STDOUT_FILENO) };
        let _ = child.wait();
    }
}
