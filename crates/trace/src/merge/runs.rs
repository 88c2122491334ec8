//! Several runs that are read as one: the ranks or processes of a job. Their events come in the order of time. A
//! separate thread reads each run, and a few thousand events of each wait. Runs of one host have one clock. The times
//! of another host are moved by what its wall clock tells.

use super::event_reader::EventReader;
use super::ranks::ranks;
use super::reader_options::ReaderOptions;
use crate::aggregate::aggregator::Aggregator;
use crate::aggregate::sink::CallSink;
use crate::event::{Event, RunName, RunPlace};
use crate::filter::{Filter, TimeWindow};
use crate::gpu_time::GpuTimes;
use crate::io::clock::Clock;
use crate::io::read_progress::ReadProgress;
use crate::run::error::Error;
use crate::run::facts::RunHost;
use crate::run::process_dir::ProcessDir;
use crate::run::run_reader::RunReader;
use crate::summary::end::End;
use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Events that are handed over together, and how often so many may wait.
const TOGETHER: usize = 512;
const WAITING: usize = 4;
/// Two clocks that differ by less are one, whose wall time was set meanwhile: machines do not start that close.
const ONE_CLOCK_NS: u64 = 100_000_000;

/// Runs that are read together, at least one.
#[derive(Debug)]
pub struct Runs {
    paths: Vec<PathBuf>,
    places: Vec<RunPlace>,
    progress: Arc<ReadProgress>,
    /// Read at its first use.
    gpu_times: OnceCell<Option<Arc<GpuTimes>>>,
}

/// A run that was read to its end.
#[derive(Debug)]
pub struct FinishedRun {
    /// Its file or folder.
    pub path: PathBuf,
    /// What is known of it.
    pub end: End,
}

impl Runs {
    /// Looks at the clocks of these runs.
    pub fn open(paths: &[PathBuf]) -> Result<Runs, Error> {
        let mut runs = Runs {
            paths: paths.to_vec(),
            places: vec![RunPlace::default(); paths.len()],
            progress: Arc::default(),
            gpu_times: OnceCell::new(),
        };
        if paths.len() < 2 {
            return Ok(runs);
        }
        let opened = paths.iter().map(|path| RunReader::new(path)).collect::<Result<Vec<_>, _>>()?;
        let ranks = ranks(paths, &opened);
        let mut first = None;
        for ((place, opened), name) in runs.places.iter_mut().zip(&opened).zip(names(paths, &ranks)) {
            let ahead = wall_ahead(opened);
            let base = *first.get_or_insert(ahead);
            let shift = ahead.zip(base).map_or(0, |(ahead, base)| ahead.saturating_sub(base));
            let shift_ns = if shift.unsigned_abs() < ONE_CLOCK_NS { 0 } else { shift };
            *place = RunPlace { name: Some(name), of: paths.len() as u32, shift_ns };
        }
        Ok(runs)
    }

    /// The rank of each: what it was recorded as, or else what the name of its file says.
    ///
    /// # Errors
    /// One cannot be read.
    pub fn ranks(paths: &[PathBuf]) -> Result<Vec<Option<u32>>, Error> {
        let opened = paths.iter().map(|path| RunReader::new(path)).collect::<Result<Vec<_>, _>>()?;
        Ok(ranks(paths, &opened))
    }

    /// The host of the first run.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn host(&self) -> Result<RunHost, Error> {
        self.paths.first().map_or_else(|| Ok(RunHost::default()), |path| Ok(RunReader::new(path)?.host()))
    }

    /// How much of them was read.
    pub fn progress(&self) -> &Arc<ReadProgress> {
        &self.progress
    }

    /// Their files and folders.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Those with another clock than the first one.
    pub fn of_other_clocks(&self) -> Vec<&RunName> {
        let shifted = self.places.iter().filter(|place| place.shift_ns != 0);
        shifted.filter_map(|place| place.name.as_deref()).collect()
    }

    /// Hands out all events in the order of time, until `sink` breaks: what is known of each run at its end. Calls
    /// that never ended are only in there.
    pub fn events(
        &self,
        options: &ReaderOptions,
        sink: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> Result<Vec<FinishedRun>, Error> {
        self.read_events(options, self.paths.len() > 1, sink)
    }

    /// The same, where `sink` takes as long as reading does: a separate thread reads ahead, also of one run.
    ///
    /// # Errors
    /// A run cannot be read.
    pub fn events_read_ahead(
        &self,
        options: &ReaderOptions,
        sink: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> Result<Vec<FinishedRun>, Error> {
        self.read_events(options, true, sink)
    }

    fn read_events(
        &self,
        options: &ReaderOptions,
        reads_ahead: bool,
        sink: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> Result<Vec<FinishedRun>, Error> {
        let options = &ReaderOptions { filter: self.since_start(&options.filter)?, ..options.clone() };
        self.progress.restart();
        let readers = self.paths.iter().zip(&self.places).map(|(path, place)| {
            let progress = self.progress.clone();
            let options = ReaderOptions { place: place.clone(), progress, ..options.clone() };
            EventReader::open(path, options)
        });
        let mut readers = readers.collect::<Result<Vec<_>, _>>()?;
        let has_gpu_time = readers.iter().any(|reader| reader.run_reader().has_gpu_time());
        let gpu_times = if has_gpu_time { self.gpu_times()? } else { None };
        let sink = &mut |event| match &gpu_times {
            Some(times) => sink(times.add_to(event)),
            None => sink(event),
        };
        match &mut readers[..] {
            [reader] if !reads_ahead => _ = reader.poll_while(true, sink)?,
            readers => merge(readers, sink)?,
        }
        Ok(self.with_ends(readers.iter_mut().map(EventReader::end), gpu_times.as_deref()))
    }

    /// Whether GPU time was asked for in one of them.
    ///
    /// # Errors
    /// A run cannot be read.
    pub fn have_gpu_time(&self) -> Result<bool, Error> {
        for path in &self.paths {
            if RunReader::new(path)?.has_gpu_time() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What the GPU did for each call; none if GPU time was asked for in none of the runs. They are read once for it.
    ///
    /// # Errors
    /// A run cannot be read.
    pub fn gpu_times(&self) -> Result<Option<Arc<GpuTimes>>, Error> {
        if let Some(times) = self.gpu_times.get() {
            return Ok(times.clone());
        }
        let mut times: Option<GpuTimes> = None;
        for (path, place) in self.paths.iter().zip(&self.places) {
            if !RunReader::new(path)?.has_gpu_time() {
                continue;
            }
            let progress = self.progress.clone();
            let options =
                ReaderOptions { place: place.clone(), progress, all_recorded: true, ..ReaderOptions::default() };
            let times = times.get_or_insert_default();
            let mut reader = EventReader::open(path, options)?;
            reader.poll_while(true, &mut |event| {
                times.event(&event);
                ControlFlow::Continue(())
            })?;
        }
        times.iter_mut().for_each(GpuTimes::join);
        Ok(self.gpu_times.get_or_init(|| times.map(Arc::new)).clone())
    }

    /// Hands out all calls, run after run.
    pub fn calls(&self, filter: &Filter, calls: &mut dyn CallSink) -> Result<Vec<FinishedRun>, Error> {
        let (mut run_ends, filter) = (Vec::new(), &self.since_start(filter)?);
        let mut gpu_times = None;
        for (path, place) in self.paths.iter().zip(&self.places) {
            self.progress.restart();
            let aggregator = Aggregator::open_at(path, filter, place.clone(), &self.progress)?;
            if aggregator.run_reader().has_gpu_time() {
                gpu_times = self.gpu_times()?;
            }
            run_ends.push(aggregator.with_gpu_times(gpu_times.clone()).run(calls));
        }
        Ok(self.with_ends(run_ends.into_iter(), gpu_times.as_deref()))
    }

    /// The filter, whose window begins with the first process of all runs.
    fn since_start(&self, filter: &Filter) -> Result<Filter, Error> {
        let Some(window) = filter.window else { return Ok(filter.clone()) };
        Ok(filter.clone().during(Some(self.window(window)?)))
    }

    /// The window with the start of the first process of all runs.
    ///
    /// # Errors
    /// A run cannot be read.
    pub fn window(&self, window: TimeWindow) -> Result<TimeWindow, Error> {
        let mut first = None;
        for (path, place) in self.paths.iter().zip(&self.places) {
            let opened = RunReader::new(path)?;
            let mut clock = Clock::measured(opened.ticks_per_second()).shifted(place.shift_ns);
            for name in opened.store.processes().unwrap_or_default() {
                let start = ProcessDir::open(&opened.store, &name, &mut clock).map(|dir| dir.process.start_ns);
                first = first.into_iter().chain(start).min();
            }
        }
        Ok(TimeWindow { origin_ns: first.unwrap_or(0), ..window })
    }

    /// None of them keeps stacks.
    pub fn keep_no_stacks(&self) -> Result<bool, Error> {
        for path in &self.paths {
            if !RunReader::new(path)?.keeps_no_stacks() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The sums of GPU time are those of all runs, and the first one has them.
    fn with_ends(&self, run_ends: impl Iterator<Item = End>, gpu_times: Option<&GpuTimes>) -> Vec<FinishedRun> {
        let of = run_ends.zip(self.paths.iter().zip(&self.places));
        let run_end = |(end, (path, place)): (End, (&PathBuf, &RunPlace))| FinishedRun {
            path: path.clone(),
            end: End { run: place.name.clone(), ..end },
        };
        let mut run_ends: Vec<FinishedRun> = of.map(run_end).collect();
        for (of, place) in run_ends.iter_mut().zip(&self.places) {
            let clocks = &mut of.end.gpu_clocks;
            clocks.shift(place.shift_ns);
            let number = place.name.as_ref().map_or(0, |name| name.place);
            gpu_times.into_iter().for_each(|times| times.identify(number, clocks));
        }
        run_ends.iter_mut().take(1).for_each(|of| of.end.gpu_time = gpu_times.map(GpuTimes::summary));
        run_ends
    }
}

/// Reads each in a separate thread, and hands out the earliest event of all.
fn merge(readers: &mut [EventReader], sink: &mut dyn FnMut(Event) -> ControlFlow<()>) -> Result<(), Error> {
    thread::scope(|scope| {
        let mut threads = Vec::new();
        let mut heads = Vec::new();
        for reader in readers {
            let (sender, events) = sync_channel(WAITING);
            threads.push(scope.spawn(move || read_one(reader, &sender)));
            heads.push(RunQueue { events, next: Vec::new().into_iter(), ns: 0 });
        }
        let mut order = BinaryHeap::new();
        for (n, head) in heads.iter_mut().enumerate() {
            order.extend(head.next().map(|event| Reverse(NextEvent { ns: head.ns, n, event })));
        }
        while let Some(Reverse(NextEvent { n, event, .. })) = order.pop() {
            if sink(event).is_break() {
                break;
            }
            let head = &mut heads[n];
            order.extend(head.next().map(|event| Reverse(NextEvent { ns: head.ns, n, event })));
        }
        // A thread that still reads ends: its receiver is gone.
        drop(heads);
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

fn read_one(reader: &mut EventReader, to: &SyncSender<Vec<Event>>) -> Result<(), Error> {
    let mut together = Vec::with_capacity(TOGETHER);
    reader.poll_while(true, &mut |event| {
        together.push(event);
        if together.len() < TOGETHER {
            return ControlFlow::Continue(());
        }
        let full = std::mem::replace(&mut together, Vec::with_capacity(TOGETHER));
        if to.send(full).is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    let _ = to.send(together);
    Ok(())
}

/// The next events of a run.
struct RunQueue {
    events: Receiver<Vec<Event>>,
    next: std::vec::IntoIter<Event>,
    /// Time of the last one, which is that of [`Event::Updated`] too.
    ns: u64,
}

impl RunQueue {
    fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.next.next() {
                self.ns = self.ns.max(moment(&event).unwrap_or(0));
                return Some(event);
            }
            self.next = self.events.recv().ok()?.into_iter();
        }
    }
}

/// The next event of run `n`; of equal times that of the first run comes first.
struct NextEvent {
    ns: u64,
    n: usize,
    event: Event,
}

impl PartialEq for NextEvent {
    fn eq(&self, other: &NextEvent) -> bool {
        (self.ns, self.n) == (other.ns, other.n)
    }
}

impl Eq for NextEvent {}

impl PartialOrd for NextEvent {
    fn partial_cmp(&self, other: &NextEvent) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for NextEvent {
    fn cmp(&self, other: &NextEvent) -> std::cmp::Ordering {
        (self.ns, self.n).cmp(&(other.ns, other.n))
    }
}

/// When it happened.
fn moment(event: &Event) -> Option<u64> {
    match event {
        Event::Process(process) => Some(process.start_ns),
        Event::Instance(_, ns) => Some(*ns),
        Event::Enter(call) => Some(call.start_ns),
        Event::Updated(_) => None,
        Event::Exit(exit) => Some(exit.end_ns),
        Event::Lookup(lookup) => Some(lookup.ns),
        Event::Module(module) => Some(module.ns),
        Event::Row(row) => Some(row.ns),
    }
}

/// How far the wall clock of a run is ahead of its CLOCK_MONOTONIC; none without a process.
fn wall_ahead(run: &RunReader) -> Option<i64> {
    let names = run.store.processes().unwrap_or_default();
    let first = names.iter().find_map(|name| ProcessDir::open(&run.store, name, &mut Clock::default()));
    first.map(|dir| (dir.process.start_realtime_ns as i64).wrapping_sub(dir.process.start_ns as i64))
}

/// A name for each.
fn names(paths: &[PathBuf], ranks: &[Option<u32>]) -> Vec<Arc<RunName>> {
    let different: BTreeSet<u32> = ranks.iter().copied().flatten().collect();
    let have_ranks = different.len() == paths.len();
    let short = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let short: Vec<Option<String>> = paths.iter().map(short).collect();
    let different: BTreeSet<&String> = short.iter().flatten().collect();
    let are_short = different.len() == paths.len();
    let file = |n: usize| match short.get(n) {
        Some(Some(name)) if are_short => name.as_str().into(),
        _ => paths[n].to_string_lossy().into_owned().into_boxed_str(),
    };
    let name = |n: usize| RunName {
        place: n as u32,
        rank: ranks[n].filter(|_| have_ranks),
        file: cutap_printable::printable(&file(n)).into(),
    };
    (0..paths.len()).map(|n| Arc::new(name(n))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::ranks::rank_of;
    use super::*;

    fn displayed(paths: &[&str]) -> Vec<String> {
        let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        let ranks: Vec<Option<u32>> = paths.iter().map(|path| rank_of(path)).collect();
        names(&paths, &ranks).iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn names_tell_runs_apart() {
        assert_eq!(displayed(&["a/run.0.cutap", "a/run.12.cutap"]), ["rank 0", "rank 12"]);
        assert_eq!(displayed(&["rank3", "job-rank_1.cutap"]), ["rank 3", "rank 1"]);
        assert_eq!(displayed(&["a/run.0.cutap", "b/run.0.cutap"]), ["a/run.0.cutap", "b/run.0.cutap"]);
        assert_eq!(displayed(&["a/before.cutap", "b/after.cutap"]), ["before.cutap", "after.cutap"]);
        assert_eq!(displayed(&["run.0.cutap", "other.cutap"]), ["run.0.cutap", "other.cutap"]);
        assert_eq!(displayed(&["resnet50.cutap", "gpt2.cutap"]), ["resnet50.cutap", "gpt2.cutap"]);
    }
}
