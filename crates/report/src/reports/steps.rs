//! `report --by step`: the steps of a program, which are ranges of NVTX that repeat: how long they take, and in what
//! the slowest one differs from the middle one.

use super::ranges::NO_RANGE;
use super::selected_ranges::SelectedRanges;
use super::{EventSink, Input, Report};
use crate::format::json_writer::write_json;
use crate::format::units::time;
use crate::nesting::range_spans::{RangeSpan, RangeSpans};
use crate::statistics::off_times::OffTimes;
use crate::statistics::rows::Rows;
use crate::statistics::steps::{DeviceSpans, Repeating, choose, family, percentile};
use cutap_trace::{DEFAULT_DOMAIN, End, Event, EventVisitor, Filter, FinishedRun, GpuRow, printable};
use cutap_wire::rows::RowContent;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

/// Differences that are listed.
const LISTED: usize = 5;

/// The steps.
#[derive(Debug, Default)]
pub(super) struct Steps {
    spans: RangeSpans,
    ranges: Vec<RangeSpan>,
    busy: DeviceSpans,
    begin_ns: Option<u64>,
    selected: Option<SelectedRanges>,
    rows: Rows,
    off: OffTimes,
    has_gpu_time: bool,
}

/// What a step has more or less of than the middle one.
#[derive(Debug, PartialEq, Eq)]
struct Difference {
    /// A function; none for the time outside of calls.
    function: Option<String>,
    ns: i64,
    calls: i64,
}

impl EventVisitor for DeviceSpans {
    fn row(&mut self, row: &GpuRow) {
        let is_work = matches!(row.row.content, RowContent::Kernel(_) | RowContent::Copy(_) | RowContent::Set { .. });
        if let Some(times) = row.times.filter(|(start, end)| is_work && row.row.place.start != 0 && start <= end) {
            self.add(row.process.key, row.row.place.device, times);
        }
    }
}

impl EventSink for Steps {
    fn event(&mut self, event: &Event) {
        event.visit(&mut self.spans);
        event.visit(&mut self.busy);
        if let Event::Process(process) = event {
            self.begin_ns = Some(self.begin_ns.unwrap_or(u64::MAX).min(process.start_ns));
        }
        let finished = self.spans.take_finished();
        self.has_gpu_time |= finished.iter().any(|span| span.gpu_ns > 0);
        self.ranges.extend(finished.into_iter().filter(|span| span.depth < crate::nesting::range_spans::LEVELS));
    }
}

/// Statistics of a number of each step.
#[derive(Debug, Clone, Copy)]
struct Spread {
    median: u64,
    p99: u64,
    min: u64,
    max: u64,
}

impl Spread {
    fn of(steps: &[RangeSpan], number: impl Fn(&RangeSpan) -> u64) -> Spread {
        let mut numbers: Vec<u64> = steps.iter().map(number).collect();
        let [min, median, p99, max] = [0, 50, 99, 100].map(|percent| percentile(&mut numbers, percent));
        Spread { median, p99, min, max }
    }

    fn json(self) -> Value {
        json!({"median": self.median, "p99": self.p99, "min": self.min, "max": self.max})
    }
}

/// A part of 1 as so many of a thousand, so that it has an order.
fn thousandths(part: f64) -> u64 {
    (part * 1000.0).round().max(0.0) as u64
}

impl Steps {
    fn steps(&self) -> Option<Repeating> {
        let is_selected = |span: &&RangeSpan| self.selected.as_ref().is_none_or(|selected| selected.has(&span.name));
        choose(self.ranges.iter().filter(is_selected).filter(|span| !self.is_unrecorded(span)))
    }

    /// Whether calls in it are missing, because recording was off.
    fn is_unrecorded(&self, span: &RangeSpan) -> bool {
        self.off.overlap(&span.process, (span.start_ns, span.end_ns))
    }

    /// Ranges that would be steps, if recording had been on.
    fn unrecorded(&self, steps: &Repeating) -> Vec<&RangeSpan> {
        let Some(step) = steps.steps.first() else { return Vec::new() };
        let name = family(&step.name.text);
        let is_like = |span: &&RangeSpan| {
            let is_alike = span.depth == step.depth && span.is_started == step.is_started && span.is_ended;
            is_alike && span.name.domain == step.name.domain && family(&span.name.text) == name
        };
        self.ranges.iter().filter(is_like).filter(|span| self.is_unrecorded(span)).collect()
    }

    fn after_start(&self, step: &RangeSpan) -> u64 {
        step.start_ns.saturating_sub(self.begin_ns.unwrap_or(0))
    }

    /// In what two steps differ, the largest difference first.
    fn differences(&self, step: &RangeSpan, middle: &RangeSpan) -> Vec<Difference> {
        let mut functions: BTreeMap<u32, (i64, i64)> = BTreeMap::new();
        let mut outside = step.took_ns() as i64 - middle.took_ns() as i64;
        for (of, sign) in [(step, 1), (middle, -1)] {
            for inside in &of.functions {
                let sums = functions.entry(inside.label).or_default();
                *sums = (sums.0 + sign * inside.ns as i64, sums.1 + sign * inside.calls as i64);
                outside -= sign * inside.ns as i64;
            }
        }
        let of_function = |(label, (ns, calls)): (u32, (i64, i64))| Difference {
            function: Some(self.spans.label(label).to_owned()),
            ns,
            calls,
        };
        let mut all: Vec<Difference> = functions.into_iter().map(of_function).collect();
        // Calls of several threads in a range of start and end may take longer than it.
        all.extend((!step.is_started).then_some(Difference { function: None, ns: outside, calls: 0 }));
        all.retain(|difference| difference.ns != 0 || difference.calls != 0);
        all.sort_by_key(|difference| (std::cmp::Reverse(difference.ns.unsigned_abs()), difference.function.clone()));
        all.truncate(self.rows.top.unwrap_or(LISTED));
        all
    }

    /// The slowest step, and the slowest of the others if that is the first one of its thread: in it all is loaded.
    fn slowest<'a>(steps: &'a [RangeSpan]) -> Vec<&'a RangeSpan> {
        let slowest = |of: &mut dyn Iterator<Item = &'a RangeSpan>| {
            of.max_by_key(|step| (step.took_ns(), std::cmp::Reverse(step.start_ns)))
        };
        let thread = |step: &RangeSpan| (step.process.key, step.tid);
        let is_first = |step: &RangeSpan| {
            steps.iter().find(|other| thread(other) == thread(step)).is_some_and(|first| std::ptr::eq(first, step))
        };
        let first = slowest(&mut steps.iter());
        let second =
            first.filter(|step| is_first(step)).and_then(|_| slowest(&mut steps.iter().filter(|s| !is_first(s))));
        first.into_iter().chain(second).collect()
    }

    /// The step whose time is the median.
    fn middle(steps: &[RangeSpan], median: u64) -> Option<&RangeSpan> {
        steps.iter().find(|step| step.took_ns() == median)
    }

    fn idle(&self, busy: &DeviceSpans, step: &RangeSpan) -> Option<f64> {
        busy.idle(step.process.key, step.start_ns, step.end_ns)
    }

    fn step_json(&self, busy: &DeviceSpans, step: &RangeSpan) -> Value {
        let mut line = json!({
            "name": &*step.name.text, "pid": step.process.pid, "tid": step.tid, "start_ns": step.start_ns,
            "after_start_ns": self.after_start(step), "took_ns": step.took_ns(), "calls": step.calls,
        });
        if self.has_gpu_time {
            line["gpu_ns"] = step.gpu_ns.into();
        }
        line["gpu_idle"] = self.idle(busy, step).into();
        line
    }
}

/// `+1.2ms`, `-3us`.
fn signed_time(ns: i64) -> String {
    let sign = if ns < 0 { '-' } else { '+' };
    format!("{sign}{}", time(ns.unsigned_abs()))
}

/// `step "NAME", 1.2ms, 3.4s after the start`.
fn named(step: &RangeSpan, after_start_ns: u64) -> String {
    let (name, took, after) = (printable(&step.name.text), time(step.took_ns()), time(after_start_ns));
    format!("\"{name}\", {took}, {after} after the start of the run, thread {}", step.tid)
}

impl Report for Steps {
    fn input(&mut self) -> Input<'_> {
        Input::Events(self)
    }

    fn rows(&mut self, rows: Rows) -> bool {
        self.rows = rows;
        rows.depth.is_none() && rows.sort.is_none()
    }

    fn filtered(&mut self, _: &Filter) -> Option<&mut dyn EventSink> {
        Some(self.selected.get_or_insert_default())
    }

    fn nothing(&self) -> Option<Cow<'static, str>> {
        if self.steps().is_some() {
            return None;
        }
        Some(match self.ranges.is_empty() {
            true => NO_RANGE.into(),
            false if self.selected.is_some() => {
                "no range of the filter with calls inside is made three times; write it as -e 'nvtx:NAME *'".into()
            }
            false => {
                "no range with calls inside is made three times: no step is known; report --by range lists all ranges"
                    .into()
            }
        })
    }

    fn has_times(&self) -> bool {
        true
    }

    fn run_ends(&mut self, runs: &[FinishedRun]) {
        self.off = OffTimes::of(runs);
    }

    fn write_text(&self, _: &End, _: bool, out: &mut dyn io::Write) -> io::Result<()> {
        let Some(repeating) = self.steps() else { return Ok(()) };
        let unrecorded = self.unrecorded(&repeating).len();
        let Repeating { domain, name, steps } = repeating;
        let of_domain = if domain == DEFAULT_DOMAIN { String::new() } else { format!(" of the domain {domain}") };
        let busy = self.busy.merged();
        let took = Spread::of(&steps, RangeSpan::took_ns);
        writeln!(out, "{} steps: the ranges \"{}\"{of_domain}", steps.len(), printable(&name))?;
        if unrecorded > 0 {
            writeln!(out, "{unrecorded} more not counted: recording was off in them, or in a part of them")?;
        }
        writeln!(out, "{:10} {:>8} {:>8} {:>8} {:>8}", "", "median", "p99", "min", "max")?;
        let mut line = |title: &str, spread: Spread, text: &dyn Fn(u64) -> String| {
            let [median, p99, min, max] = [spread.median, spread.p99, spread.min, spread.max].map(text);
            writeln!(out, "{title:10} {median:>8} {p99:>8} {min:>8} {max:>8}")
        };
        line("time", took, &time)?;
        line("calls", Spread::of(&steps, |step| step.calls), &|calls| calls.to_string())?;
        if steps.iter().any(|step| step.gpu_ns > 0) {
            line("GPU time", Spread::of(&steps, |step| step.gpu_ns), &time)?;
        }
        if steps.iter().any(|step| self.idle(&busy, step).is_some()) {
            let idle = |step: &RangeSpan| thousandths(self.idle(&busy, step).unwrap_or(1.0));
            line("GPU idle", Spread::of(&steps, idle), &|part| format!("{:.1}%", part as f64 / 10.0))?;
        }
        let Some(middle) = Steps::middle(&steps, took.median) else { return Ok(()) };
        for (n, step) in Steps::slowest(&steps).into_iter().enumerate() {
            let which = if n == 0 { "the slowest" } else { "the slowest that is not the first" };
            writeln!(out, "\n{which}: {}", named(step, self.after_start(step)))?;
            let differences = self.differences(step, middle);
            if differences.is_empty() {
                continue;
            }
            writeln!(out, "in it, unlike in the middle one ({}):", named(middle, self.after_start(middle)))?;
            writeln!(out, "{:>10} {:>7}  function", "time", "calls")?;
            for Difference { function, ns, calls } in differences {
                let calls = if calls == 0 { String::new() } else { format!("{calls:+}") };
                let function = function.as_deref().unwrap_or("(outside of CUDA calls)");
                writeln!(out, "{:>10} {calls:>7}  {function}", signed_time(ns))?;
            }
        }
        Ok(())
    }

    fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let Some(repeating) = self.steps() else { return Ok(()) };
        let mut all: Vec<(&RangeSpan, bool)> = repeating.steps.iter().map(|step| (step, true)).collect();
        all.extend(self.unrecorded(&repeating).into_iter().map(|step| (step, false)));
        all.sort_by_key(|(step, _)| (step.start_ns, step.tid));
        let Repeating { domain, name, steps } = &repeating;
        let unrecorded = all.len() - steps.len();
        let busy = self.busy.merged();
        let took = Spread::of(steps, RangeSpan::took_ns);
        let mut lines = Vec::new();
        let middle = Steps::middle(steps, took.median);
        let slowest = Steps::slowest(steps).into_iter().map(|step| {
            let differences = middle.map_or_else(Vec::new, |middle| self.differences(step, middle));
            let differences = differences
                .into_iter()
                .map(|Difference { function, ns, calls }| json!({"function": function, "ns": ns, "calls": calls}));
            let mut line = self.step_json(&busy, step);
            line["differs"] = differences.collect();
            line
        });
        // In CSV, the first kind of lines is the table.
        for (step, is_recorded) in all {
            let mut line = json!({"type": "step"});
            if let (Value::Object(line), Value::Object(of)) = (&mut line, self.step_json(&busy, step)) {
                line.extend(of);
            }
            line["recorded"] = is_recorded.into();
            if !is_recorded {
                line["calls"] = Value::Null;
            }
            lines.push(line);
        }
        let mut last = json!({
            "type": "steps", "name": name, "domain": domain, "steps": steps.len(), "unrecorded": unrecorded,
            "took_ns": took.json(), "calls": Spread::of(steps, |step| step.calls).json(),
            "middle": middle.map(|step| self.step_json(&busy, step)), "slowest": slowest.collect::<Vec<_>>(),
        });
        if self.has_gpu_time {
            last["gpu_ns"] = Spread::of(steps, |step| step.gpu_ns).json();
        }
        lines.push(last);
        for line in lines {
            write_json(out, &line)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }
}
