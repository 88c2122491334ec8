//! `cutap top`: what a running program does now, each second. It only reads the run directory, so the program may be in
//! a container. Where standard output is no terminal, it prints one text for each interval.

use crate::args::{FilterArgs, JsonArgs, number, time};
use crate::cmd::ctl;
use crate::input::{readable, whole};
use crate::inputs::names_process;
use crate::stdout::written;
use clap::builder::PossibleValuesParser;
use cutap_collect::{
    Error, LingeringProcesses, Result, ahead, filter as parse_filter, output_file, print_notice, reason,
};
use cutap_top::{LiveRun, Screen, Snapshot, SortColumn, View, text};
use cutap_trace::RunPath;
use cutap_wire::control;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Between two looks at the run.
const ROUND: Duration = Duration::from_millis(20);
/// Reading pauses after so long, for keys.
const READING: Duration = Duration::from_millis(100);
/// Between two looks at whether the program lives.
const LIVENESS: Duration = Duration::from_millis(250);
/// Bytes of a path at most.
const MOST_PATH: usize = 4096;
/// Rows of a text.
const ROWS: usize = 20;

/// A signal asked it to end.
static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

#[derive(Debug, clap::Args)]
pub struct Top {
    /// Print one interval as text, and end
    #[arg(long)]
    once: bool,
    /// Length of an interval: 2, 500ms
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "1")]
    interval: Duration,
    /// Sort rows by this column, the largest first
    #[arg(long, value_name = "COLUMN", default_value = "time",
          value_parser = PossibleValuesParser::new(SortColumn::ALL.map(|(word, ..)| word)))]
    sort: String,
    /// Only the first N rows of a text
    #[arg(long, value_name = "N", value_parser = number, default_value_t = ROWS)]
    top: usize,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    json: JsonArgs,
    /// A PID, a run directory, or a recording that is being written
    #[arg(value_name = "RUN", default_value = "run.cutap")]
    run: PathBuf,
}

impl Top {
    pub fn run(self) -> Result<()> {
        if self.interval.is_zero() {
            return Err(Error::own("--interval 0 has no length; give a time, such as 1 or 500ms"));
        }
        let followed = FollowedRun::open(&self)?;
        let is_text = self.once || self.json.json || !io::stdout().is_terminal();
        match followed {
            // What was recorded is one interval.
            FollowedRun { is_live: false, mut run, path, .. } => {
                run.read_to_end()?;
                self.print(&run.snapshot())?;
                run.end().map_or(Ok(()), |end| whole(&path, end))
            }
            live if is_text => self.text(live),
            live => self.screen(live),
        }
    }

    fn view(&self) -> View {
        View { sort: SortColumn::of_word(&self.sort).unwrap_or_default(), ..View::default() }
    }

    fn print(&self, snapshot: &Snapshot) -> Result<()> {
        let mut out = io::stdout().lock();
        let lines = match self.json.json {
            true => serde_json::to_writer(&mut out, snapshot).map_err(io::Error::from).and_then(|()| writeln!(out)),
            false => text::write_snapshot(snapshot, &self.view(), self.top, &mut out),
        };
        written(lines.and_then(|()| out.flush()))
    }

    /// One text for each interval.
    fn text(&self, mut followed: FollowedRun) -> Result<()> {
        while !followed.read()? {}
        followed.run.begin();
        let mut is_first = true;
        loop {
            let end = Instant::now() + self.interval;
            while Instant::now() < end && !followed.has_ended() {
                std::thread::sleep(ROUND.min(end.saturating_duration_since(Instant::now())));
                followed.read()?;
            }
            let has_ended = followed.has_ended();
            if has_ended {
                followed.run.read_to_end()?;
            }
            if !std::mem::take(&mut is_first) && !self.json.json {
                written(writeln!(io::stdout()))?;
            }
            self.print(&followed.run.snapshot())?;
            if has_ended && !self.json.json {
                print_notice("the program has ended");
            }
            if self.once || has_ended {
                return Ok(());
            }
        }
    }

    /// The terminal, until a key ends it.
    fn screen(&self, mut followed: FollowedRun) -> Result<()> {
        end_by_signals();
        let failed =
            |e: io::Error| Error::own(format!("cannot use the terminal: {}; cutap top --once prints text", reason(&e)));
        let mut view = self.view();
        let mut screen = Screen::open().map_err(failed)?;
        let mut has_begun = false;
        let mut snapshot = Snapshot::default();
        let mut due = Instant::now();
        let mut has_ended = false;
        while !IS_INTERRUPTED.load(Relaxed) {
            let is_read = has_ended || followed.read()?;
            if is_read && !has_begun {
                followed.run.begin();
                // The first interval is short, so that the screen is soon of use.
                (has_begun, due) = (true, Instant::now() + self.interval.min(READING));
            }
            if !has_ended && followed.has_ended() {
                followed.run.read_to_end()?;
                (has_ended, due) = (true, Instant::now());
            }
            if Instant::now() >= due {
                let next = followed.run.snapshot();
                // The last interval stays: nothing follows it.
                due = if has_ended {
                    Instant::now() + Duration::from_secs(1 << 30)
                } else {
                    Instant::now() + self.interval
                };
                if !view.is_paused {
                    snapshot = next;
                }
            }
            let status = match (has_begun, has_ended) {
                (_, true) => "the program has ended, ",
                (false, _) => "catching up, ",
                (true, false) => "",
            };
            screen.draw(&snapshot, &mut view, status).map_err(failed)?;
            let wait = if is_read { due.saturating_duration_since(Instant::now()).min(ROUND) } else { Duration::ZERO };
            if let Some(key) = screen.key(wait).map_err(failed)?
                && !view.key(key)
            {
                break;
            }
        }
        Ok(())
    }
}

/// A run, and how its end is noticed.
struct FollowedRun {
    run: LiveRun,
    path: PathBuf,
    /// Its processes may record more.
    is_live: bool,
    processes: LingeringProcesses,
    looked_at: Instant,
    has_ended: bool,
}

impl FollowedRun {
    fn open(top: &Top) -> Result<FollowedRun> {
        let (path, pid) = match names_process(&top.run) {
            true => (ctl::run_of(&top.run.to_string_lossy())?, top.run.to_string_lossy().parse().ok()),
            false => (of_recording(&top.run).unwrap_or_else(|| top.run.clone()), None),
        };
        readable(&path)?;
        let filter = top.filter.text().map(|text| parse_filter(Some(&text))).transpose()?;
        let mut run = LiveRun::open(&path, filter, pid.map_or(0, ahead))?;
        let processes = LingeringProcesses::new(&path);
        let is_live = path.is_dir() && {
            run.read(Duration::ZERO)?;
            // The program of cutap env may not have started yet.
            !run.has_process() || !processes.are_gone()
        };
        Ok(FollowedRun { run, path, is_live, processes, looked_at: Instant::now(), has_ended: false })
    }

    /// Reads for a while: whether all was read.
    fn read(&mut self) -> Result<bool> {
        Ok(self.run.read(READING)?)
    }

    /// Whether no process of the run lives.
    fn has_ended(&mut self) -> bool {
        if !self.has_ended && self.run.has_process() && self.looked_at.elapsed() > LIVENESS {
            self.looked_at = Instant::now();
            self.has_ended = self.processes.are_gone();
        }
        self.has_ended
    }
}

/// The run directory of a recording that is being written.
fn of_recording(file: &Path) -> Option<PathBuf> {
    let real = std::fs::canonicalize(file).ok().filter(|file| file.is_file() && output_file::is_locked(file))?;
    let writes = |run: &PathBuf| {
        let path = RunPath::open(run).and_then(|run| run.join(control::RECORDING).read(MOST_PATH));
        path.is_ok_and(|path| std::fs::canonicalize(OsString::from_vec(path)).is_ok_and(|path| path == real))
    };
    ctl::running().into_iter().map(|(_, run)| run).find(writes)
}

/// These signals end the loop, so that the terminal is restored.
fn end_by_signals() {
    extern "C" fn interrupt(_: libc::c_int) {
        IS_INTERRUPTED.store(true, Relaxed);
    }
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler only stores to an atomic.
        unsafe { libc::signal(signal, interrupt as *const () as libc::sighandler_t) };
    }
}
