//! Facts that are known when reading ends: calls that never ended, calls that were not seen, and why.

use super::end_parts::{Count, Diagnostics, IncompleteFunctions, MissingRecords, RunProcesses, RunSettings};
use super::filter_outcome::FilterOutcome;
use super::run_coverage::RunCoverage;
use crate::decode::undecoded::UndecodedFunction;
use crate::event::{Exit, Process, RunName};
use crate::gpu_time::{GpuClocks, GpuSummary};
use crate::io::clock::monotonic;
use crate::ring::damage::Reuse;
use crate::ring::lost_calls::LostCalls;
use crate::ring::reader::Ring;
use crate::run::facts::{Diagnostic, RecordingCoverage, RunHost};
use crate::run::run_reader::RunReader;
use crate::symbols::process::ProcessSymbols;
use cutap_calls::known::Rule;
use cutap_stacks::Absent;
use cutap_wire::diagnostic as reason;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The end of a trace.
#[derive(Debug, Clone, Default)]
pub struct End {
    /// Which run, if several are read together.
    pub run: Option<Arc<RunName>>,
    /// Calls that never ended, thread by thread, the innermost first.
    pub unfinished: Vec<Exit>,
    /// Calls that never ended, where they are counted and not kept.
    pub open: u64,
    /// How far a recording could be read; none for a run directory.
    pub recording: Option<RecordingCoverage>,
    /// How far the run was seen at all.
    pub coverage: RunCoverage,
    /// Rings that there were.
    pub rings: u64,
    /// Calls and ranges that were read, shown or not; none if they were not read.
    pub read_calls: Option<u64>,
    /// Until when the run was watched, CLOCK_MONOTONIC.
    pub last_ns: u64,
    /// Where the run was made.
    pub host: RunHost,
    /// What `cutap where --json` said when the run hung, if that was kept.
    pub hang: Option<String>,
    /// What was asked for when the run was recorded.
    pub settings: RunSettings,
    /// The processes of the run.
    pub processes: RunProcesses,
    /// What the processes counted and listed.
    pub diagnostics: Diagnostics,
    /// What is missing in rings.
    pub missing: MissingRecords,
    /// The filter, if there was one.
    pub filtered: Option<FilterOutcome>,
    /// Functions whose calls were shown with less than all, or not.
    pub functions: IncompleteFunctions,
    /// Files that stacks lead through and that cannot be read as they were.
    pub absent: Vec<Absent>,
    /// The rows of GPU time, if they were asked for and read.
    pub gpu_time: Option<GpuSummary>,
    /// The clocks of the GPUs.
    pub gpu_clocks: GpuClocks,
}

/// Parts of rings that are damaged and to which no thread writes any more.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// How many.
    pub parts: u64,
    /// Calls that are missing with them.
    pub lost: LostCalls,
}

/// CLOCK_MONOTONIC until which calls of the run may be open: the collector's last sign of life, or now while a process
/// of a run directory runs. The last record may be later.
pub(crate) fn run_end(run: &RunReader, folders: &[ProcessSymbols]) -> u64 {
    run.watched_until().max(if has_live(run, folders) { monotonic() } else { 0 })
}

pub(crate) fn has_live(run: &RunReader, folders: &[ProcessSymbols]) -> bool {
    !run.is_recording() && folders.iter().any(|folder| folder.dir.is_running())
}

impl End {
    /// What is damaged, and the calls that are missing.
    pub fn damage(&self) -> Damage {
        Damage { parts: self.missing.damaged_chunks, lost: self.missing.lost_calls }
    }

    /// What is known of the run beside its processes.
    pub(crate) fn of(run: &RunReader) -> End {
        let (is_lossy, has_range) = run.is_lossy_or_range();
        let mut unseen = RunCoverage::of(&run.store.control().unwrap_or_default(), run.forgotten().unwrap_or(0) == 0);
        unseen.filter = run.made_with_filter().filter(|_| unseen.by_filter);
        let mut end = End {
            host: run.host(),
            hang: run.hang(),
            settings: RunSettings {
                is_lossy,
                has_range,
                counts_chatter: run.counts_chatter(),
                switched: run.switched(),
            },
            processes: RunProcesses { failed: run.failed(), ..RunProcesses::default() },
            coverage: unseen,
            gpu_clocks: GpuClocks::parse(&run.store.gpu_clocks()),
            ..End::default()
        };
        let (unfollowed, names) = run.left_alone();
        if unfollowed > 0 {
            end.count(reason::OTHER_LIBC, unfollowed.into());
        }
        let gap = |name| Diagnostic { reason: reason::OTHER_LIBC, pid: 0, name, detail: String::new() };
        end.diagnostics.gaps.extend(names.into_iter().map(gap));
        end
    }

    /// Under --capture-range nothing was recorded: the range never began, or no call was in it.
    pub fn never_began(&self) -> bool {
        let lacks_nothing = self.missing.overwritten == 0 && self.missing.chunks_taken == 0;
        // A thread has a ring for ranges that may turn out to be capture ranges.
        self.settings.has_range && (self.rings == 0 || self.read_calls == Some(0)) && lacks_nothing
    }

    /// No call of the run was seen, and no process is known that loaded the driver: in how many programs the library
    /// was.
    pub fn without_driver(&self) -> Option<u32> {
        let has_driver =
            self.rings > 0 || self.missing.overwritten > 0 || self.processes.failed > 0 || self.coverage.drivers > 0;
        let entered = self.coverage.entered.filter(|entered| *entered > 0 || self.processes.all.is_empty());
        entered.filter(|_| !has_driver && self.coverage.inner == 0)
    }

    /// Processes that loaded the driver and of which no call was seen, where no filter and no switch is the reason. One
    /// whose calls a forked child makes is none of them: the child has the same program and the same routes.
    pub fn without_calls(&self) -> Vec<&Process> {
        let all = self.processes.silent.iter().filter(|_| !self.coverage.by_filter && !self.is_partial());
        all.filter(|p| !self.coverage.has_child_with_calls(p.pid, &p.folder)).map(|p| &**p).collect()
    }

    /// The driver was loaded, and what the run recorded by its filter is nothing.
    pub fn filter_left_nothing(&self) -> bool {
        self.coverage.by_filter && self.rings == 0 && !self.processes.silent.is_empty() && !self.is_partial()
    }

    /// Calls passed unrecorded because that was asked for.
    fn is_partial(&self) -> bool {
        self.coverage.is_off
            || self.settings.has_range
            || !self.settings.switched.0.is_empty()
            || self.settings.switched.1 > 0
    }

    /// Takes over what a process counted and listed.
    pub(crate) fn folder(&mut self, folder: &mut ProcessSymbols) {
        folder.dir.refresh();
        self.rings += u64::from(folder.dir.page.rings);
        if folder.dir.page.driver && self.coverage.is_without_calls(folder.dir.page.rings, &folder.dir.page.counters) {
            self.processes.silent.push(folder.dir.process.clone());
        }
        if folder.dir.page.forked && folder.dir.page.rings > 0 {
            self.coverage.parent(folder.dir.page.ppid, &folder.dir.page.parent);
        }
        let waits = folder.dir.may_go_on();
        let counters = folder.dir.page.counters.into_iter().enumerate();
        // Who waits and has not ended goes on.
        for (reason, count) in counters.filter(|c| c.1 > 0 && (c.0 != reason::CALL_WAITED || !waits)) {
            self.count(reason, count);
        }
        self.processes.all.push(folder.dir.process.clone());
        self.diagnostics.gaps.append(&mut folder.names.gaps);
        self.processes.instances.extend(folder.names.instances());
        self.missing.nameless += folder.names.nameless;
    }

    /// Takes over what is known of processes that have ended.
    pub(crate) fn add_retired(&mut self, retired: &End) {
        retired.diagnostics.counts.iter().for_each(|count| self.count(count.reason, count.count));
        self.unfinished.extend_from_slice(&retired.unfinished);
        self.diagnostics.gaps.extend_from_slice(&retired.diagnostics.gaps);
        self.processes.all.extend_from_slice(&retired.processes.all);
        self.processes.instances.extend_from_slice(&retired.processes.instances);
        self.processes.silent.extend_from_slice(&retired.processes.silent);
        retired.functions.undecoded.iter().for_each(|function| self.add_undecoded(function));
        self.missing.nameless += retired.missing.nameless;
        self.missing.chunks_taken += retired.missing.chunks_taken;
        self.missing.overwritten += retired.missing.overwritten;
        self.missing.chunks_lost += retired.missing.chunks_lost;
        self.missing.damaged_chunks += retired.missing.damaged_chunks;
        self.missing.lost_calls = self.missing.lost_calls.plus(retired.missing.lost_calls);
        self.missing.records_cut += retired.missing.records_cut;
        self.missing.records_unknown += retired.missing.records_unknown;
        self.rings += retired.rings;
        self.coverage.plus(&retired.coverage);
    }

    /// Adds what was shown raw of a function, which other processes may have called too.
    pub(crate) fn add_undecoded(&mut self, function: &UndecodedFunction) {
        let is_same = |row: &&mut UndecodedFunction| {
            let (one, two) = (&row.function, &function.function);
            Arc::ptr_eq(one, two) || (one.layer, &one.name, &one.library) == (two.layer, &two.name, &two.library)
        };
        match self.functions.undecoded.iter_mut().find(is_same) {
            Some(known) => {
                known.calls += function.calls;
                known.params.iter_mut().zip(&function.params).for_each(|(sum, more)| *sum += more);
            }
            None => self.functions.undecoded.push(function.clone()),
        }
    }

    fn count(&mut self, reason: usize, count: u64) {
        match self.diagnostics.counts.binary_search_by_key(&reason, |c| c.reason) {
            Ok(at) => self.diagnostics.counts[at].count = self.diagnostics.counts[at].count.saturating_add(count),
            Err(at) => self.diagnostics.counts.insert(at, Count { reason, count }),
        }
    }

    /// Of launches whose parameters are not known those that a filter on what is recorded left out are not counted:
    /// the target does not know which they are.
    pub(crate) fn launches_of_shown(&mut self) {
        if self.filtered.as_ref().is_none_or(|f| f.filtered_out == 0) {
            return;
        }
        let is_launch = |rule: Rule| matches!(rule, Rule::KernelParams(..) | Rule::Extra);
        let of = |f: &UndecodedFunction| -> u64 {
            let raw = f.function.params().iter().zip(&f.params).filter(|(p, _)| is_launch(p.rule));
            raw.map(|(_, count)| *count).sum()
        };
        let shown_launches: u64 = self.functions.undecoded.iter().map(of).sum();
        for count in self.diagnostics.counts.iter_mut().filter(|c| c.reason == reason::PARAMETERS_UNKNOWN) {
            count.count = count.count.min(shown_launches);
        }
        self.diagnostics.counts.retain(|c| c.count > 0);
    }

    /// Takes over what was lost of a ring, and whether its thread lives. In a folder that is drained, chunks that were
    /// there and are not any more have been read by a collector, for only then does their writer take them again.
    pub(crate) fn ring(&mut self, ring: &mut Ring, process: &Arc<Process>, run: &RunReader) {
        if ring.is_kept() {
            // Its calls are counted in the ring of their thread.
            return;
        }
        let drained = !ring.consume && ring.missed > 0 && run.is_drained();
        // Nobody took those that are there without heads that make sense, nor what is missing between others.
        let heads = ring.chunks.heads_damaged(run.reuse());
        let numbers = heads.numbers.max(heads.damaged);
        let reused = ring.missed.saturating_sub(numbers);
        let losses = ring.count.losses();
        let damaged = heads.damaged.saturating_add(losses.damaged);
        self.missing.chunks_lost += damaged;
        // While it is written, a reader says no more than that something is missing.
        if ring.is_writerless {
            self.missing.damaged_chunks += damaged;
            let outside = LostCalls::uncounted(heads.damaged.saturating_sub(heads.numbers));
            let between = match run.reuse() {
                Reuse::Any => LostCalls::default(),
                // Another reader may have taken some of them.
                Reuse::Read if drained && reused > 0 => LostCalls::uncounted(numbers),
                Reuse::Never if ring.consumed > 0 && heads.numbers > 0 => {
                    LostCalls { counted: ring.calls_taken, uncounted: 0 }.plus(losses.between)
                }
                _ => losses.between,
            };
            self.missing.lost_calls = self.missing.lost_calls.plus(losses.inside).plus(between).plus(outside);
        }
        self.missing.chunks_taken += ring.consumed.saturating_sub(numbers.saturating_sub(ring.missed));
        *(if drained { &mut self.missing.chunks_taken } else { &mut self.missing.chunks_lost }) += reused;
        // A collector that has read all of it leaves nothing but their numbers.
        self.missing.chunks_taken += if !ring.consume && run.is_drained() { ring.given_back() } else { 0 };
        self.missing.overwritten += ring.calls_taken;
        self.missing.records_cut += ring.cut();
        self.missing.records_unknown += ring.unknown();
        match ring.self_induced() {
            0 => {}
            calls => self.count(reason::SELF_INDUCED, calls),
        }
        if !self.processes.running.contains(process) && !ring.abandoned() {
            self.processes.running.push(process.clone());
        }
    }

    /// Takes over how far a recording could be read. Who ran when it was made is not who runs now, and a thread whose
    /// end nobody noted (of a child by a bare clone, of a program that went on unrecorded) looks in it as if it lived.
    pub(crate) fn recorded(&mut self, run: &RunReader) {
        self.recording = run.recording();
        let flight = run.forgotten().is_some();
        let untold = !run.has_control();
        if let Some(recording) = &mut self.recording {
            self.processes.running.clear();
            // Its own sentence says them all.
            self.missing.damaged_chunks = 0;
            // A flight recorder's thread may have written over any of them.
            recording.holes = recording.holes.max(if flight { 0 } else { self.missing.chunks_lost });
            // What was damaged at the beginning of a ring nobody has read.
            let unseen = recording.holes.saturating_sub(self.missing.chunks_lost);
            let damaged = unseen.min(self.missing.chunks_taken.saturating_sub(recording.read_before));
            let all_taken = damaged > 0 && damaged == self.missing.chunks_taken;
            let counted = if all_taken { self.missing.overwritten } else { 0 };
            let uncounted = unseen - if all_taken { damaged } else { 0 };
            if !flight {
                self.missing.lost_calls = self.missing.lost_calls.plus(LostCalls { counted, uncounted });
                self.missing.chunks_taken -= damaged;
                self.missing.chunks_lost = recording.holes;
            }
            let before = if flight || untold { 0 } else { self.missing.chunks_taken };
            recording.read_before = recording.read_before.max(before);
        }
    }

    /// What is missing at the beginning of rings was written over, or a collector has taken it.
    pub(crate) fn settle(&mut self, run: &RunReader) {
        match run.forgotten() {
            Some(calls) => {
                (self.missing.chunks_taken, self.missing.overwritten) =
                    (0, self.missing.overwritten.saturating_add(calls))
            }
            None if run.has_control() => self.missing.overwritten = 0,
            None => {
                (self.missing.chunks_unknown, self.missing.chunks_taken, self.missing.overwritten) =
                    (self.missing.chunks_taken, 0, 0)
            }
        }
        self.missing.unopened = run.store.unopened();
        self.merge_unknown_names();
    }

    /// A name that a hook asks for in several processes is one name. Where all are listed, the count is that of
    /// different ones.
    fn merge_unknown_names(&mut self) {
        let is_name = |gap: &Diagnostic| gap.reason == reason::HOOK_NO_PARAMETER;
        let before = self.diagnostics.gaps.iter().filter(|gap| is_name(gap)).count() as u64;
        let mut names = BTreeSet::new();
        self.diagnostics.gaps.retain(|gap| !is_name(gap) || names.insert(gap.name.clone()));
        let of_names = |c: &&mut Count| c.reason == reason::HOOK_NO_PARAMETER && c.count == before;
        self.diagnostics.counts.iter_mut().filter(of_names).for_each(|c| c.count = names.len() as u64);
    }

    /// Programs and libraries into which a runtime is linked, each once: a forked child has the same
    /// ones again. No callback reports `__cudaRegister*` and `__cudaPushCallConfiguration` there.
    pub fn linked_in(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for instance in self.processes.instances.iter().filter(|i| !i.shared) {
            if !names.contains(&&*instance.library) {
                names.push(&instance.library);
            }
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Launches whose parameters are not known: all were counted in the target, and none was shown.
    fn left(filtered_out: Option<u64>) -> usize {
        let count = |reason| Count { reason, count: 7 };
        let filtered = |filtered_out| FilterOutcome {
            text: "error".into(),
            shown_calls: 1,
            filtered_out,
            near: Vec::new(),
            missing_parameters: Vec::new(),
            unrecorded: Vec::new(),
            is_intersection: false,
            is_kept: false,
        };
        let mut end = End {
            diagnostics: Diagnostics {
                counts: [reason::PARAMETERS_UNKNOWN, reason::SELF_INDUCED].map(count).into(),
                ..Diagnostics::default()
            },
            filtered: filtered_out.map(filtered),
            ..End::default()
        };
        end.launches_of_shown();
        end.diagnostics.counts.len()
    }

    #[test]
    fn launches_that_a_filter_left_out_are_not_counted() {
        assert_eq!([None, Some(0), Some(3)].map(left), [2, 2, 1]);
    }
}
