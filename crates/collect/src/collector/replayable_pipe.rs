//! Lines on their way to a pipe or a terminal, so that a collector that replaces a killed one knows what was written,
//! to the byte. The lines are in memory that the foreground process holds.
//!
//! The kernel moves them from there to the output. The descriptor's position moves in the same system call and outlives
//! the collector. Not for files: output of the program would be overwritten.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Sixteen pages, wherever in a page it begins.
const AT_A_TIME: u64 = 60 << 10;
/// What was sent is let go of when it is so much.
const MOST: u64 = 1 << 20;

/// The memory.
#[derive(Debug)]
pub struct ReplayablePipe {
    file: File,
    end: AtomicU64,
}

impl ReplayablePipe {
    /// The memory for all collectors of a run, made by the front; none where that cannot be.
    pub fn memory() -> Option<OwnedFd> {
        // SAFETY: a name of cutap; the descriptor is new.
        unsafe {
            let fd = libc::memfd_create(c"cutap-lines".as_ptr(), libc::MFD_CLOEXEC);
            (fd >= 0).then(|| OwnedFd::from_raw_fd(fd))
        }
    }

    /// Goes on where the lines end that are said to be there. What stands behind was not said, and will come again.
    pub fn take(fd: i32, length: u64) -> io::Result<Arc<ReplayablePipe>> {
        // SAFETY: the front's descriptor by the contract with it, and nothing else uses it.
        let mut file = unsafe { File::from_raw_fd(fd) };
        file.set_len(length)?;
        // It was just being let go of.
        if file.stream_position()? > length {
            file.rewind()?;
        }
        Ok(Arc::new(ReplayablePipe { file, end: length.into() }))
    }

    /// Where the lines end.
    pub fn end(&self) -> u64 {
        self.end.load(Relaxed)
    }

    /// Writes what was not written yet; to be called when the control page says where the lines end.
    pub fn send(&self, output: &impl AsRawFd) -> io::Result<()> {
        let mut file = &self.file;
        loop {
            let at = file.stream_position()?;
            let length = self.whole_lines(at)?;
            if length == 0 {
                return Ok(());
            }
            // SAFETY: two descriptors; with no place of ours the kernel moves the position.
            let sent = unsafe { libc::sendfile(output.as_raw_fd(), file.as_raw_fd(), std::ptr::null_mut(), length) };
            if sent > 0 {
                continue;
            }
            match io::Error::last_os_error() {
                _ if sent == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                e if e.kind() == io::ErrorKind::Interrupted => {}
                // Somebody, the program perhaps, has told the pipe not to wait.
                e if e.kind() == io::ErrorKind::WouldBlock => wait(output),
                e if matches!(e.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS)) => self.send_by_hand(output)?,
                e => return Err(e),
            }
        }
    }

    /// How much is sent from there at a time: as much as the kernel moves at once, up to the end of a line, so that the
    /// program's own words come between lines.
    fn whole_lines(&self, at: u64) -> io::Result<usize> {
        let length = self.end().saturating_sub(at).min(AT_A_TIME) as usize;
        if (length as u64) < AT_A_TIME {
            return Ok(length);
        }
        let mut last = [0; 4096];
        let from = at + (length - last.len()) as u64;
        self.file.read_exact_at(&mut last, from)?;
        Ok(length - last.iter().rev().position(|b| *b == b'\n').unwrap_or(0))
    }

    /// The same for an output to which the kernel does not move anything.
    fn send_by_hand(&self, output: &impl AsRawFd) -> io::Result<()> {
        let mut file = &self.file;
        let at = file.stream_position()?;
        let mut bytes = vec![0; self.whole_lines(at)?];
        let n = file.read_at(&mut bytes, at)?;
        // SAFETY: so many bytes of cutap.
        let written = unsafe { libc::write(output.as_raw_fd(), bytes.as_ptr().cast(), n) };
        if written < 0 {
            return match io::Error::last_os_error() {
                e if e.kind() == io::ErrorKind::Interrupted => Ok(()),
                e if e.kind() == io::ErrorKind::WouldBlock => {
                    wait(output);
                    Ok(())
                }
                e => Err(e),
            };
        }
        file.seek(SeekFrom::Current(written as i64)).map(|_| ())
    }

    /// Lets go of all that was sent, if it is much; `announce` has to say that the lines end at 0, before they do.
    pub fn let_go(&self, announce: impl FnOnce()) {
        let mut file = &self.file;
        if self.end() > MOST && file.stream_position().is_ok_and(|at| at == self.end()) {
            announce();
            if file.rewind().and_then(|()| file.set_len(0)).is_ok() {
                self.end.store(0, Relaxed);
            }
        }
    }
}

fn wait(output: &impl AsRawFd) {
    let mut poll = libc::pollfd { fd: output.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
    // SAFETY: one structure of cutap.
    unsafe { libc::poll(&mut poll, 1, 1000) };
}

/// What writes lines into it.
#[derive(Debug)]
pub struct Lines(pub Arc<ReplayablePipe>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.file.write_all_at(bytes, self.0.end())?;
        self.0.end.fetch_add(bytes.len() as u64, Relaxed);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    /// Its own position is what a duplicate has too, as another process would.
    fn again(memory: &OwnedFd, said: u64) -> Arc<ReplayablePipe> {
        let fd = memory.as_fd().try_clone_to_owned().unwrap();
        ReplayablePipe::take(std::os::fd::IntoRawFd::into_raw_fd(fd), said).unwrap()
    }

    fn read(pipe: &mut std::io::PipeReader, n: usize) -> String {
        let mut bytes = vec![0; n];
        std::io::Read::read_exact(pipe, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn each_byte_is_sent_once_whoever_sends_it() {
        let memory = ReplayablePipe::memory().unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        let first = again(&memory, 0);
        Lines(first.clone()).write_all(b"one\ntwo\n").unwrap();
        // Not said: it comes again.
        drop(first);
        let second = again(&memory, 0);
        Lines(second.clone()).write_all(b"one\ntwo\nthree\n").unwrap();
        second.send(&writer).unwrap();
        assert_eq!(read(&mut reader, 14), "one\ntwo\nthree\n");
        Lines(second.clone()).write_all(b"four\n").unwrap();
        // Said, and not sent.
        let third = again(&memory, 19);
        third.send_by_hand(&writer).unwrap();
        third.send(&writer).unwrap();
        assert_eq!(read(&mut reader, 5), "four\n");
        let mut said = false;
        third.let_go(|| said = true);
        assert!(!said, "little");
        let much = vec![b'x'; MOST as usize];
        Lines(third.clone()).write_all(&much).unwrap();
        let sender = std::thread::spawn({
            let (third, writer) = (third.clone(), writer.try_clone().unwrap());
            move || third.send(&writer)
        });
        assert_eq!(read(&mut reader, MOST as usize).len(), MOST as usize);
        sender.join().unwrap().unwrap();
        third.let_go(|| said = true);
        assert_eq!((said, third.end()), (true, 0));
        // Killed between saying so and doing it: the position is behind the end.
        third.file.set_len(30).unwrap();
        (&third.file).seek(SeekFrom::Start(30)).unwrap();
        let fourth = again(&memory, 0);
        Lines(fourth.clone()).write_all(b"five\n").unwrap();
        fourth.send(&writer).unwrap();
        assert_eq!(read(&mut reader, 5), "five\n");
    }
}
