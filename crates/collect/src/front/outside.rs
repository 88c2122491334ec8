//! Starts a program for a tracer that works from outside, by ptrace: nothing is preloaded, and any program will do.

use crate::base::error::{Error, Result};
use crate::start::launch::{self, LaunchSteps};
use crate::start::program;
use crate::start::signals;
use crate::start::startup_state::StartupState;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

/// How long a tracer may need to see the stop of the program, before cutap stops too.
const STOP_AFTER: Duration = Duration::from_millis(50);

/// Starts the program. `child` runs in the new process right before exec, and makes system calls only: it gives 0 or an
/// errno. `parent` runs in this process before exec. Signals are blocked from here on; see [`forward_signals`].
pub fn start_outside(
    words: &[OsString],
    child: &dyn Fn() -> i32,
    parent: &dyn Fn(i32) -> std::result::Result<(), String>,
) -> Result<i32> {
    let startup = StartupState::capture();
    let search = program::search_path();
    let (name, args) = words.split_first().ok_or_else(|| Error::not_found("no program was given; name one"))?;
    let program = program::locate(name, args, &search)?;
    let variable = |(name, value): (OsString, OsString)| {
        let bytes = [name.into_vec(), b"=".to_vec(), value.into_vec()].concat();
        OsString::from_vec(bytes)
    };
    let environment = std::env::vars_os().map(variable).collect();
    let mask = signals::block();
    let parent = |pid| parent(pid).map_err(Error::own);
    let pid =
        launch::launch_with_steps(&program, environment, &startup, mask, &LaunchSteps { child, parent: &parent })?;
    Ok(pid)
}

/// Hands signals that a process sends to cutap on to the program. Those of the terminal reach the program anyway. After
/// Ctrl-Z cutap stops like the program.
pub fn forward_signals(pid: i32) {
    std::thread::spawn(move || {
        loop {
            let Some(received) = signals::take(Duration::from_secs(3600)) else { continue };
            match received.signal {
                libc::SIGCHLD | libc::SIGCONT => {}
                // The terminal stops both, the program by its own copy of the signal.
                libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU if !received.by_process => {
                    std::thread::sleep(STOP_AFTER);
                    signals::stop_as(libc::SIGSTOP);
                }
                signal if received.by_process && received.sender != pid => signals::send(pid, signal),
                _ => {}
            }
        }
    });
}
