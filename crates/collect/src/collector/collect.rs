//! The collector: a process in a session of its own. It drains the rings while the program runs, and prints the calls
//! or puts them into a recording.
//!
//! The program never waits longer than the heartbeat allows. When the output breaks, the collector switches recording
//! off and ends in order.

use crate::base::error::{Error, Result, UNREAD, UNWRITTEN, advice_on_file, cannot, reason};
use crate::collector::clock_sampler::ClockSampler;
use crate::collector::collector_options::CollectorOptions;
use crate::collector::detach_notices;
use crate::collector::drain::{Drain, Round};
use crate::collector::ended_folders::EndedFolders;
use crate::collector::foreground_channel::ForegroundChannel;
use crate::collector::hang_watch::HangWatch;
use crate::collector::kept_calls::KeptCallsMarker;
use crate::collector::live_trace::LiveTrace;
use crate::collector::retention::Retention;
use crate::record::{Recorder, damaged_parts};
use crate::run_dir::control::Page;
use crate::run_dir::folder;
use crate::run_dir::lingering_processes::LingeringProcesses;
use crate::start::startup_state::open_descriptors;
use cutap_trace::{Damage, Rate, RunPath, monotonic};
use cutap_wire::control::{COLLECTOR_ATTACHED, COLLECTOR_GONE};
use cutap_wire::hooks;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

/// Shortest and longest pause between two rounds.
const PAUSE_MS: (i32, i32) = (1, 20);

/// Runs the collector until the program has ended, or its output is broken.
pub fn collect(options: &CollectorOptions) -> Result<()> {
    become_independent(options.spool);
    let mut channel = ForegroundChannel::new();
    let run_dir = folder::open_inherited(&options.run)?;
    let page = Page::of_run(&run_dir)
        .map_err(|e| cannot("open the control page of", &options.run, &e, "start the program again"))?;
    if !page.lock() {
        let run = options.run.display();
        return Err(Error::own(format!("another collector drains {run}; cutap show {run} prints what is there")));
    }
    let mut work: Box<dyn Drain> = match options.record {
        true => {
            begin(options, &mut channel)?;
            Box::new(recording(options)?)
        }
        false => {
            let printing = LiveTrace::new(options, &run_dir, &page)?;
            begin(options, &mut channel)?;
            Box::new(printing)
        }
    };
    page.put_collector_state(COLLECTOR_ATTACHED);
    channel.ready();

    let wants_clocks = !options.nvml.as_os_str().is_empty();
    let clock_sampler = wants_clocks.then(|| ClockSampler::start(&run_dir, &options.nvml)).flatten();
    let mut lingering = LingeringProcesses::new(&options.run);
    let broken = drain(options, &page, &run_dir, &mut channel, &mut lingering, &mut *work, clock_sampler)?;
    work.clean_up(broken.as_ref());
    match &broken {
        Some(_) => page.stop_recording(),
        None => page.put_collector_state(COLLECTOR_GONE),
    }
    let damage = if broken.is_none() { work.damage() } else { Damage::default() };
    let short = work.unopened().or_else(|| run_dir.unopened()).filter(|_| broken.is_none());
    // Its descriptors of the output, at whose other end somebody may wait for the end of it.
    drop(work);
    if !options.record && page.follows_children() && run_dir.join(hooks::FILE).is_file() {
        // Calls that are not printed any more would only fill the run directory.
        if !options.form.only_hooks {
            page.stop_recording();
        }
        while lingering.are_running(|names| detach_notices::detach_for_hooks(&mut channel, names)) {
            channel.wait(PAUSE_MS.1);
        }
    }
    let keep = options.record && (broken.is_some() || damage.parts > 0) || short.is_some();
    if (channel.front_is_gone() || lingering.is_reported) && options.temporary && !keep {
        let _ = std::fs::remove_dir_all(&options.run);
    }
    result(options, broken, short, damage)
}

/// Drains the rings until the program has ended; what broke the output, if that happened before.
fn drain(
    options: &CollectorOptions,
    page: &Page,
    run_dir: &RunPath,
    channel: &mut ForegroundChannel,
    lingering: &mut LingeringProcesses,
    work: &mut dyn Drain,
    mut clock_sampler: Option<ClockSampler>,
) -> Result<Option<io::Error>> {
    let rate = Rate::begin();
    let mut measured = false;
    let mut pause = PAUSE_MS.0;
    let mut retention = Retention::new(run_dir, page, options.total);
    let mut marker = KeptCallsMarker::default();
    let mut hang_watch = HangWatch::new(options.on_hang_ns);
    let mut folders = EndedFolders::new(run_dir, options.temporary);
    loop {
        let last = channel.program_is_over()
            && !(options.record
                && page.follows_children()
                && lingering.are_running(|names| detach_notices::detach_for_calls(channel, names)));
        // Early, for a collector that is killed; and at the end, of the longest time: of a run that is shorter, of all
        // of it.
        let whole = !options.resumes || page.rate() == 0;
        if !measured && rate.is_measured() || last && (whole || rate.is_measured()) {
            page.put_rate(rate.per_second());
            measured = true;
        }
        if page.is_flight_recorder() {
            match last {
                true => retention.last(run_dir, page),
                false => {
                    retention.round(run_dir, page);
                    marker.round(&options.run, run_dir, page);
                }
            }
        }
        if last {
            // Its last records are in the last round.
            drop(clock_sampler.take());
            // Readers take it for the end of the run.
            page.beat();
        }
        let round = work.round(last, page)?;
        page.beat();
        if round.broken.is_some() || last {
            return Ok(round.broken.or_else(|| work.end(page).err()));
        }
        if !page.is_flight_recorder()
            && folders.is_due()
            && let Err(e) = work.retire(&mut folders, page)
        {
            return Ok(Some(e));
        }
        if let Some(watch) = &mut hang_watch {
            let now = monotonic();
            let stopped_ns = work.stopped_before(watch.quiet_before(now));
            if let Some(document) = watch.round(run_dir, stopped_ns, now)
                && let Err(e) = work.add_hang(&document)
            {
                return Ok(Some(e));
            }
        }
        pause = match (round.more, round.has_new) {
            (true, _) => 0,
            (false, true) => PAUSE_MS.0,
            (false, false) => (pause * 2).clamp(PAUSE_MS.0, PAUSE_MS.1),
        };
        channel.wait(pause);
    }
}

/// The sentence about an output that lacks something. `broken`: it could not be written; `short`: what could not be
/// opened.
fn result(options: &CollectorOptions, broken: Option<io::Error>, short: Option<String>, damage: Damage) -> Result<()> {
    let run = options.run.display();
    let (code, sentence) = match (broken.filter(|e| !reader_is_gone(e)), short, options.record) {
        (Some(e), _, true) => (
            UNWRITTEN,
            format!(
                "cannot write the recording: {}; the program runs on unrecorded; make room and add what was recorded \
                 up to here with cutap recover {run} -o FILE",
                reason(&e)
            ),
        ),
        (Some(e), _, false) => (
            UNWRITTEN,
            format!(
                "cannot write the trace: {}; the program runs on untraced; write to another place with -o",
                reason(&e)
            ),
        ),
        (None, Some(short), true) => (
            UNREAD,
            format!("the recording is not all there is: {short}; add the rest with cutap recover {run} -o FILE"),
        ),
        (None, Some(short), false) => {
            (UNREAD, format!("the trace is not all there is: {short}; cutap show {run} prints what is left"))
        }
        (None, None, _) if damage.parts > 0 => (
            UNWRITTEN,
            format!("the recording is not all there was: {} in {run}{}", damaged_parts(damage.parts), damage.lost),
        ),
        (None, None, _) => return Ok(()),
    };
    Err(Error { code, sentence })
}

/// Empties the file that is named with `-o`, once nothing else can keep the run from beginning: what it held is gone
/// then.
fn begin(options: &CollectorOptions, channel: &mut ForegroundChannel) -> Result<()> {
    if !channel.may_begin() {
        return Err(Error::own("the program was not run, as the cutap in front of it has ended; start it again"));
    }
    if !options.own_file || options.resumes {
        return Ok(());
    }
    let file = io::stdout().as_fd().try_clone_to_owned().map(File::from);
    let emptied = file.and_then(|file| if file.metadata()?.is_file() { file.set_len(0) } else { Ok(()) });
    emptied.map_err(|e| {
        let output_kind = if options.record { "recording" } else { "trace" };
        Error::own(format!(
            "cannot write the {output_kind}: {}; {}",
            reason(&e),
            advice_on_file(&e, "write to another place with -o")
        ))
    })
}

/// Puts the run into the file that is our standard output.
fn recording(options: &CollectorOptions) -> Result<Recorder> {
    let file = io::stdout().as_fd().try_clone_to_owned().map(File::from);
    let is_new = |file: &File| !options.resumes || file.metadata().is_ok_and(|m| m.len() == 0);
    let file = match file {
        Ok(file) if !is_new(&file) => return Recorder::go_on(&options.run, file, Path::new("the recording"), true),
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
            Ok(has_new) => Round { has_new, ..Round::default() },
            Err(e) => Round { broken: Some(e), ..Round::default() },
        })
    }
    fn retire(&mut self, folders: &mut EndedFolders, page: &Page) -> io::Result<()> {
        let ended_processes = Recorder::retire(self, &mut |name| folders.has_ended(name), &mut || page.beat())?;
        folders.replace(&ended_processes);
        Ok(())
    }
    fn stopped_before(&mut self, before_ns: u64) -> Option<u64> {
        Recorder::stopped_before(self, before_ns)
    }
    fn add_hang(&mut self, document: &[u8]) -> io::Result<()> {
        Recorder::add_hang(self, document)
    }
    fn end(&mut self, _page: &Page) -> io::Result<()> {
        Recorder::end(self)
    }
    fn damage(&mut self) -> Damage {
        Recorder::damage(self)
    }
    fn unopened(&self) -> Option<String> {
        Recorder::unopened(self)
    }
    fn clean_up(&mut self, broken: Option<&io::Error>) {
        if let Some(error) = broken {
            self.cut_back(error);
        }
    }
}

/// The reader of the output has ended, or the terminal is closed, so no message can reach it.
fn reader_is_gone(error: &io::Error) -> bool {
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
