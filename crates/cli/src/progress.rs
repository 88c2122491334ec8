//! Progress of what takes longer than a second, on standard error if that is a terminal.

use cutap_trace::{ReadProgress, Runs};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

/// Nothing is shown before.
const SOON: Duration = Duration::from_secs(1);

/// Between two looks at how far it is.
const STEP: Duration = Duration::from_millis(100);

/// A spinner with the time that has passed, and with the part of the recording that was read, until it is dropped.
pub struct Progress(Option<(Sender<()>, JoinHandle<()>)>);

impl Progress {
    /// While runs are read.
    pub fn reading(runs: &Runs) -> Progress {
        Progress::of("reading", runs)
    }

    /// While this is done with runs.
    pub fn of(doing: &str, runs: &Runs) -> Progress {
        let name = match runs.paths() {
            [run] => format!("{doing} {}", run.display()),
            several => format!("{doing} {} runs", several.len()),
        };
        Progress::start(name, runs.progress().clone())
    }

    /// While something with this name is done whose size is not known.
    pub fn new(doing: String) -> Progress {
        Progress::start(doing, Arc::default())
    }

    fn start(doing: String, read: Arc<ReadProgress>) -> Progress {
        if !stderr().is_terminal() {
            return Progress(None);
        }
        let (stop, stopped) = channel();
        let show = move || {
            if stopped.recv_timeout(SOON) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::new_spinner().with_elapsed(SOON);
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
                bar.set_style(style);
            }
            while stopped.recv_timeout(STEP) == Err(RecvTimeoutError::Timeout) {
                bar.set_message(read.percent().map_or_else(|| doing.clone(), |part| format!("{doing} {part} %")));
                bar.tick();
            }
            bar.finish_and_clear();
        };
        Progress(Some((stop, spawn(show))))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.0.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}
