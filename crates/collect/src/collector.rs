//! The collector: a process in a session of its own that drains the rings while the program runs and
//! prints what they hold, or puts it into a recording. It must never make the program wait longer than its heartbeat says, and
//! never disturb it by dying: when its output breaks it switches recording off and ends in order.

use crate::control::{Page, monotonic_ns};
use crate::error::{Error, Result, UNWRITTEN, reason};
use crate::filter::filter;
use crate::inherited::open_descriptors;
use crate::output::{Form, look_at_programs, output};
use crate::record::Recorder;
use cutap_report::Output;
use cutap_trace::{Event, Follow, FollowOptions};
use cutap_wire::control::{COLLECTOR_ATTACHED, COLLECTOR_GONE};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
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
    /// Do not print: put what the rings hold into a recording.
    pub record: bool,
    /// Remove the run folder if the front process is gone at the end.
    pub temporary: bool,
}

/// Shortest and longest pause between two rounds.
const PAUSE_MS: (i32, i32) = (1, 20);

/// Runs the collector until the program has ended, or its output is broken.
pub fn collect(options: &CollectorOptions) -> Result<()> {
    become_independent();
    let mut line = Line::new();
    let page = Page::open(&options.run)?;
    let mut work: Box<dyn Work> = match options.record {
        true => Box::new(recording(options)?),
        false => Box::new(Printing::new(options)?),
    };
    page.collector(COLLECTOR_ATTACHED);
    line.ready();

    let mut pause = PAUSE_MS.0;
    let broken = loop {
        let last = line.program_is_over();
        let round = work.round(last, &page)?;
        page.beat();
        if round.broken.is_some() || last {
            break round.broken.or_else(|| work.end().err());
        }
        pause = match (round.more, round.found) {
            (true, _) => 0,
            (false, true) => PAUSE_MS.0,
            (false, false) => (pause * 2).clamp(PAUSE_MS.0, PAUSE_MS.1),
        };
        line.wait(pause);
    };
    work.leave(broken.is_some());
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
                "cannot write the {}: {}; the program runs on untraced; write to another place with -o",
                if options.record { "recording" } else { "trace" },
                reason(&e)
            ),
        }),
    }
}

/// What is done with what the rings hold.
trait Work {
    /// Does it with what is there; with `last`, with all of it.
    fn round(&mut self, last: bool, page: &Page) -> Result<Round>;
    /// What comes at the end.
    fn end(&mut self) -> io::Result<()>;
    /// Tidies up behind an output that broke.
    fn leave(&mut self, _broken: bool) {}
}

/// What a round brought.
#[derive(Default)]
struct Round {
    /// Another round at once would find more.
    more: bool,
    found: bool,
    /// Why the output cannot be written any more.
    broken: Option<io::Error>,
}

struct Printing {
    follow: Follow,
    output: Box<dyn Output>,
}

impl Printing {
    fn new(options: &CollectorOptions) -> Result<Printing> {
        let filter = filter(options.filter.as_deref())?;
        let follow = FollowOptions { consume: true, filter, decode: !options.form.summary, ..FollowOptions::default() };
        Ok(Printing { follow: Follow::open(&options.run, follow)?, output: output(options.form) })
    }
}

impl Work for Printing {
    fn round(&mut self, last: bool, page: &Page) -> Result<Round> {
        let (mut round, mut beat, output) = (Round::default(), monotonic_ns(), &mut self.output);
        round.more = self.follow.poll(last, &mut |event: &Event| {
            round.found = true;
            if round.broken.is_none() {
                round.broken = output.event(event).err();
            }
            if monotonic_ns() - beat > 20_000_000 {
                page.beat();
                beat = monotonic_ns();
            }
        })?;
        if round.broken.is_none() {
            round.broken = self.output.tick(self.follow.horizon()).err();
        }
        Ok(round)
    }
    fn end(&mut self) -> io::Result<()> {
        let mut end = self.follow.end();
        look_at_programs(&mut end);
        self.output.end(&end)
    }
}

/// Puts the run into the file that is our standard output.
fn recording(options: &CollectorOptions) -> Result<Recorder> {
    let file = io::stdout().as_fd().try_clone_to_owned().map(File::from);
    file.and_then(|file| Recorder::begin(&options.run, file, true))
        .map_err(|e| Error::own(format!("cannot write the recording: {}; write to another place with -o", reason(&e))))
}

impl Work for Recorder {
    fn round(&mut self, last: bool, page: &Page) -> Result<Round> {
        Ok(match Recorder::round(self, last, &mut || page.beat()) {
            Ok(found) => Round { found, ..Round::default() },
            Err(e) => Round { broken: Some(e), ..Round::default() },
        })
    }
    fn end(&mut self) -> io::Result<()> {
        Recorder::end(self)
    }
    fn leave(&mut self, broken: bool) {
        if broken {
            self.cut_back();
        }
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
