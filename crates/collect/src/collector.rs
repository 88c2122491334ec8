//! The collector: a process in a session of its own. It drains the rings while the program runs, and prints the calls
//! or puts them into a recording.
//!
//! The program never waits longer than the heartbeat allows. When the output breaks, the collector switches recording
//! off and ends in order.

use crate::collector_options::CollectorOptions;
use crate::control::{Page, Printed, monotonic_ns};
use crate::error::{Error, Result, UNREAD, UNWRITTEN, advice_on_file, reason};
use crate::filter::filter;
use crate::foreground_channel::Line;
use crate::lingering::Outliving;
use crate::output::{output_to, scan_executables};
use crate::record::{Recorder, damaged_parts};
use crate::replayable_pipe::{Lines, Spool};
use crate::retention::Trim;
use crate::startup_state::open_descriptors;
use crate::stays;
use crate::summary_checkpoint::CallStats;
use cutap_report::{KernelLines, Output};
use cutap_trace::{Damage, Delivery, Event, EventReader, Rate, ReaderOptions, short_of};
use cutap_wire::control::{COLLECTOR_ATTACHED, COLLECTOR_GONE};
use cutap_wire::hooks;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Shortest and longest pause between two rounds.
const PAUSE_MS: (i32, i32) = (1, 20);

/// Runs the collector until the program has ended, or its output is broken.
pub fn collect(options: &CollectorOptions) -> Result<()> {
    become_independent(options.spool);
    let mut line = Line::new();
    let page = Page::open(&options.run)?;
    if !page.lock() {
        let run = options.run.display();
        return Err(Error::own(format!("another collector drains {run}; cutap show {run} prints what is there")));
    }
    let mut work: Box<dyn Drain> = match options.record {
        true => {
            begin(options, &mut line)?;
            Box::new(recording(options)?)
        }
        false => {
            let printing = LiveTrace::new(options, &page)?;
            begin(options, &mut line)?;
            Box::new(printing)
        }
    };
    page.collector(COLLECTOR_ATTACHED);
    line.ready();

    let rate = Rate::begin();
    let mut measured = false;
    let mut pause = PAUSE_MS.0;
    let mut trim = Trim::new(&options.run, &page, options.total);
    let mut others = Outliving::new(&options.run);
    let broken = loop {
        let last = line.program_is_over()
            && !(options.record && page.follows_children() && others.any(|names| stays::for_calls(&mut line, names)));
        // Early, for a collector that is killed; and at the end, of the longest time: of a run that is shorter, of all
        // of it.
        let whole = !options.again || page.rate() == 0;
        if !measured && rate.is_measured() || last && (whole || rate.is_measured()) {
            page.put_rate(rate.per_second());
            measured = true;
        }
        if page.is_flight_recorder() {
            match last {
                true => trim.last(&options.run, &page),
                false => trim.round(&options.run, &page),
            }
        }
        let round = work.round(last, &page)?;
        page.beat();
        if round.broken.is_some() || last {
            break round.broken.or_else(|| work.end(&page).err());
        }
        pause = match (round.more, round.found) {
            (true, _) => 0,
            (false, true) => PAUSE_MS.0,
            (false, false) => (pause * 2).clamp(PAUSE_MS.0, PAUSE_MS.1),
        };
        line.wait(pause);
    };
    work.leave(broken.as_ref());
    match &broken {
        Some(_) => page.stop_recording(),
        None => page.collector(COLLECTOR_GONE),
    }
    let damage = if broken.is_none() { work.damage() } else { Damage::default() };
    let short = short_of(&options.run).filter(|_| broken.is_none());
    // Its descriptors of the output, at whose other end somebody may wait for the end of it.
    drop(work);
    if !options.record && page.follows_children() && options.run.join(hooks::FILE).exists() {
        // What nobody prints any more would only fill the run directory.
        if !options.form.quiet {
            page.stop_recording();
        }
        while others.any(|names| stays::for_hooks(&mut line, names)) {
            line.wait(PAUSE_MS.1);
        }
    }
    let keep = options.record && (broken.is_some() || damage.parts > 0) || short.is_some();
    if (line.front_is_gone() || others.told) && options.temporary && !keep {
        let _ = std::fs::remove_dir_all(&options.run);
    }
    let run = options.run.display();
    match broken.filter(|e| !quiet(e)) {
        None if short.is_some() => Err(Error {
            code: UNREAD,
            sentence: match (short.unwrap_or_default(), options.record) {
                (short, true) => {
                    format!("the recording is not all there is: {short}; add the rest with cutap recover {run} -o FILE")
                }
                (short, false) => {
                    format!("the trace is not all there is: {short}; cutap show {run} prints what is left")
                }
            },
        }),
        None if damage.parts > 0 => Err(Error {
            code: UNWRITTEN,
            sentence: format!(
                "the recording is not all there was: {} in {run}{}",
                damaged_parts(damage.parts),
                damage.lost
            ),
        }),
        None => Ok(()),
        Some(e) => Err(Error {
            code: UNWRITTEN,
            sentence: match options.record {
                true => format!(
                    "cannot write the recording: {}; the program runs on unrecorded; make room and add what was \
                     recorded up to here with cutap recover {} -o FILE",
                    reason(&e),
                    options.run.display()
                ),
                false => format!(
                    "cannot write the trace: {}; the program runs on untraced; write to another place with -o",
                    reason(&e)
                ),
            },
        }),
    }
}

/// Empties the file that is named with `-o`, once nothing else can keep the run from beginning: what it held is gone
/// then.
fn begin(options: &CollectorOptions, line: &mut Line) -> Result<()> {
    if !line.may_begin() {
        return Err(Error::own("the program was not run, as the cutap in front of it has ended; start it again"));
    }
    if !options.own_file || options.again {
        return Ok(());
    }
    let file = io::stdout().as_fd().try_clone_to_owned().map(File::from);
    let emptied = file.and_then(|file| if file.metadata()?.is_file() { file.set_len(0) } else { Ok(()) });
    emptied.map_err(|e| {
        let what = if options.record { "recording" } else { "trace" };
        Error::own(format!(
            "cannot write the {what}: {}; {}",
            reason(&e),
            advice_on_file(&e, "write to another place with -o")
        ))
    })
}

/// What is done with what the rings hold.
trait Drain {
    /// Does it with what is there; with `last`, with all of it.
    fn round(&mut self, last: bool, page: &Page) -> Result<Round>;
    /// What comes at the end.
    fn end(&mut self, page: &Page) -> io::Result<()>;
    /// What is damaged in the rings; known at the end.
    fn damage(&mut self) -> Damage {
        Damage::default()
    }
    /// Tidies up behind an output that broke.
    fn leave(&mut self, _broken: Option<&io::Error>) {}
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

/// With the length of what was printed: it ends there.
const OVER: u64 = 1 << 63;

struct LiveTrace {
    follow: EventReader,
    output: Box<dyn Output>,
    /// Where the next byte is written, if that is a file.
    file: Option<File>,
    /// What is not in the rings any more stands in the output, or was kept.
    go_on: bool,
    /// Through which lines go.
    spool: Option<Arc<Spool>>,
    /// One that was killed had said the last words, and only had to write them.
    over: bool,
    /// Lines up to here were written by a collector that was killed, until its events have been replayed.
    replaying_to_ns: Option<u64>,
    /// Lines up to here were written by that collector.
    horizon_before_ns: u64,
    /// The run directory.
    run: PathBuf,
    /// A driver is there.
    driver: bool,
    /// Where sums are kept for a collector in our place.
    sums: Option<CallStats>,
}

impl LiveTrace {
    fn new(options: &CollectorOptions, page: &Page) -> Result<LiveTrace> {
        let filter = filter(options.filter.as_deref())?;
        let file = io::stdout().as_fd().try_clone_to_owned().map(File::from).ok();
        let file = file.filter(|f| f.metadata().is_ok_and(|m| m.is_file()));
        let mut follow =
            ReaderOptions { consume: true, filter, decode: !options.form.summary, ..ReaderOptions::default() };
        let mut go_on = options.again && !options.form.summary;
        let before = page.printed_before();
        if go_on {
            follow.printed = before.ticks;
            // A part of a line, and lines that will come again; all there is, if none was whole. Where the program
            // writes too, its words would be gone with them.
            if let Some(mut file) = file.as_ref().filter(|_| options.own_file) {
                let _ = file.set_len(before.bytes).and_then(|()| file.seek(SeekFrom::Start(before.bytes)));
            }
        }
        let (mut spool, mut over) = (None, false);
        if let Some(fd) = options.spool {
            let said = before.bytes;
            over = said & OVER != 0;
            let unready = |e| Error::own(format!("cannot write the trace: {}; write to a file with -o", reason(&e)));
            let taken = Spool::take(fd, said & !OVER).map_err(unready)?;
            // Before anybody says a word: of a line only a part may be there.
            let _ = taken.send(&io::stdout());
            spool = Some(taken);
        }
        let to: Box<dyn Write + Send> = match &spool {
            Some(spool) => Box::new(Lines(spool.clone())),
            None => Box::new(io::stdout()),
        };
        let mut output: Box<dyn Output> = match &options.kernel {
            Some(style) => Box::new(KernelLines::new(BufWriter::with_capacity(1 << 16, to), style.clone())),
            None => output_to(options.form, options.again, to),
        };
        let sums = options.form.summary.then(|| CallStats::new(&options.run));
        let kept = sums.as_ref().filter(|_| options.again).and_then(CallStats::read);
        if let Some((ticks, _)) = kept.filter(|(_, kept)| output.take_over(kept)) {
            (follow.printed, go_on) = (ticks, true);
        }
        let follow = EventReader::open(&options.run, follow)?;
        let mut printing = LiveTrace {
            follow,
            output,
            file,
            go_on,
            spool,
            over,
            replaying_to_ns: go_on.then_some(before.horizon_ns),
            horizon_before_ns: before.horizon_ns,
            run: options.run.clone(),
            driver: options.driver,
            sums,
        };
        printing.keep(true);
        Ok(printing)
    }

    /// Writes the lines that are said to be there.
    fn send(&self, page: &Page) -> io::Result<()> {
        let Some(spool) = &self.spool else { return Ok(()) };
        spool.send(&io::stdout())?;
        spool.let_go(|| page.printed(self.printed(0)));
        Ok(())
    }

    /// All that is handed out is printed, with so many bytes.
    fn printed(&self, bytes: u64) -> Printed {
        Printed { ticks: self.follow.printed(), bytes, horizon_ns: self.follow.horizon().max(self.horizon_before_ns) }
    }

    /// Keeps what was added up, and then gives back what it was made of.
    fn keep(&mut self, now: bool) {
        match &mut self.sums {
            None => self.follow.give_back(false),
            Some(sums) => {
                if now || sums.is_due(self.follow.held()) {
                    sums.write(self.follow.printed(), &self.output.kept().unwrap_or_default());
                    self.follow.give_back(true);
                }
            }
        }
    }
}

impl Drain for LiveTrace {
    fn round(&mut self, last: bool, page: &Page) -> Result<Round> {
        let (mut round, mut beat) = (Round::default(), monotonic_ns());
        let (output, replaying_to_ns) = (&mut self.output, &mut self.replaying_to_ns);
        round.more = self.follow.poll_replaying(last, &mut |event: &Event, delivery| {
            if round.broken.is_none() && !self.over {
                round.broken = match delivery {
                    Delivery::Printed => output.replay(event).err(),
                    Delivery::New => {
                        let replayed = replaying_to_ns.take().map_or(Ok(()), |ns| output.replayed(ns));
                        replayed.and_then(|()| output.event(event)).err()
                    }
                };
            }
            round.found |= delivery == Delivery::New;
            if monotonic_ns() - beat > 20_000_000 {
                page.beat();
                beat = monotonic_ns();
            }
        })?;
        let replayed = self.replaying_to_ns.take_if(|_| !round.more);
        if let Some(ns) = replayed.filter(|_| round.broken.is_none() && !self.over) {
            round.broken = self.output.replayed(ns).err();
        }
        if round.broken.is_none() {
            round.broken = self.output.tick(self.follow.horizon()).err();
        }
        if round.broken.is_none() {
            let bytes = self.file.as_mut().and_then(|f| f.stream_position().ok()).unwrap_or(0);
            let bytes = self.spool.as_ref().map_or(bytes, |s| s.end() | if self.over { OVER } else { 0 });
            page.printed(self.printed(bytes));
            round.broken = self.send(page).err();
            self.keep(false);
        }
        Ok(round)
    }
    fn end(&mut self, page: &Page) -> io::Result<()> {
        if self.over {
            return Ok(());
        }
        let mut end = self.follow.end();
        if self.go_on {
            end.chunks_taken = 0;
        }
        scan_executables(&mut end);
        // Whoever started the program says that the loader could not.
        if !crate::hooks::began(&self.run) {
            (end.filtered, end.unseen.entered) = (None, None);
        }
        if !self.driver {
            end.unseen.entered = None;
        }
        self.output.end(&end)?;
        if let Some(spool) = &self.spool {
            page.printed(self.printed(spool.end() | OVER));
        }
        self.send(page)
    }
}

/// Puts the run into the file that is our standard output.
fn recording(options: &CollectorOptions) -> Result<Recorder> {
    let file = io::stdout().as_fd().try_clone_to_owned().map(File::from);
    let begun = |file: &File| !options.again || file.metadata().is_ok_and(|m| m.len() == 0);
    let file = match file {
        Ok(file) if !begun(&file) => return Recorder::go_on(&options.run, file, Path::new("the recording"), true),
        file => file,
    };
    file.and_then(|file| Recorder::begin(&options.run, file, true))
        .map_err(|e| Error::own(format!("cannot write the recording: {}; write to another place with -o", reason(&e))))
}

impl Drain for Recorder {
    fn round(&mut self, last: bool, page: &Page) -> Result<Round> {
        if !last && page.is_flight_recorder() {
            return Ok(Round::default());
        }
        Ok(match Recorder::round(self, last, &mut || page.beat()) {
            Ok(found) => Round { found, ..Round::default() },
            Err(e) => Round { broken: Some(e), ..Round::default() },
        })
    }
    fn end(&mut self, _page: &Page) -> io::Result<()> {
        Recorder::end(self)
    }
    fn damage(&mut self) -> Damage {
        Recorder::damage(self)
    }
    fn leave(&mut self, broken: Option<&io::Error>) {
        if let Some(error) = broken {
            self.cut_back(error);
        }
    }
}

/// The reader has left, or the terminal is gone: nobody is there to be told.
fn quiet(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPIPE | libc::EIO))
}

/// Away from the terminal's signals, and from every descriptor that only the program should hold.
fn become_independent(keep: Option<i32>) {
    // SAFETY: a structure of our own. The descriptors are inherited ones that nobody here owns.
    unsafe {
        if let Some(keep) = keep {
            libc::fcntl(keep, libc::F_SETFD, libc::FD_CLOEXEC);
        }
        libc::setsid();
        for fd in open_descriptors() {
            libc::close(fd);
        }
    }
}
