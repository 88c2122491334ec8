//! The end of a run that was followed: what is known of its processes, of those too that have ended long ago.

use super::event_reader::EventReader;
use super::retired::Retired;
use crate::pair::sink::{Context, Sink};
use crate::pair::source::Source;
use crate::summary::end::{End, has_live, run_end};
use crate::summary::filter_outcome::{FilterOutcome, RunFunctions};

/// Calls that were not there any more when their turn came: a collector had read them, or the writer of a flight
/// recorder had written over them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MissedCalls {
    /// Before the first one that was read.
    pub before: u64,
    /// Between those that were read.
    pub between: u64,
}

impl EventReader {
    /// The calls that this reader missed so far.
    pub fn missed_calls(&self) -> MissedCalls {
        let missed = self.sources.iter().map(|source| MissedCalls {
            before: source.ring.calls_taken,
            between: source.ring.count.losses().between.counted,
        });
        missed.fold(MissedCalls::default(), |sum, of| MissedCalls {
            before: sum.before.saturating_add(of.before),
            between: sum.between.saturating_add(of.between),
        })
    }

    /// What is known at the end. To be called after the last `poll`.
    pub fn end(&mut self) -> End {
        let mut end = End::of(&self.run_reader);
        let retired = std::mem::take(&mut self.retired);
        end.add_retired(&retired.end);
        let last = self.sources.iter().map(|s| s.calls.sink.last_time()).max().unwrap_or(0);
        let now = last.max(self.shared.clock.moment(run_end(&self.run_reader, &self.folders)));
        (end.last_ns, end.processes.has_live) = (now, has_live(&self.run_reader, &self.folders));
        for folder in &mut self.folders {
            end.folder(folder);
        }
        for source in &mut self.sources {
            let mut context = Context { process: &mut self.folders[source.process], shared: &mut self.shared };
            let end_ns = context.process.dir.end_ns(&context.shared.clock, now);
            let mut unfinished = source.end(end_ns.max(source.calls.sink.last_time()), &mut context);
            unfinished.iter_mut().for_each(|exit| self.interpreters[source.process].unfinished(exit));
            end.unfinished.extend(unfinished);
            end.ring(&mut source.ring, &self.folders[source.process].dir.process, &self.run_reader);
        }
        self.interpreters.iter().flat_map(|i| i.undecoded.all()).for_each(|function| end.add_undecoded(function));
        end.absent = self.shared.files.absent();
        end.recorded(&self.run_reader);
        end.settle(&self.run_reader);
        let Retired { mut run_functions, mut counted, shown_calls: retired_calls, filtered_out, .. } = retired;
        let only_counted = self.run_reader.only_counts();
        for folder in &mut self.folders {
            counted.add(folder, &mut self.shared.resolver, only_counted);
            run_functions.add(folder, &self.shared.resolver.filter);
        }
        end.filtered = self.filtered(&run_functions, (retired_calls, filtered_out));
        end.read_calls = Some(self.read_calls(retired_calls + filtered_out));
        end.launches_of_shown();
        end.functions.counted = counted.sorted();
        if let Some(filtered) = &mut end.filtered {
            filtered.shown_calls += end.functions.counted.iter().map(|c| c.calls).sum::<u64>();
        }
        end
    }

    /// With those of processes that have ended.
    fn read_calls(&self, of_retired: u64) -> u64 {
        let of_source = |source: &Source| source.calls.shown_calls + source.calls.filtered_out;
        of_retired + self.sources.iter().map(of_source).sum::<u64>()
    }

    /// `before` are the calls of processes that have ended: shown, and not.
    fn filtered(&self, run_functions: &RunFunctions, before: (u64, u64)) -> Option<FilterOutcome> {
        let sum = |of: fn(&Source) -> u64| self.sources.iter().map(of).sum::<u64>();
        let (shown_calls, filtered_out) =
            (sum(|s| s.calls.shown_calls + s.calls.sink.lookups), sum(|s| s.calls.filtered_out));
        let all = (before.0 + shown_calls, before.1 + filtered_out);
        FilterOutcome::new(&self.shared.resolver.filter, all, run_functions, &self.run_reader)
    }
}
