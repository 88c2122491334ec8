//! The live trace prints the calls of a run while its program runs. It notes how far it came, for a collector that
//! follows one that was killed. It never prints a line twice.

use crate::base::error::{Error, Result, reason};
use crate::collector::collector_options::CollectorOptions;
use crate::collector::drain::{Drain, Round};
use crate::collector::ended_folders::EndedFolders;
use crate::collector::replayable_pipe::{Lines, ReplayablePipe};
use crate::collector::summary_checkpoint::SummaryCheckpoint;
use crate::options::filter::filter;
use crate::output::output_format::{output_to, scan_executables};
use crate::run_dir::control::{Page, PrintProgress, monotonic_ns};
use cutap_report::{KernelLines, Output};
use cutap_trace::{Delivery, Event, EventReader, ReaderOptions, RunPath};
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;

/// With the length of what was printed: it ends there.
const COMPLETE: u64 = 1 << 63;

/// The trace on standard output.
pub struct LiveTrace {
    reader: EventReader,
    output: Box<dyn Output>,
    /// Where the next byte is written, if that is a file.
    file: Option<File>,
    /// What is not in the rings any more stands in the output, or was kept.
    resumes: bool,
    /// Through which lines go.
    spool: Option<Arc<ReplayablePipe>>,
    /// One that was killed had said the last words, and only had to write them.
    is_complete: bool,
    /// Lines up to here were written by a collector that was killed, until its events have been replayed.
    replaying_to_ns: Option<u64>,
    /// Lines up to here were written by that collector.
    horizon_before_ns: u64,
    /// The run directory.
    run: PathBuf,
    /// A driver is there.
    driver: bool,
    /// Where sums are kept for a collector in our place.
    sums: Option<SummaryCheckpoint>,
}

impl LiveTrace {
    pub fn new(options: &CollectorOptions, run: &RunPath, page: &Page) -> Result<LiveTrace> {
        let filter = filter(options.filter.as_deref())?;
        let file = io::stdout().as_fd().try_clone_to_owned().map(File::from).ok();
        let file = file.filter(|f| f.metadata().is_ok_and(|m| m.is_file()));
        let mut reader_options =
            ReaderOptions { consume: true, filter, decode: !options.form.summary, ..ReaderOptions::default() };
        let mut resumes = options.resumes && !options.form.summary;
        let before = page.progress_before();
        if resumes {
            reader_options.printed = before.ticks;
            // A part of a line, and lines that will come again; all there is, if none was whole. Where the program
            // writes too, its words would be gone with them.
            if let Some(mut file) = file.as_ref().filter(|_| options.own_file) {
                let _ = file.set_len(before.bytes).and_then(|()| file.seek(SeekFrom::Start(before.bytes)));
            }
        }
        let (mut spool, mut is_complete) = (None, false);
        if let Some(fd) = options.spool {
            let stored_length = before.bytes;
            is_complete = stored_length & COMPLETE != 0;
            let unready = |e| Error::own(format!("cannot write the trace: {}; write to a file with -o", reason(&e)));
            let pipe = ReplayablePipe::take(fd, stored_length & !COMPLETE).map_err(unready)?;
            // Before anybody says a word: of a line only a part may be there.
            let _ = pipe.send(&io::stdout());
            spool = Some(pipe);
        }
        let to: Box<dyn Write + Send> = match &spool {
            Some(spool) => Box::new(Lines(spool.clone())),
            None => Box::new(io::stdout()),
        };
        let mut output: Box<dyn Output> = match &options.kernel {
            Some(style) => Box::new(KernelLines::new(BufWriter::with_capacity(1 << 16, to), style.clone())),
            None => output_to(options.form, options.resumes, to),
        };
        let sums = options.form.summary.then(|| SummaryCheckpoint::new(run));
        let checkpoint = sums.as_ref().filter(|_| options.resumes).and_then(SummaryCheckpoint::read);
        if let Some((ticks, _)) = checkpoint.filter(|(_, sums)| output.take_over(sums)) {
            (reader_options.printed, resumes) = (ticks, true);
        }
        let reader = EventReader::open(&options.run, reader_options)?;
        let mut printing = LiveTrace {
            reader,
            output,
            file,
            resumes,
            spool,
            is_complete,
            replaying_to_ns: resumes.then_some(before.horizon_ns),
            horizon_before_ns: before.horizon_ns,
            run: options.run.clone(),
            driver: options.driver,
            sums,
        };
        printing.checkpoint(true);
        Ok(printing)
    }

    /// Writes the lines that are said to be there.
    fn send(&self, page: &Page) -> io::Result<()> {
        let Some(spool) = &self.spool else { return Ok(()) };
        spool.send(&io::stdout())?;
        spool.let_go(|| page.put_progress(self.progress(0)));
        Ok(())
    }

    /// All that is handed out is printed, with so many bytes.
    fn progress(&self, bytes: u64) -> PrintProgress {
        PrintProgress {
            ticks: self.reader.printed(),
            bytes,
            horizon_ns: self.reader.horizon().max(self.horizon_before_ns),
        }
    }

    /// Keeps what was added up, and then gives back what it was made of.
    fn checkpoint(&mut self, now: bool) {
        match &mut self.sums {
            None => self.reader.give_back(false),
            Some(sums) => {
                if now || sums.is_due(self.reader.unreleased_chunks()) {
                    sums.write(self.reader.printed(), &self.output.saved_state().unwrap_or_default());
                    self.reader.give_back(true);
                }
            }
        }
    }
}

impl Drain for LiveTrace {
    fn unopened(&self) -> Option<String> {
        self.reader.unopened()
    }
    fn round(&mut self, last: bool, page: &Page) -> Result<Round> {
        let (mut round, mut beat) = (Round::default(), monotonic_ns());
        let (output, replaying_to_ns) = (&mut self.output, &mut self.replaying_to_ns);
        round.more = self.reader.poll_replaying(last, &mut |event: &Event, delivery| {
            if round.broken.is_none() && !self.is_complete {
                round.broken = match delivery {
                    Delivery::Printed => output.replay(event).err(),
                    Delivery::New => {
                        let replayed = replaying_to_ns.take().map_or(Ok(()), |ns| output.replayed(ns));
                        replayed.and_then(|()| output.event(event)).err()
                    }
                };
            }
            round.has_new |= delivery == Delivery::New;
            if monotonic_ns() - beat > 20_000_000 {
                page.beat();
                beat = monotonic_ns();
            }
        })?;
        let replayed = self.replaying_to_ns.take_if(|_| !round.more);
        if let Some(ns) = replayed.filter(|_| round.broken.is_none() && !self.is_complete) {
            round.broken = self.output.replayed(ns).err();
        }
        if round.broken.is_none() {
            round.broken = self.output.tick(self.reader.horizon()).err();
        }
        if round.broken.is_none() {
            let bytes = self.file.as_mut().and_then(|f| f.stream_position().ok()).unwrap_or(0);
            let bytes = self.spool.as_ref().map_or(bytes, |s| s.end() | if self.is_complete { COMPLETE } else { 0 });
            page.put_progress(self.progress(bytes));
            round.broken = self.send(page).err();
            self.checkpoint(false);
        }
        Ok(round)
    }
    fn retire(&mut self, folders: &mut EndedFolders, _page: &Page) -> io::Result<()> {
        let ended_processes = self.reader.retire(&mut |name| folders.has_ended(name));
        folders.replace(&ended_processes);
        Ok(())
    }
    fn end(&mut self, page: &Page) -> io::Result<()> {
        if self.is_complete {
            return Ok(());
        }
        let mut end = self.reader.end();
        if self.resumes {
            end.missing.chunks_taken = 0;
        }
        scan_executables(&mut end);
        // Whoever started the program says that the loader could not.
        if !crate::hooks::has_started(&self.run) {
            (end.filtered, end.coverage.entered) = (None, None);
        }
        if !self.driver {
            end.coverage.entered = None;
        }
        self.output.end(&end)?;
        if let Some(spool) = &self.spool {
            page.put_progress(self.progress(spool.end() | COMPLETE));
        }
        self.send(page)
    }
}
