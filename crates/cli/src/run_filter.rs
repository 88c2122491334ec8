//! The filter of a reader. A plain name that is no function's may be that of a range: only the run knows its ranges. It
//! is read for them where a name is unknown, before the filter is refused.

use crate::args::{FilterArgs, InputArgs};
use cutap_collect::{Result, filter};
use cutap_trace::{CallSink, Filter, FinishedCall, Function, Instance, Runs};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

/// Names of the ranges and marks of a run.
#[derive(Default)]
struct RangeNames(BTreeSet<Arc<str>>);

impl CallSink for RangeNames {
    fn enter(&mut self, _: u32, function: &Arc<Function>) -> u32 {
        if function.range.is_some() {
            self.0.insert(function.name.clone());
        }
        0
    }
    fn exit(&mut self, _: &FinishedCall<'_>) {}
    fn function_instance(&mut self, _: &Arc<Function>, _: &Arc<Instance>) {}
}

/// Parses the filter of who reads these runs. Where they are is asked only if a name is unknown.
pub fn filter_of_runs(text: Option<&str>, runs: impl FnOnce() -> Result<Vec<PathBuf>>) -> Result<Filter> {
    let refused = match filter(text) {
        Err(refused) => refused,
        parsed => return parsed,
    };
    let (mut ranges, runs) = (RangeNames::default(), runs()?);
    let read = Filter::parse("nvtx").map(|nvtx| Runs::open(&runs).and_then(|runs| runs.calls(&nvtx, &mut ranges)));
    let names: Vec<&str> = ranges.0.iter().map(|name| &**name).collect();
    let of_ranges = text.filter(|_| matches!(read, Ok(Ok(_))) && !names.is_empty());
    of_ranges.and_then(|text| Filter::parse_of_run(text, &names).ok()).ok_or(refused)
}

impl FilterArgs {
    /// The filter that was given, for these runs.
    pub fn of_runs(&self, input: &InputArgs) -> Result<Option<Filter>> {
        self.text().map(|text| filter_of_runs(Some(&text), || input.paths())).transpose()
    }

    /// What a reader shows: without a filter on the command line that of the run, unless `all` is wanted.
    pub fn of_reader(&self, all: bool, input: &InputArgs) -> Result<Filter> {
        let default = || if all { Filter::default() } else { Filter::of_the_run() };
        Ok(self.of_runs(input)?.unwrap_or_else(default))
    }
}
