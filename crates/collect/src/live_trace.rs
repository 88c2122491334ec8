//! The live trace: prints the calls of a run while it goes on, and notes how far it came for a collector that follows
//! one that was killed. It never prints a line twice.

use crate::collector_options::CollectorOptions;
use crate::control::{Page, Printed, monotonic_ns};
use crate::drain::{Drain, Round};
use crate::ended_folders::EndedFolders;
use crate::error::{Error, Result, reason};
use crate::filter::filter;
use crate::output::{output_to, scan_executables};
use crate::replayable_pipe::{Lines, Spool};
use crate::summary_checkpoint::CallStats;
use cutap_report::{KernelLines, Output};
use cutap_trace::{Delivery, Event, EventReader, ReaderOptions, RunPath};
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;

/// With the length of what was printed: it ends there.
const OVER: u64 = 1 << 63;

/// The trace on standard output.
pub struct LiveTrace {
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
    pub fn new(options: &CollectorOptions, run: &RunPath, page: &Page) -> Result<LiveTrace> {
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
        let sums = options.form.summary.then(|| CallStats::new(run));
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
                if now || sums.is_due(self.follow.unreleased_chunks()) {
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
    fn retire(&mut self, folders: &mut EndedFolders, _page: &Page) -> io::Result<()> {
        let ended = self.follow.retire(&mut |name| folders.has_ended(name));
        folders.replace(&ended);
        Ok(())
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
            (end.filtered, end.coverage.entered) = (None, None);
        }
        if !self.driver {
            end.coverage.entered = None;
        }
        self.output.end(&end)?;
        if let Some(spool) = &self.spool {
            page.printed(self.printed(spool.end() | OVER));
        }
        self.send(page)
    }
}
