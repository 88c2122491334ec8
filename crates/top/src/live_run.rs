//! Follows a run directory while its program runs, beside the collector if there is one. It gives nothing back and
//! writes nothing.

use crate::activity::Activity;
use crate::snapshot::Snapshot;
use cutap_trace::{End, Error, EventReader, Filter, ReaderOptions, monotonic};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

/// A run that is followed.
pub struct LiveRun {
    reader: EventReader,
    activity: Activity,
    /// Missed calls that an earlier snapshot has.
    missed_before: u64,
    /// What is known of the run, once nothing will follow.
    end: Option<End>,
    /// How far ahead the clock of the processes is.
    ahead_ns: i64,
}

impl LiveRun {
    /// Opens a run directory or a recording. `ahead_ns` is by how much CLOCK_MONOTONIC of its processes is ahead.
    ///
    /// # Errors
    /// It cannot be read, or is no run.
    pub fn open(run: &Path, filter: Option<Filter>, ahead_ns: i64) -> Result<LiveRun, Error> {
        let activity = Activity::new(filter.is_none());
        // All that was recorded, whatever filter the run was made with.
        let filter = filter.unwrap_or_default();
        let options = ReaderOptions { filter, all_recorded: true, ..ReaderOptions::default() };
        let reader = EventReader::open(run, options)?;
        Ok(LiveRun { reader, activity, missed_before: 0, end: None, ahead_ns })
    }

    /// Reads what is there, for so long at most: whether all was read.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(&mut self, most: Duration) -> Result<bool, Error> {
        let begin = Instant::now();
        while self.end.is_none() {
            let now = self.now();
            if !self.reader.poll_at(now, false, &mut |event| self.activity.event(event))? {
                return Ok(true);
            }
            if begin.elapsed() > most {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads all that is there: nothing will follow.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read_to_end(&mut self) -> Result<(), Error> {
        if self.end.is_some() {
            return Ok(());
        }
        self.reader.poll_while(true, &mut |event| {
            self.activity.event(&event);
            ControlFlow::Continue(())
        })?;
        self.end = Some(self.reader.end());
        Ok(())
    }

    /// The first interval begins now: what was recorded before is in the totals alone.
    pub fn begin(&mut self) {
        self.activity.begin_at(self.reader.horizon());
        self.missed_before = self.reader.missed_calls().between;
    }

    /// Ends the interval.
    pub fn snapshot(&mut self) -> Snapshot {
        let end_ns = self.end.as_ref().map_or(self.reader.horizon(), |end| end.last_ns);
        let missed = self.reader.missed_calls();
        let missed_calls = missed.between.saturating_sub(self.missed_before);
        self.missed_before = self.missed_before.max(missed.between);
        let behind_ns = if self.end.is_some() { 0 } else { self.now().saturating_sub(end_ns) };
        let began_late = missed.before > 0;
        Snapshot { missed_calls, behind_ns, began_late, ..self.activity.snapshot(end_ns) }
    }

    /// What is known of the run, once all of it was read.
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Whether a process of the run has recorded anything.
    pub fn has_process(&self) -> bool {
        self.activity.start_ns().is_some()
    }

    fn now(&self) -> u64 {
        monotonic().saturating_add_signed(self.ahead_ns)
    }
}
