//! Reads runs for a report: as often as it needs, and with what it needs.

use crate::inputs::named;
use crate::progress::Progress;
use crate::reading::read_events;
use cutap_collect::{Error, Result, print_notice};
use cutap_report::{INVENTED, Input, gpu_time_lines};
use cutap_trace::{Filter, FinishedRun, ReaderOptions, Runs, TimeWindow};

/// Reads the runs again, for a report that follows all calls and lists by a filter.
pub fn select(
    report: &mut dyn cutap_report::Report,
    runs: &Runs,
    listed: Option<&Filter>,
) -> Result<Option<Vec<FinishedRun>>> {
    let Some(filter) = listed else { return Ok(None) };
    let Some(sink) = report.filtered(filter) else { return Ok(None) };
    let _progress = Progress::of("reading again, for the calls of the filter,", runs);
    let options = ReaderOptions { filter: filter.clone(), ..ReaderOptions::default() };
    let run_ends = read_events(runs, &options, &mut |event| sink.event(event))?;
    if filter.asks_calls() {
        print_notice(&format!(
            "the filter {} has conditions, and this list is chosen by functions: all that they made is in it",
            filter.text()
        ));
    }
    Ok(Some(run_ends))
}

/// Reads the runs for a report that has an answer.
pub fn read(
    report: &mut dyn cutap_report::Report,
    runs: &Runs,
    filter: Filter,
    window: Option<TimeWindow>,
) -> Result<Vec<FinishedRun>> {
    let refused =
        |report: &dyn cutap_report::Report| report.refusal(&named(runs)).map_or(Ok(()), |why| Err(Error::own(why)));
    // Reading a long run only to refuse it takes a while.
    if report.needs_stacks() && runs.keep_no_stacks()? {
        refused(report)?;
    }
    let progress = Progress::reading(runs);
    if report.needs_gpu_times() {
        let times = runs.gpu_times()?.ok_or_else(|| {
            let run = named(runs);
            Error::own(format!("{run} has no GPU times; they are kept with cutap record --gpu-time"))
        })?;
        let window = window.map(|window| runs.window(window)).transpose()?;
        report.gpu_times(&times.work_in(window));
        let summary = times.summary();
        if summary.counts.rows == 0 {
            gpu_time_lines(&summary, None).iter().for_each(|line| print_notice(line));
        } else if summary.is_simulated {
            print_notice(INVENTED);
        }
    }
    let options = ReaderOptions { filter, ..ReaderOptions::default() };
    let run_ends = match report.input() {
        Input::Calls(sink) => runs.calls(&options.filter, sink)?,
        Input::Events(sink) => read_events(runs, &options, &mut |event| sink.event(event))?,
    };
    drop(progress);
    if let Some((only, sink)) = report.selected() {
        let _progress = Progress::of("reading again, for the arguments of these calls,", runs);
        let options = ReaderOptions { only: Some(only), ..options.clone() };
        read_events(runs, &options, &mut |event| sink.event(event))?;
    }
    if let Some(sink) = report.stacks()
        && !runs.keep_no_stacks()?
    {
        let _progress = Progress::of("reading the stacks of", runs);
        read_events(runs, &options, &mut |event| sink.event(event))?;
    }
    run_ends.iter().flat_map(|of| &of.end.functions.counted).for_each(|counted| report.counted(counted));
    report.run_ends(&run_ends);
    refused(report)?;
    Ok(run_ends)
}
