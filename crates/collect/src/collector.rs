//! The collector: a process in a session of its own that drains the rings while the program runs and
//! prints what they hold. It must never make the program wait longer than its heartbeat says, and
//! never disturb it by dying: when its output breaks it switches recording off and ends in order.

use crate::control::{Page, monotonic_ns};
use crate::error::{Error, Result, UNWRITTEN, reason};
use crate::filter::filter;
use crate::inherited::open_descriptors;
use crate::output::{Form, look_at_programs, output};
use cutap_trace::{Event, Follow, FollowOptions};
use cutap_wire::control::{COLLECTOR_ATTACHED, COLLECTOR_GONE};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// What the collector is told by the process that starts it. Its descriptors: 0 is the line to the
/// front process, 1 the output, 2 where our own words go.
#[derive(Debug)]
pub struct CollectorOptions {
    /// The run folder.
    pub run: PathBuf,
    /// The filter's text.
    pub filter: Option<String>,
    /// How to print.
    pub form: Form,
    /// Remove the run folder if the front process is gone at the end.
    pub temporary: bool,
}

/// Shortest and longest pause between two rounds.
const PAUSE_MS: (i32, i32) = (1, 20);

/// Runs the collector until the program has ended, or its output is broken.
pub fn collect(options: &CollectorOptions) -> Result<()> {
    become_independent();
    let mut line = Line::new();
    let filter = filter(options.filter.as_deref())?;
    let page = Page::open(&options.run)?;
    let follow = FollowOptions { consume: true, filter, decode: !options.form.summary, ..FollowOptions::default() };
    let mut follow = Follow::open(&options.run, follow)?;
    let mut output = output(options.form);
    page.collector(COLLECTOR_ATTACHED);
    line.ready();

    let mut pause = PAUSE_MS.0;
    let mut broken = None;
    while broken.is_none() {
        let last = line.program_is_over();
        let (mut beat, mut found) = (monotonic_ns(), false);
        let more = follow.poll(last, &mut |event: &Event| {
            found = true;
            if broken.is_none() {
                broken = output.event(event).err();
            }
            if monotonic_ns() - beat > 20_000_000 {
                page.beat();
                beat = monotonic_ns();
            }
        });
        let more = more?;
        if broken.is_none() {
            broken = output.tick(follow.horizon()).err();
        }
        page.beat();
        if last {
            break;
        }
        pause = match (more, found) {
            (true, _) => 0,
            (false, true) => PAUSE_MS.0,
            (false, false) => (pause * 2).clamp(PAUSE_MS.0, PAUSE_MS.1),
        };
        line.wait(pause);
    }
    if broken.is_none() {
        let mut end = follow.end();
        look_at_programs(&mut end);
        broken = output.end(&end).err();
    }
    match &broken {
        Some(_) => page.stop_recording(),
        None => page.collector(COLLECTOR_GONE),
    }
    if line.front_is_gone() && options.temporary {
        let _ = std::fs::remove_dir_all(&options.run);
    }
    match broken.filter(|e| !quiet(e)) {
        None => Ok(()),
        Some(e) => Err(Error {
            code: UNWRITTEN,
            sentence: format!(
                "cannot write the trace: {}; the program runs on untraced; write to another place with -o",
                reason(&e)
            ),
        }),
    }
}

/// The reader has left, or the terminal is gone: nobody is there to be told.
fn quiet(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPIPE | libc::EIO))
}

/// Away from the terminal's signals, and from every descriptor that only the program should hold.
fn become_independent() {
    // SAFETY: no memory is involved. The descriptors are inherited ones that nobody here owns.
    unsafe {
        libc::setsid();
        for fd in open_descriptors() {
            libc::close(fd);
        }
    }
}

/// The line to the front process: `p<pid>;` when the program has started, `x` when it has ended.
struct Line {
    stream: UnixStream,
    heard: Vec<u8>,
    closed: bool,
}

impl Line {
    fn new() -> Line {
        use std::os::fd::FromRawFd;
        // SAFETY: descriptor 0 is the line by the contract with the front, and nothing else uses it.
        let stream = unsafe { UnixStream::from_raw_fd(0) };
        let _ = stream.set_nonblocking(true);
        Line { stream, heard: Vec::new(), closed: false }
    }
    fn ready(&mut self) {
        let _ = self.stream.write_all(b"r");
    }
    fn listen(&mut self) {
        let mut buffer = [0; 64];
        match self.stream.read(&mut buffer) {
            Ok(0) => self.closed = true,
            Ok(n) => self.heard.extend_from_slice(&buffer[..n]),
            Err(e) => self.closed |= e.kind() != io::ErrorKind::WouldBlock,
        }
    }
    fn wait(&mut self, ms: i32) {
        if self.closed {
            std::thread::sleep(std::time::Duration::from_millis(ms as u64));
            return;
        }
        let mut poll = libc::pollfd { fd: self.stream.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one structure of our own.
        unsafe { libc::poll(&mut poll, 1, ms) };
    }
    /// The front says so; or it is gone, and so is the program.
    fn program_is_over(&mut self) -> bool {
        if !self.closed {
            self.listen();
        }
        self.heard.contains(&b'x') || self.closed && self.program().is_none_or(|pid| !alive(pid))
    }
    fn front_is_gone(&self) -> bool {
        self.closed && !self.heard.contains(&b'x')
    }
    fn program(&self) -> Option<u32> {
        let text = std::str::from_utf8(&self.heard).ok()?;
        text.strip_prefix('p')?.split(';').next()?.parse().ok()
    }
}

/// A process that runs, and is not only waiting to be collected.
fn alive(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")) else { return false };
    // The state stands behind the name, which is in brackets and may hold anything.
    !matches!(stat.rsplit(") ").next().and_then(|s| s.chars().next()), Some('Z' | 'X') | None)
}
