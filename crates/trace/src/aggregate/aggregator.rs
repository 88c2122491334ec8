//! Adds up the calls of a run, thread after thread. Calls are not merged by time, arguments are not decoded, and a call
//! is forgotten when it ends. So it is much faster than [`crate::EventReader`], and needs no memory for each call.

use super::call_sums::CallSums;
use super::sink::CallSink;
use crate::event::{Layer, RunPlace};
use crate::filter::Filter;
use crate::gpu_time::join::GpuTimes;
use crate::io::clock::{Clock, monotonic};
use crate::io::read_progress::ReadProgress;
use crate::pair::pairer::Pairer;
use crate::pair::shared::Shared;
use crate::pair::sink::Context;
use crate::ring::reader::Ring;
use crate::run::error::Error;
use crate::run::run_reader::RunReader;
use crate::summary::counted::CountSums;
use crate::summary::end::{End, run_end};
use crate::summary::filter_outcome::{FilterOutcome, RunFunctions};
use crate::symbols::functions::Resolver;
use crate::symbols::process::ProcessSymbols;
use std::path::Path;
use std::sync::Arc;

/// A run whose calls are to be added up.
#[derive(Debug)]
pub struct Aggregator {
    run_reader: RunReader,
    shared: Shared,
    shown_calls: u64,
    filtered_out: u64,
    gpu_times: Option<Arc<GpuTimes>>,
}

impl Aggregator {
    /// Opens a run directory, or a recording.
    pub fn open(run: &Path, filter: &Filter) -> Result<Aggregator, Error> {
        Aggregator::open_at(run, filter, RunPlace::default(), &Arc::default())
    }

    /// Opens one that is read together with other runs.
    pub fn open_at(
        run: &Path,
        filter: &Filter,
        place: RunPlace,
        progress: &Arc<ReadProgress>,
    ) -> Result<Aggregator, Error> {
        let run_reader = RunReader::with_progress(run, progress)?;
        let tables = &cutap_calls::generated::known::TABLES;
        let shared = Shared {
            clock: Clock::measured(run_reader.ticks_per_second()).shifted(place.shift_ns),
            resolver: Resolver::new(tables, filter.clone().of_run(run_reader.filter()), place.clone()),
            threads: 0,
            place,
            decode: false,
            live: false,
            files: Default::default(),
        };
        Ok(Aggregator { run_reader, shared, shown_calls: 0, filtered_out: 0, gpu_times: None })
    }

    /// Calls get what the GPU did for them.
    #[must_use]
    pub(crate) fn with_gpu_times(self, gpu_times: Option<Arc<GpuTimes>>) -> Aggregator {
        Aggregator { gpu_times, ..self }
    }

    /// What was opened.
    pub fn run_reader(&self) -> &RunReader {
        &self.run_reader
    }

    /// Hands out all calls that the filter lets through, and says what is known at the end.
    pub fn run(&mut self, calls: &mut dyn CallSink) -> End {
        let (mut end, mut open, shared) = (End::of(&self.run_reader), 0, &mut self.shared);
        let names = self.run_reader.store.processes().unwrap_or_default();
        let folders = names.iter().filter_map(|n| ProcessSymbols::open(&self.run_reader.store, n, &mut shared.clock));
        let mut folders: Vec<ProcessSymbols> = folders.collect();
        folders.sort_by_key(|folder| folder.dir.process.start_ns);
        let mut rings: Vec<(usize, Ring)> = Vec::new();
        for (n, folder) in folders.iter_mut().enumerate() {
            folder.dir.number(n as u32, &shared.place);
            folder.read_names(true);
            for mut ring in folder.dir.new_rings(false, &mut shared.clock) {
                ring.end_here();
                rings.push((n, ring));
            }
        }
        let (mut unfinished_calls, mut last_ns) = (Vec::new(), 0);
        for (n, ring) in &mut rings {
            let folder = &mut folders[*n];
            let mut pairer = Pairer::new(CallSums::new(calls, self.gpu_times.as_deref()));
            let mut context = Context { process: folder, shared };
            while pairer.take(ring, monotonic(), 1 << 20, &mut context) {}
            let last = context.process.dir.ns(&context.shared.clock, pairer.sink.last_ticks);
            last_ns = last_ns.max(last);
            self.shown_calls += pairer.shown_calls;
            self.filtered_out += pairer.filtered_out;
            unfinished_calls.extend(pairer.into_unfinished().map(|unfinished| (*n, last, unfinished)));
            calls.ring_ends();
            end.ring(ring, &folder.dir.process, &self.run_reader);
        }
        // How long they were open is known when the last record of the run is.
        let run_end = || shared.clock.moment(run_end(&self.run_reader, &folders));
        let run_ns = last_ns.max(if unfinished_calls.is_empty() { 0 } else { run_end() });
        for (n, last, open_calls) in unfinished_calls {
            let mut pairer = Pairer::new(CallSums::new(calls, self.gpu_times.as_deref()));
            let end_ns = folders[n].dir.end_ns(&shared.clock, run_ns).max(last);
            pairer.end_unfinished(open_calls, end_ns, &mut Context { process: &mut folders[n], shared });
            open += pairer.sink.unfinished;
            self.shown_calls += pairer.shown_calls;
            self.filtered_out += pairer.filtered_out;
        }
        for folder in &mut folders {
            for resolved in folder.names.all_resolved() {
                let own = resolved.function.instance.as_ref();
                // A toolkit library has a runtime inside; its own functions are not that runtime's.
                let of_runtime = resolved.function.layer == Layer::RUNTIME;
                let of_object = || folder.names.instance_of(resolved.object).filter(|_| of_runtime);
                let instance = own.or_else(of_object);
                instance.inspect(|instance| calls.function_instance(&resolved.function, instance));
            }
            end.folder(folder);
        }
        end.recorded(&self.run_reader);
        end.settle(&self.run_reader);
        end.open = open;
        end.read_calls = Some(self.shown_calls + self.filtered_out);
        let only_counted = self.run_reader.only_counts();
        let (mut counted, mut run_functions) = (CountSums::default(), RunFunctions::default());
        for folder in &mut folders {
            counted.add(folder, &mut shared.resolver, only_counted);
            run_functions.add(folder, &shared.resolver.filter);
        }
        end.functions.counted = counted.sorted();
        end.filtered = FilterOutcome::new(
            &shared.resolver.filter,
            (self.shown_calls, self.filtered_out),
            &run_functions,
            &self.run_reader,
        );
        if let Some(filtered) = &mut end.filtered {
            filtered.shown_calls += end.functions.counted.iter().map(|c| c.calls).sum::<u64>();
        }
        end
    }
}
