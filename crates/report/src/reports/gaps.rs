//! `report --gaps`: when devices worked, and why they were idle in between: what the host did meanwhile on the thread
//! that submitted the next work.

use super::{EventSink, Input, Report, ReportKind, Takes};
use crate::explain::{Activity, activity};
use crate::format::json_writer::write_json;
use crate::format::label::Label;
use crate::format::runs::run_fields;
use crate::format::units::time;
use crate::nesting::open_calls::OpenCalls;
use crate::statistics::histogram::Histogram;
use crate::statistics::idle::{Busy, DeviceKey, LONGEST_BREAK_NS, Pause, SHORTEST_NS, work_by_device};
use crate::statistics::rows::{Rows, SortKey, headings};
use crate::statistics::table::share;
use cutap_calls::blocks;
use cutap_trace::{Call, CallLabel, End, EventVisitor, Exit, Function, RunName, WorkRow, WorkRows};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

pub(super) const KIND: ReportKind = ReportKind {
    flag: "gaps",
    help: "When devices worked, and the host calls that left them idle (--gpu-time)",
    value: Takes::Nothing,
    new: |_| Box::new(Gaps::default()),
};

/// The cause of pauses in which the host only submits.
const LAUNCH_BOUND: &str = "launch_bound";

/// Work with what is known of its submission.
#[derive(Debug, Clone)]
struct Work {
    start_ns: u64,
    end_ns: u64,
    stream: (u32, u32),
    by: Option<SubmittedWork>,
}

#[derive(Debug, Clone)]
struct SubmittedWork {
    /// Process and thread.
    thread: (u32, u32),
    start_ns: u64,
    end_ns: u64,
    /// The outermost call.
    call: String,
}

/// A call that no other is around.
#[derive(Debug, Clone, Copy)]
struct HostCall {
    start_ns: u64,
    end_ns: u64,
    label: u32,
}

/// The outermost calls of one name.
#[derive(Debug)]
struct HostFunction {
    name: String,
    /// It waits for work of the GPU.
    waits: bool,
    cause: &'static str,
}

/// What the host did in a pause.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Reason {
    /// The word for it in JSON.
    cause: &'static str,
    /// The call in which the host waited when the device became idle.
    behind_wait: Option<String>,
    text: String,
}

/// Gaps of one reason.
#[derive(Debug, Clone)]
struct Cause {
    reason: Reason,
    ns: u64,
    times: Histogram,
}

const SORT_KEYS: &[SortKey<Cause>] =
    &[("total", |row| row.ns), ("count", |row| row.times.count()), ("max", |row| row.times.most())];

#[derive(Debug, Default)]
struct Gaps {
    devices: BTreeMap<DeviceKey, (Option<Arc<RunName>>, Vec<Work>)>,
    open: OpenCalls,
    /// By process and thread.
    calls: HashMap<(u32, u32), Vec<HostCall>>,
    functions: Vec<HostFunction>,
    function_numbers: HashMap<String, u32>,
    rows: Rows,
}

/// How a device spent its time.
struct DeviceTime<'a> {
    device: u32,
    run: Option<&'a RunName>,
    busy: Busy,
    /// Nanoseconds with work of each stream.
    streams: BTreeMap<(u32, u32), u64>,
    causes: Vec<Cause>,
}

/// The word for pauses that the host spends in calls of a function.
fn cause_of(function: &Function) -> &'static str {
    match activity(function) {
        Some(Activity::Waits) => "synchronisation",
        Some(Activity::Allocation) => "allocation",
        Some(Activity::Launches) => LAUNCH_BOUND,
        _ => "call",
    }
}

impl EventVisitor for Gaps {
    fn enter(&mut self, call: &Call) {
        self.open.enter(call);
    }

    fn exit(&mut self, exit: &Exit) {
        if exit.call.function.range.is_some() {
            return;
        }
        self.open.exit(exit);
        let call = &exit.call;
        if self.open.open_calls(call.thread.key).next().is_some() {
            return;
        }
        let name = Label::new(&call.function, call.instance().map(|i| &**i)).text();
        let next = self.functions.len() as u32;
        let label = *self.function_numbers.entry(name.clone()).or_insert(next);
        if label == next {
            let (waits, cause) = (blocks(&call.function.name).is_some(), cause_of(&call.function));
            self.functions.push(HostFunction { name, waits, cause });
        }
        let thread = (call.thread.process.key, call.thread.tid);
        let host_call = HostCall { start_ns: call.start_ns, end_ns: exit.end_ns, label };
        self.calls.entry(thread).or_default().push(host_call);
    }
}

fn label(of: &CallLabel) -> String {
    Label::new(&of.function, of.instance.as_deref()).text()
}

impl Work {
    fn of(row: &WorkRow) -> Work {
        let by = row.submission.as_ref().map(|by| SubmittedWork {
            thread: (row.process.key, by.tid),
            start_ns: by.start_ns,
            end_ns: by.end_ns,
            call: by.path.first().map(label).unwrap_or_default(),
        });
        let place = &row.row.place;
        Work { start_ns: row.start_ns, end_ns: row.end_ns, stream: (place.context, place.stream), by }
    }
}

impl Gaps {
    fn function(&self, host_call: &HostCall) -> Option<&HostFunction> {
        self.functions.get(host_call.label as usize)
    }

    /// Why the device was idle before this work.
    fn reason(&self, pause: &Pause, next: &Work) -> Reason {
        let of = |cause, text| Reason { cause, behind_wait: None, text };
        let Some(by) = &next.by else {
            return of("unknown", "the call of the next work is not known".to_owned());
        };
        let (from_ns, call) = (pause.from_ns, &by.call);
        if by.end_ns <= from_ns {
            let text = format!("{call} was called before: the work waited in its stream or for another one");
            return of("queued", text);
        }
        let until_ns = by.end_ns.min(next.start_ns).max(by.start_ns);
        let calls = self.calls.get(&by.thread).map_or(&[][..], Vec::as_slice);
        let first = calls.partition_point(|host_call| host_call.end_ns <= from_ns);
        let during: Vec<(&HostCall, u64)> = calls
            .iter()
            .skip(first)
            .take_while(|host_call| host_call.start_ns < until_ns)
            .map(|of| (of, of.end_ns.min(until_ns).saturating_sub(of.start_ns.max(from_ns))))
            .collect();
        // The call in which the host waited for the work before.
        let waited = during.first().filter(|(first, _)| first.start_ns <= from_ns).map(|(first, _)| *first);
        let waited = waited.filter(|first| self.function(first).is_some_and(|of| of.waits));
        let whole_ns = until_ns.saturating_sub(from_ns);
        let outside_ns = whole_ns.saturating_sub(during.iter().map(|(_, ns)| ns).sum());
        let is_most = |ns: u64| ns >= whole_ns.div_ceil(2);
        let longest = during.iter().max_by_key(|(_, ns)| *ns).filter(|(_, ns)| is_most(*ns)).map(|(call, _)| *call);
        let behind_wait = waited.and_then(|waited| self.function(waited)).map(|waited| waited.name.clone());
        let in_wait = waited.zip(longest).is_some_and(|(waited, longest)| std::ptr::eq(waited, longest));
        let longest =
            longest.and_then(|longest| self.function(longest)).filter(|longest| longest.cause != LAUNCH_BOUND);
        let (cause, text) = match (longest, &behind_wait) {
            (Some(longest), _) if in_wait => (longest.cause, format!("in {}", longest.name)),
            (Some(longest), Some(wait)) => (longest.cause, format!("behind {wait}: in {}", longest.name)),
            (Some(longest), None) => (longest.cause, format!("in {}", longest.name)),
            (None, _) if outside_ns > LONGEST_BREAK_NS && is_most(outside_ns) => {
                let place = behind_wait.as_ref().map_or_else(String::new, |wait| format!("behind {wait}: "));
                ("no_call", format!("{place}no CUDA call, before {call}"))
            }
            (None, Some(wait)) => ("synchronisation", format!("behind {wait}, before {call}")),
            (None, None) => (LAUNCH_BOUND, format!("launch-bound, before {call}")),
        };
        Reason { cause, behind_wait, text }
    }

    fn devices(&self) -> Vec<DeviceTime<'_>> {
        self.devices.iter().map(|((_, device), (run, work))| self.device(*device, run.as_deref(), work)).collect()
    }

    fn device<'a>(&self, device: u32, run: Option<&'a RunName>, work: &[Work]) -> DeviceTime<'a> {
        let mut of_stream: BTreeMap<(u32, u32), Vec<(u64, u64)>> = BTreeMap::new();
        for of in work {
            of_stream.entry(of.stream).or_default().push((of.start_ns, of.end_ns));
        }
        let streams = of_stream.into_iter().map(|(stream, times)| (stream, Busy::of(times.into_iter()).busy_ns));
        let busy = Busy::of(work.iter().map(|of| (of.start_ns, of.end_ns)));
        let mut causes: BTreeMap<Reason, Cause> = BTreeMap::new();
        for pause in &busy.pauses {
            let Some(next) = work.get(pause.next) else { continue };
            let reason = self.reason(pause, next);
            let new = Cause { reason: reason.clone(), ns: 0, times: Histogram::default() };
            let cause = causes.entry(reason).or_insert(new);
            cause.ns += pause.ns;
            cause.times.add(pause.ns);
        }
        let mut causes: Vec<Cause> = causes.into_values().collect();
        causes.sort_by_key(|cause| std::cmp::Reverse(cause.ns));
        self.rows.apply(&mut causes, SORT_KEYS);
        DeviceTime { device, run, streams: streams.collect(), busy, causes }
    }
}

impl Report for Gaps {
    fn input(&mut self) -> Input<'_> {
        Input::Events(self as &mut dyn EventSink)
    }

    fn needs_gpu_times(&self) -> bool {
        true
    }

    fn has_gpu_speed(&self) -> bool {
        true
    }

    fn gpu_times(&mut self, work: &WorkRows<'_>) {
        for (device, rows) in work_by_device(work) {
            let run = rows.first().and_then(|row| row.process.run.clone());
            self.devices.insert(device, (run, rows.into_iter().map(Work::of).collect()));
        }
    }

    fn rows(&mut self, rows: Rows) -> bool {
        self.rows = rows;
        rows.depth.is_none()
    }

    fn sort_columns(&self) -> Vec<&'static str> {
        headings(SORT_KEYS)
    }

    fn nothing(&self) -> Option<Cow<'static, str>> {
        self.devices.is_empty().then(|| "no work ran on the GPU, or CUPTI reported none".into())
    }

    fn write_text(&self, _: &End, _: bool, out: &mut dyn io::Write) -> io::Result<()> {
        for of in self.devices() {
            let run = of.run.map_or_else(String::new, |run| format!("{run} "));
            let whole_ns = of.busy.whole_ns;
            let part = 100.0 * share(of.busy.busy_ns, whole_ns);
            let (busy, whole) = (time(of.busy.busy_ns), time(whole_ns));
            let device = of.device;
            writeln!(out, "{run}device {device}: busy {part:.1}% ({busy} of {whole} from the first work to the last)")?;
            for ((context, stream), ns) in &of.streams {
                let part = 100.0 * share(*ns, whole_ns);
                writeln!(out, "  stream {stream} of context {context}: {part:.1}% ({})", time(*ns))?;
            }
            if of.causes.is_empty() {
                writeln!(out, "  no gap of {} or more", time(SHORTEST_NS))?;
                continue;
            }
            writeln!(out, "    gaps    total   share     mean      max  what the host did meanwhile")?;
            for cause in &of.causes {
                let count = cause.times.count();
                let (total, mean, most) = (time(cause.ns), time(cause.ns / count.max(1)), time(cause.times.most()));
                let part = format!("{:.1}%", 100.0 * share(cause.ns, whole_ns));
                writeln!(out, "{count:>8} {total:>8} {part:>7} {mean:>8} {most:>8}  {}", cause.reason.text)?;
            }
        }
        Ok(())
    }

    fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        for of in self.devices() {
            let whole_ns = of.busy.whole_ns;
            let streams: Vec<_> = of
                .streams
                .iter()
                .map(|((context, stream), ns)| {
                    json!({"context": context, "stream": stream, "busy_ns": ns, "busy_share": share(*ns, whole_ns)})
                })
                .collect();
            let line = json!({
                "type": "gpu_device", "device": of.device, "busy_ns": of.busy.busy_ns, "whole_ns": whole_ns,
                "busy_share": share(of.busy.busy_ns, whole_ns), "streams": streams,
            });
            write_line(line, of.run, out)?;
            for cause in &of.causes {
                let line = json!({
                    "type": "gpu_gap", "device": of.device, "cause": cause.reason.cause,
                    "behind": cause.reason.behind_wait, "why": cause.reason.text, "count": cause.times.count(),
                    "total_ns": cause.ns, "max_ns": cause.times.most(), "share": share(cause.ns, whole_ns),
                });
                write_line(line, of.run, out)?;
            }
        }
        Ok(())
    }
}

/// Writes a line of JSON, with the run if several are read.
fn write_line(mut line: Value, run: Option<&RunName>, out: &mut dyn io::Write) -> io::Result<()> {
    if let (Some(run), Value::Object(line)) = (run, &mut line) {
        line.extend(run_fields(run));
    }
    write_json(out, &line)?;
    out.write_all(b"\n")
}
