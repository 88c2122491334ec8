//! Reads whole runs, event by event, for commands that add up.

use crate::progress::Progress;
use cutap_collect::Result;
use cutap_trace::{End, Event, Filter, FinishedRun, ReaderOptions, Runs};
use std::ops::ControlFlow;
use std::path::Path;

/// Hands all events to `sink`, in the order of time and with their arguments; calls that never run_ends come last.
pub fn read_events(runs: &Runs, options: &ReaderOptions, sink: &mut dyn FnMut(&Event)) -> Result<Vec<FinishedRun>> {
    let run_ends = runs.events(options, &mut |event| {
        sink(&event);
        ControlFlow::Continue(())
    })?;
    add_unfinished(&run_ends, sink);
    Ok(run_ends)
}

/// The same, for a sink that takes as long as reading does.
pub fn read_events_ahead(
    runs: &Runs,
    options: &ReaderOptions,
    sink: &mut dyn FnMut(&Event),
) -> Result<Vec<FinishedRun>> {
    let run_ends = runs.events_read_ahead(options, &mut |event| {
        sink(&event);
        ControlFlow::Continue(())
    })?;
    add_unfinished(&run_ends, sink);
    Ok(run_ends)
}

fn add_unfinished(run_ends: &[FinishedRun], sink: &mut dyn FnMut(&Event)) {
    let unfinished = run_ends.iter().flat_map(|of| &of.end.unfinished);
    unfinished.for_each(|exit| sink(&Event::Exit(Box::new(exit.clone()))));
}

/// Hands all events of one run to `sink`.
pub fn read_run(run: &Path, filter: Filter, sink: &mut dyn FnMut(&Event)) -> Result<End> {
    let runs = Runs::open(&[run.to_owned()])?;
    let _progress = Progress::reading(&runs);
    let mut run_ends = read_events(&runs, &ReaderOptions { filter, ..ReaderOptions::default() }, sink)?;
    Ok(run_ends.pop().map(|of| of.end).unwrap_or_default())
}
