//! Answers one rule by reading the runs with the report that knows the answer.

use super::answer::{Answer, State};
use super::rule::{Rule, RuleKind};
use super::steady::RangeCounts;
use crate::args::InputArgs;
use crate::input::{readable, whole};
use crate::inputs::{all_whole, named};
use crate::reading::{read_events, read_run};
use crate::report_input;
use crate::run_filter::filter_of_runs;
use crate::verdict;
use cutap_collect::{Error, Result, filter as parse_filter};
use cutap_report::{
    Diff, DiffOptions, EventSink, Explain, Profile, ProfileOptions, REPORTS, Report, Rows, missing_against,
};
use cutap_trace::{End, Event, Filter, FinishedRun, ReaderOptions, Runs, TimeWindow};
use serde_json::Value;
use std::path::Path;

/// Calls and lines that an answer lists at most.
const LISTED: usize = 10;

/// What was found, before it has the rule's name.
struct Found {
    state: State,
    sentence: String,
    body: String,
}

/// The answer. What cannot be read is not known.
pub fn answer(rule: &Rule, input: &InputArgs) -> Answer {
    let name = rule.name.clone();
    match evaluated(rule, input) {
        Ok(Found { state, sentence, body }) => Answer { name, state, sentence, body },
        Err(why) => Answer { name, state: State::NotKnown, sentence: why.to_string(), body: String::new() },
    }
}

fn evaluated(rule: &Rule, input: &InputArgs) -> Result<Found> {
    let window = rule.window.or(input.window()?);
    let runs = input.open()?;
    let filter = |text: &str| filter_of_runs(Some(text).filter(|text| !text.is_empty()), || input.paths());
    match &rule.kind {
        RuleKind::NoErrors(text) => no_errors(&runs, filter(text)?.during(window).excluding_inside()),
        RuleKind::NoLeaks(text) => no_leaks(&runs, filter(text)?, !text.is_empty(), window),
        RuleKind::Count { filter: text, at_most, limit } => {
            count(&runs, text, filter(text)?, window, (*at_most, *limit))
        }
        RuleKind::NoSync(text) => no_sync(&runs, filter(text)?.during(window)),
        RuleKind::NoSyncIn(range) => {
            no_sync_in(&runs, range, filter(&format!("under:{}", quoted(range)))?.during(window))
        }
        RuleKind::Explain(rule) => explain(&runs, rule, window),
        RuleKind::Like(golden) => like(&runs, golden, window),
        RuleKind::Steady { filter: text, range, percent } => {
            if text.contains('&') {
                return Err(Error::own(format!("{text} has &, which steady cannot take; name functions alone")));
            }
            let both = filter(&format!("nvtx:{},{text}", quoted(range)))?.during(window);
            steady(&runs, text, range, both, *percent)
        }
    }
}

/// The name of a range as a word of a filter.
fn quoted(range: &str) -> String {
    if range.starts_with('"') { range.to_owned() } else { format!("\"{range}\"") }
}

fn new_report(flag: &str, value: &str) -> Result<Box<dyn Report>> {
    let kind = REPORTS.iter().find(|kind| kind.flag == flag);
    kind.map(|kind| (kind.new)(value)).ok_or_else(|| Error::own(format!("there is no report {flag}")))
}

/// The lines of a report, without its totals.
fn lines_of(report: &dyn Report, run_ends: &[FinishedRun]) -> String {
    let ends: Vec<End> = run_ends.iter().map(|of| of.end.clone()).collect();
    let mut out = Vec::new();
    if report.nothing().is_none() {
        // A Vec takes all bytes.
        let _ = report.write_text(&End::joined(&ends), false, &mut out);
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn held_or_violated(problems: u64) -> State {
    if problems == 0 { State::Holds } else { State::Violated(problems) }
}

fn plural(number: u64, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

fn no_errors(runs: &Runs, filter: Filter) -> Result<Found> {
    let mut report = new_report("errors", "")?;
    let run_ends = report_input::read(&mut *report, runs, filter, None)?;
    all_whole(&run_ends)?;
    let problems = report.problems().unwrap_or(0);
    verdict::of_problems(problems, report.has_calls(), &run_ends)?;
    let sentence = match problems {
        0 => "no call failed".to_owned(),
        n => format!("{} failed", plural(n, "call", "calls")),
    };
    Ok(Found { state: held_or_violated(problems), sentence, body: lines_of(&*report, &run_ends) })
}

/// All calls are followed, and the filter chooses whose makings count.
fn no_leaks(runs: &Runs, filter: Filter, is_filtered: bool, window: Option<TimeWindow>) -> Result<Found> {
    let mut report = new_report("leaks", "")?;
    if let Some(window) = window {
        report.during(runs.window(window)?);
    }
    let run_ends = report_input::read(&mut *report, runs, parse_filter(None)?, None)?;
    if is_filtered {
        report_input::select(&mut *report, runs, Some(&filter))?;
    }
    all_whole(&run_ends)?;
    let problems = report.problems().unwrap_or(0);
    verdict::of_leaks(problems, report.has_calls(), &run_ends)?;
    let sentence = match problems {
        0 => "nothing was left".to_owned(),
        n => format!("{} left", plural(n, "thing was", "things were")),
    };
    Ok(Found { state: held_or_violated(problems), sentence, body: lines_of(&*report, &run_ends) })
}

/// The last word is whether that many calls are the most or the least, and how many.
fn count(
    runs: &Runs,
    text: &str,
    filter: Filter,
    window: Option<TimeWindow>,
    (at_most, limit): (bool, u64),
) -> Result<Found> {
    let mut report = new_report("by", "function")?;
    let run_ends = report_input::read(&mut *report, runs, filter.during(window), None)?;
    all_whole(&run_ends)?;
    let shown_calls = run_ends.iter().filter_map(|of| of.end.filtered.as_ref()).map(|filtered| filtered.shown_calls);
    let counted = run_ends.iter().flat_map(|of| &of.end.functions.counted).map(|counted| counted.calls);
    let calls: u64 = shown_calls.sum::<u64>() + counted.sum::<u64>();
    let is_violated = if at_most { calls > limit } else { calls < limit };
    // Calls that are missing may be such calls. More of them cannot clear a count that is too high already.
    if (at_most && !is_violated) || (!at_most && is_violated) {
        let problems = if at_most { 0 } else { u64::from(!is_violated) };
        verdict::of_problems(problems, true, &run_ends)?;
    }
    let sentence = plural(calls, "call", "calls");
    if !is_violated {
        return Ok(Found { state: State::Holds, sentence, body: String::new() });
    }
    let is_plain = text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '*');
    let body = if at_most && is_plain { callers(runs, text, window)? } else { lines_of(&*report, &run_ends) };
    Ok(Found { state: State::Violated(calls.abs_diff(limit)), sentence, body })
}

/// Who calls a function.
fn callers(runs: &Runs, function: &str, window: Option<TimeWindow>) -> Result<String> {
    let mut report = new_report("callers", function)?;
    report.rows(Rows { top: Some(LISTED), ..Rows::default() });
    let run_ends = report_input::read(&mut *report, runs, parse_filter(None)?.during(window), None)?;
    Ok(lines_of(&*report, &run_ends))
}

fn no_sync(runs: &Runs, filter: Filter) -> Result<Found> {
    let mut report = new_report("blocking", "")?;
    let run_ends = report_input::read(&mut *report, runs, filter, None)?;
    all_whole(&run_ends)?;
    waits(&*report, &run_ends)
}

/// Without any call in the range, the rule says nothing of the program.
fn no_sync_in(runs: &Runs, range: &str, filter: Filter) -> Result<Found> {
    let mut report = new_report("blocking", "")?;
    let run_ends = report_input::read(&mut *report, runs, filter, None)?;
    all_whole(&run_ends)?;
    if run_ends.iter().filter_map(|of| of.end.filtered.as_ref()).all(|filtered| filtered.shown_calls == 0) {
        return Err(Error::own(format!(
            "no call is in a range {range}, so whether one waits there is not known; cutap report --by range lists \
             the ranges"
        )));
    }
    waits(&*report, &run_ends)
}

/// Whether a report of calls that may block the host has any.
fn waits(report: &dyn Report, run_ends: &[FinishedRun]) -> Result<Found> {
    let mut lines = Vec::new();
    let _ = report.write_json(&mut lines);
    let calls = String::from_utf8_lossy(&lines)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok()?.get("calls")?.as_u64())
        .sum();
    verdict::of_problems(calls, report.has_calls(), run_ends)?;
    let sentence = match calls {
        0 => "no call may block the host".to_owned(),
        n => format!("{} may block the host", plural(n, "call", "calls")),
    };
    Ok(Found { state: held_or_violated(calls), sentence, body: lines_of(report, run_ends) })
}

fn explain(runs: &Runs, rule: &str, window: Option<TimeWindow>) -> Result<Found> {
    let mut explain = Explain::default();
    explain.only_rules(&[rule.to_owned()]);
    if let Some(times) = runs.gpu_times()? {
        let window = window.map(|window| runs.window(window)).transpose()?;
        explain.gpu_times(&times.work_in(window));
    }
    let options = ReaderOptions { filter: parse_filter(None)?.during(window), ..ReaderOptions::default() };
    let run_ends = read_events(runs, &options, &mut |event| explain.event(event))?;
    all_whole(&run_ends)?;
    let problems = explain.problems(true) as u64;
    verdict::lacks_later_calls("a call that is missing may clear it", problems, &run_ends)?;
    verdict::of_problems(problems, explain.has_calls(), &run_ends)?;
    let mut out = Vec::new();
    if problems > 0 {
        let _ = explain.write_text(&named(runs), false, true, &mut out);
    }
    let sentence = match problems {
        0 => "no finding".to_owned(),
        n => plural(n, "finding", "findings"),
    };
    Ok(Found { state: held_or_violated(problems), sentence, body: String::from_utf8_lossy(&out).into_owned() })
}

/// Each run is compared alone.
fn like(runs: &Runs, golden: &Path, window: Option<TimeWindow>) -> Result<Found> {
    let filter = parse_filter(None)?.during(window);
    let read = |run: &Path| -> Result<(Profile, End)> {
        readable(run)?;
        let mut profile = Profile::new(ProfileOptions { ignores_handles: true, by_caller: false });
        let end = read_run(run, filter.clone(), &mut |event| profile.event(event))?;
        whole(run, &end).map(|()| (profile, end))
    };
    let (golden_profile, golden_end) = read(golden)?;
    let (mut body, mut differing) = (Vec::new(), 0);
    for run in runs.paths() {
        let (profile, end) = read(run)?;
        for (name, profile) in [(golden, &golden_profile), (run.as_path(), &profile)] {
            if profile.is_empty() {
                return Err(Error::own(format!("{} has no call, so nothing was compared", name.display())));
            }
        }
        let lacking = [(golden, missing_against(&golden_end, &end)), (run, missing_against(&end, &golden_end))];
        if let Some((name, missing)) = lacking.into_iter().find_map(|(name, missing)| Some((name, missing?))) {
            return Err(Error::own(format!(
                "{} lacks calls ({missing}), so differences are not known",
                name.display()
            )));
        }
        let diff = Diff::new(&golden_profile, &profile, DiffOptions::default())
            .with_program_ends(golden_end.coverage.program_end, end.coverage.program_end);
        if !diff.is_empty() {
            differing += 1;
            let _ = diff.write_text([&golden.display().to_string(), &run.display().to_string()], &mut body);
        }
    }
    let sentence = match differing {
        0 => "the calls are the same".to_owned(),
        n => format!("{} other calls", plural(n, "run has", "runs have")),
    };
    Ok(Found { state: held_or_violated(differing), sentence, body: String::from_utf8_lossy(&body).into_owned() })
}

fn steady(runs: &Runs, text: &str, range: &str, both: Filter, percent: f64) -> Result<Found> {
    let mut counts = RangeCounts::default();
    let options = ReaderOptions { filter: both, ..ReaderOptions::default() };
    let run_ends = read_events(runs, &options, &mut |event: &Event| event.visit(&mut counts))?;
    all_whole(&run_ends)?;
    let Some(median) = counts.median() else {
        return Err(Error::own(format!(
            "no range {range} has ended, so its calls cannot be counted; cutap report --by range lists the ranges"
        )));
    };
    let allowed = median as f64 * percent / 100.0;
    let mut apart: Vec<(u64, u64)> =
        counts.ended_ranges.iter().copied().filter(|(_, calls)| calls.abs_diff(median) as f64 > allowed).collect();
    apart.sort_unstable();
    verdict::of_problems(apart.len() as u64, true, &run_ends)?;
    let ranges = counts.ended_ranges.len();
    let origin = runs.window(TimeWindow { from_ns: 0, to_ns: u64::MAX, origin_ns: 0 })?.origin_ns;
    let line = |(ns, calls): &(u64, u64)| {
        format!("    {} calls of {text} in {range} at {}\n", calls, cutap_report::time(ns.saturating_sub(origin)))
    };
    let mut body: String = apart.iter().take(LISTED).map(line).collect();
    if apart.len() > LISTED {
        body += &format!("    and {} more\n", apart.len() - LISTED);
    }
    let calls = plural(median, "call", "calls");
    let sentence = format!("the median of {ranges} ranges is {calls}, {} differ", apart.len());
    Ok(Found { state: held_or_violated(apart.len() as u64), sentence, body })
}
