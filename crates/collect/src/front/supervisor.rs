//! Keeps a collector running: starts one, and another if it was killed or its heartbeat stops. The program never waits
//! for that. There is never a second collector: each is waited for, and locks the run.

use crate::base::error::{Error, OWN_FAILURE, Result, UNREAD, UNWRITTEN, advice, print_notice, reason};
use crate::collector::collector_options::CollectorOptions;
use crate::collector::replayable_pipe::ReplayablePipe;
use crate::collector::summary_checkpoint::SummaryCheckpoint;
use crate::output::output_file;
use crate::run_dir::control::{Page, monotonic_ns};
use cutap_trace::RunPath;
use cutap_wire::control::COLLECTOR_GONE;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

/// Collectors that are started in place of others; what kills this many will kill the next one too.
const MOST: u32 = 5;
/// A collector that is stopped is replaced when its heartbeat is older.
const STOPPED_NS: u64 = 1_000_000_000;
/// How often a collector that is not ready yet is looked at.
const GLANCE: Duration = Duration::from_millis(100);

/// The collector as the front sees it.
#[derive(Debug)]
pub struct Collector {
    process: Child,
    /// Our end of the line to it.
    channel: UnixStream,
    page: Page,
    /// How it ended, once it has.
    pub exit_status: Option<ExitStatus>,
}

impl Collector {
    /// Ends one that is stopped, and puts what `replace` gives in the place of one that has ended; `options` is
    /// what it has to know of the program.
    pub fn supervise(&mut self, options: &str, replace: &mut impl FnMut(ExitStatus) -> Option<Collector>) {
        if self.exit_status.is_some() {
            return;
        }
        if monotonic_ns().saturating_sub(self.page.heartbeat()) > STOPPED_NS && self.is_stopped() {
            let _ = self.process.kill();
        }
        self.exit_status = self.process.try_wait().ok().flatten();
        if let Some(status) = self.exit_status
            && let Some(mut next) = replace(status)
        {
            next.send(options);
            *self = next;
        }
    }
    /// Stopped by a signal; one that waits for its output to be read is not, nor one under a debugger.
    fn is_stopped(&self) -> bool {
        let stat = cutap_trace::text_of_proc(format!("/proc/{}/stat", self.process.id())).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))
    }
    /// Says that it continues without us.
    pub fn is_detached(&mut self) -> bool {
        let _ = self.channel.set_nonblocking(true);
        matches!(self.channel.read(&mut [0]), Ok(1))
    }
    /// Ends it immediately: there is nothing to drain.
    pub fn discard(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
    /// Tells it something; a collector that is gone hears nothing.
    pub fn send(&mut self, text: &str) {
        let _ = self.channel.write_all(text.as_bytes());
    }
}

/// Starts collectors of one run.
#[derive(Debug)]
pub struct CollectorSupervisor {
    options: CollectorOptions,
    output: OwnedFd,
    /// For lines on their way to a pipe or a terminal.
    spool: Option<OwnedFd>,
    /// The recording's name, for what a person is told.
    file: Option<PathBuf>,
    /// The output is a file with a name.
    named: bool,
    deaths: u32,
    /// The last collector did not end in order.
    pub unwritten: bool,
    /// The run directory holds what nobody wrote.
    pub keep: bool,
}

impl CollectorSupervisor {
    /// `output` is what the collectors write to.
    pub fn new(options: CollectorOptions, output: OwnedFd, file: Option<PathBuf>) -> CollectorSupervisor {
        let named = output.try_clone().is_ok_and(|output| output_file::has_name(&output.into()));
        let is_file = output.try_clone().map(File::from).is_ok_and(|f| f.metadata().is_ok_and(|m| m.is_file()));
        let live = options.form.is_live() && !options.record && !is_file;
        let spool = live.then(ReplayablePipe::memory).flatten();
        CollectorSupervisor { options, output, spool, file, named, deaths: 0, unwritten: false, keep: false }
    }

    /// What the collectors write to.
    pub fn output(&self) -> &OwnedFd {
        &self.output
    }

    /// What was done to the output by somebody else, where that was made for us and cannot be read any more.
    pub fn tampered(&self) -> Option<String> {
        let file = self.output.try_clone().map(File::from).ok().filter(|_| self.options.own_file)?;
        self.named.then(|| output_file::tampered(&file, self.file.as_deref()?)).flatten()
    }

    /// Starts a collector and waits until it drains.
    pub fn start(&self) -> Result<Collector> {
        ready(self.begin()?)
    }

    /// Starts a collector, which may not be waited for yet: see [`ready`].
    pub fn begin(&self) -> Result<Collector> {
        let fail = |e: std::io::Error| {
            let advice = advice(&e, "see that /proc is mounted, and that this cutap is still there");
            Error::own(format!("cannot start the collector: {}; {advice}", reason(&e)))
        };
        let (channel, theirs) = UnixStream::pair().map_err(fail)?;
        let output = self.output.try_clone().map_err(fail)?;
        let page = Page::open(&self.options.run)?;
        let spool = self.spool.as_ref().map(AsRawFd::as_raw_fd);
        let options = CollectorOptions { spool, ..self.options.clone() };
        let argument = options.to_argument().map_err(|e| fail(e.into()))?;
        let mut command = Command::new("/proc/self/exe");
        command.arg0("cutap").args(["__collect", &argument]).stdin(OwnedFd::from(theirs)).stdout(output);
        if let Some(spool) = spool {
            // SAFETY: one system call, in the child alone: the program must not get it.
            unsafe {
                command.pre_exec(move || {
                    libc::fcntl(spool, libc::F_SETFD, 0);
                    Ok(())
                });
            }
        }
        let process = command.spawn().map_err(fail)?;
        drop(command);
        Ok(Collector { process, channel, page, exit_status: None })
    }

    /// A collector has ended: says why, and gives another if that can help.
    pub fn replace_ended(&mut self, status: ExitStatus) -> Option<Collector> {
        if let Ok(page) = Page::open(&self.options.run) {
            page.put_collector_state(COLLECTOR_GONE);
        }
        if status.success() {
            return None;
        }
        // It has said itself why it could not write; another could not either.
        if status.code() == Some(UNWRITTEN.into()) {
            self.unwritten = true;
            self.keep |= self.options.record;
            return None;
        }
        if status.code() == Some(UNREAD.into()) {
            (self.unwritten, self.keep) = (true, true);
            return None;
        }
        self.options.resumes = true;
        let has_checkpoint = RunPath::open(&self.options.run).is_ok_and(|run| SummaryCheckpoint::exists(&run));
        self.deaths += 1;
        let mut next = None;
        while next.is_none() && self.deaths <= MOST {
            next = self.start().ok();
            // One that was killed before it was ready is one more.
            self.deaths += u32::from(next.is_none());
        }
        self.unwritten = next.is_none();
        self.keep |= next.is_none();
        let run = self.options.run.display();
        print_notice(&match (&next, &self.file) {
            (Some(_), _) if self.options.record => {
                format!("the collector ended early ({status}); another goes on, and nothing is lost")
            }
            (Some(_), _) if self.options.form.summary && !has_checkpoint => {
                format!("the collector ended early ({status}); another goes on, and what was counted before is lost")
            }
            (Some(_), _) => format!("the collector ended early ({status}); another goes on"),
            (None, Some(file)) if self.options.record => format!(
                "the collector ended early ({status}); what it did not write stays in {run} (cutap recover {run} -o {})",
                file.display()
            ),
            _ => format!(
                "the collector ended early ({status}); what it did not print stays in {run} (cutap show {run}, which may \
                 print again what was printed before)"
            ),
        });
        next
    }
}

/// Says that it may begin, as all else is there, and waits until it drains. One that is stopped meanwhile never would.
pub fn ready(mut collector: Collector) -> Result<Collector> {
    collector.send("g");
    let _ = collector.channel.set_read_timeout(Some(GLANCE));
    let mut stopped = Duration::ZERO;
    loop {
        match collector.channel.read(&mut [0]) {
            Ok(1) => {
                let _ = collector.channel.set_read_timeout(None);
                return Ok(collector);
            }
            Err(e) if [ErrorKind::WouldBlock, ErrorKind::Interrupted].contains(&e.kind()) => {
                stopped = if collector.is_stopped() { stopped + GLANCE } else { Duration::ZERO };
                if stopped >= Duration::from_nanos(STOPPED_NS) {
                    collector.discard();
                    return Err(Error::own("the collector was stopped before it was ready; the program was not run"));
                }
            }
            _ => {
                return Err(Error::own(not_ready(collector.process.wait().ok())));
            }
        }
    }
}

/// What is said of a collector that has ended instead of draining.
fn not_ready(status: Option<ExitStatus>) -> String {
    match status {
        // It has said why.
        Some(status) if status.code() == Some(OWN_FAILURE.into()) => {
            "the collector did not start (its reason stands above); the program was not run".into()
        }
        Some(status) if status.signal().is_some() => format!(
            "the collector was killed before it was ready ({status}), so the program was not run; keep others from killing it: \
             gdb needs set follow-fork-mode parent"
        ),
        Some(status) => {
            format!("the collector ended before it was ready ({status}); the program was not run, start it again")
        }
        None => "the collector ended before it was ready; the program was not run, start it again".into(),
    }
}
