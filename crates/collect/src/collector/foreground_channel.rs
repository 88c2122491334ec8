//! The collector's side of the channel to the foreground process, which reports when the program has started and ended.
//! If that process is gone, the collector checks the program itself.

use cutap_trace::living;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

/// The line to the front process: `g` when the output may be touched, `p<pid>;` when the program has started, `x` when
/// it has ended.
#[derive(Debug)]
pub struct ForegroundChannel {
    stream: UnixStream,
    received: Vec<u8>,
    closed: bool,
}

impl ForegroundChannel {
    /// Takes descriptor 0.
    pub fn new() -> ForegroundChannel {
        use std::os::fd::FromRawFd;
        // SAFETY: descriptor 0 is the line by the contract with the front, and nothing else uses it.
        let stream = unsafe { UnixStream::from_raw_fd(0) };
        let _ = stream.set_nonblocking(true);
        ForegroundChannel { stream, received: Vec::new(), closed: false }
    }
    /// Waits until all else is there that a run needs. False: the front has ended before that.
    pub fn may_begin(&mut self) -> bool {
        while self.received.is_empty() && !self.closed {
            self.wait(-1);
            self.listen();
        }
        !self.received.is_empty() && self.received.remove(0) == b'g'
    }
    /// The rings are drained from now on.
    pub fn ready(&mut self) {
        let _ = self.stream.write_all(b"r");
    }
    /// The front need not wait: we continue without it.
    pub fn announce_detached(&mut self) {
        let _ = self.stream.write_all(b"s");
    }
    fn listen(&mut self) {
        let mut buffer = [0; 64];
        match self.stream.read(&mut buffer) {
            Ok(0) => self.closed = true,
            Ok(n) => self.received.extend_from_slice(&buffer[..n]),
            Err(e) => self.closed |= e.kind() != io::ErrorKind::WouldBlock,
        }
    }
    /// Waits for a word, not longer than so many milliseconds.
    pub fn wait(&mut self, ms: i32) {
        if self.closed {
            std::thread::sleep(std::time::Duration::from_millis(ms as u64));
            return;
        }
        let mut poll = libc::pollfd { fd: self.stream.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one structure of cutap.
        unsafe { libc::poll(&mut poll, 1, ms) };
    }
    /// The front says so; or it is gone, and so is the program.
    pub fn program_is_over(&mut self) -> bool {
        if !self.closed {
            self.listen();
        }
        self.received.contains(&b'x') || self.closed && self.program().is_none_or(|pid| living(pid).is_none())
    }
    /// The front ended before the program did.
    pub fn front_is_gone(&self) -> bool {
        self.closed && !self.received.contains(&b'x')
    }
    fn program(&self) -> Option<u32> {
        let text = std::str::from_utf8(&self.received).ok()?;
        text.strip_prefix('p')?.split(';').next()?.parse().ok()
    }
}
