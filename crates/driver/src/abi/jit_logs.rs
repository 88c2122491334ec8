//! Logs of the PTX compiler: buffers that a program passes among its options. Nothing is compiled, so a log only
//! explains why code was rejected. As in the driver, each log is emptied first, and its size becomes the number of
//! bytes written.

use super::arguments::{In, Out, put_text};
use super::fault::{Answer, Fault};

/// CU_JIT_INFO_LOG_BUFFER and CU_JIT_ERROR_LOG_BUFFER. The next option of each is its size.
const INFO: u32 = 3;
const ERROR: u32 = 5;

/// Why code was rejected.
fn reason(fault: Fault) -> &'static [u8] {
    match fault {
        Fault::UNSUPPORTED_PTX_VERSION => b"the simulated driver knows no such .version of PTX: it knows 1.0 to 9.x",
        Fault::INVALID_PTX => {
            b"the simulated driver finds this PTX broken: its .target, a directive, a kernel's parameters or a brace"
        }
        _ => b"the simulated driver finds no PTX, cubin or fat binary here",
    }
}

/// The log buffers of a program.
#[derive(Clone, Copy, Default)]
pub struct Logs {
    info: Option<Log>,
    error: Option<Log>,
}

#[derive(Clone, Copy)]
struct Log {
    buffer: u64,
    bytes: u32,
    /// Address of the option with its size.
    size: u64,
}

impl Logs {
    /// The logs among these options. The caller has checked the arrays.
    pub fn of(count: u32, names: In<u32>, values: In<u64>) -> Logs {
        let place = |option| (0..count as usize).find(|n| names.get_at(*n).is_ok_and(|name| name == option));
        let log = |option| {
            let (buffer, size) = (place(option)?, values.address() + 8 * place(option + 1)? as u64);
            Some(Log { buffer: values.get_at(buffer).ok()?, bytes: In::at(size).get().ok()?, size })
        };
        Logs { info: log(INFO), error: log(ERROR) }
    }

    /// Appends to the logs after a linker has accepted or rejected a piece.
    pub fn append_outcome<T>(self, answer: Answer<T>) -> Answer<T> {
        if let (Some(log), Err(fault)) = (self.error, &answer) {
            let before = In::<u32>::at(log.size).get().unwrap_or(0).min(log.bytes);
            let (room, text) = (log.bytes - before, reason(*fault));
            let written = text.len().min(room.saturating_sub(1) as usize);
            if put_text(Out::at(log.buffer + u64::from(before)), room, text).is_ok() {
                Out::<u32>::at(log.size).put_if_wanted(before + written as u32);
            }
        }
        answer
    }

    /// Writes the logs after code was accepted or rejected.
    pub fn write_outcome<T>(self, answer: Answer<T>) -> Answer<T> {
        let refused = answer.as_ref().err().map_or(&b""[..], |fault| reason(*fault));
        for (log, text) in [(self.info, &b""[..]), (self.error, refused)] {
            let Some(log) = log else { continue };
            let written = text.len().min(log.bytes.saturating_sub(1) as usize);
            if put_text(Out::at(log.buffer), log.bytes, text).is_ok() {
                Out::<u32>::at(log.size).put_if_wanted(written as u32);
            }
        }
        answer
    }
}
