//! `report --gaps`: when devices worked, and why they were idle in between: what the host did meanwhile on the thread
//! that submitted the next work.

use super::{EventSink, Input, Report, ReportKind, Takes};
use crate::format::json_writer::write_json;
use crate::format::label::Label;
use crate::format::units::time;
use crate::nesting::open_calls::OpenCalls;
use crate::statistics::histogram::Histogram;
use crate::statistics::rows::{Rows, SortKey, headings};
use crate::statistics::table::share;
use cutap_trace::{Call, CallLabel, End, EventVisitor, Exit, GpuTimes};
use serde_json::json;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io;

pub(super) const KIND: ReportKind = ReportKind {
    flag: "gaps",
    help: "When devices worked, and the host calls that left them idle (--gpu-time)",
    value: Takes::Nothing,
    new: |_| Box::new(Gaps::default()),
};

/// Shorter pauses are no gaps: the GPU needs as long between two kernels.
const SHORTEST_NS: u64 = 2_000;

/// Work with what is known of its submission.
#[derive(Debug, Clone)]
struct Work {
    start_ns: u64,
    end_ns: u64,
    stream: (u32, u32),
    /// The process and the thread that submitted it, when, and the outermost call.
    by: Option<((u32, u32), u64, String)>,
}

/// A call that no other is around.
#[derive(Debug, Clone, Copy)]
struct HostCall {
    start_ns: u64,
    end_ns: u64,
    label: u32,
}

/// Gaps of one cause.
#[derive(Debug, Clone, Default)]
struct Cause {
    device: u32,
    why: String,
    ns: u64,
    times: Histogram,
}

const SORT_KEYS: &[SortKey<Cause>] = &[
    ("total", |row| row.ns),
    ("count", |row| row.times.count()),
    ("max", |row| row.times.most()),
];

#[derive(Debug, Default)]
struct Gaps {
    devices: BTreeMap<u32, Vec<Work>>,
    open: OpenCalls,
    /// By process and thread.
    calls: HashMap<(u32, u32), Vec<HostCall>>,
    labels: Vec<String>,
    label_numbers: HashMap<String, u32>,
    rows: Rows,
}

/// How a device spent its time.
struct DeviceTime {
    device: u32,
    busy_ns: u64,
    whole_ns: u64,
    streams: BTreeMap<(u32, u32), u64>,
    causes: Vec<Cause>,
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
        let text = Label::new(&call.function, call.instance().map(|i| &**i)).text();
        let next = self.labels.len() as u32;
        let label = *self.label_numbers.entry(text.clone()).or_insert(next);
        if label == next {
            self.labels.push(text);
        }
        let thread = (call.thread.process.key, call.thread.tid);
        let host_call = HostCall { start_ns: call.start_ns, end_ns: exit.end_ns, label };
        self.calls.entry(thread).or_default().push(host_call);
    }
}

fn label(of: &CallLabel) -> String {
    Label::new(&of.function, of.instance.as_deref()).text()
}

impl Gaps {
    /// Why the device was idle before this work.
    fn why(&self, from_ns: u64, next: &Work) -> String {
        let Some((thread, submitted_ns, call)) = &next.by else {
            return "the call of the next work is not known".to_owned();
        };
        if *submitted_ns <= from_ns {
            return format!("{call} was called before: the work waited in its stream or for another one");
        }
        let calls = self.calls.get(thread).map_or(&[][..], Vec::as_slice);
        let first = calls.partition_point(|host_call| host_call.end_ns <= from_ns);
        let during: Vec<(&HostCall, u64)> = calls
            .iter()
            .skip(first)
            .take_while(|host_call| host_call.start_ns < *submitted_ns)
            .map(|of| (of, of.end_ns.min(*submitted_ns).saturating_sub(of.start_ns.max(from_ns))))
            .collect();
        let idle = submitted_ns.saturating_sub(from_ns);
        let inside: u64 = during.iter().map(|(_, ns)| ns).sum();
        match during.iter().max_by_key(|(_, ns)| *ns) {
            Some((longest, ns)) if ns.saturating_mul(2) >= idle => {
                format!("in {}", self.labels.get(longest.label as usize).map_or("?", String::as_str))
            }
            Some(_) if inside.saturating_mul(2) >= idle => format!("launch-bound: several calls before {call}"),
            _ => format!("no CUDA call, before {call}"),
        }
    }

    fn devices(&self) -> Vec<DeviceTime> {
        let of_device = |(device, work): (&u32, &Vec<Work>)| {
            let mut streams: BTreeMap<(u32, u32), u64> = BTreeMap::new();
            let mut causes: BTreeMap<String, Cause> = BTreeMap::new();
            let (mut busy_ns, mut end_ns) = (0, None);
            for next in work {
                *streams.entry(next.stream).or_default() += next.end_ns.saturating_sub(next.start_ns);
                let from = end_ns.unwrap_or(next.start_ns);
                busy_ns += next.end_ns.saturating_sub(next.start_ns.max(from));
                let idle = next.start_ns.saturating_sub(from);
                if idle >= SHORTEST_NS {
                    let why = self.why(from, next);
                    let new = Cause { device: *device, why: why.clone(), ..Cause::default() };
                    let cause = causes.entry(why).or_insert(new);
                    cause.ns += idle;
                    cause.times.add(idle);
                }
                end_ns = Some(from.max(next.end_ns));
            }
            let begin_ns = work.first().map_or(0, |first| first.start_ns);
            let whole_ns = end_ns.unwrap_or(0).saturating_sub(begin_ns);
            let mut causes: Vec<Cause> = causes.into_values().collect();
            causes.sort_by_key(|cause| std::cmp::Reverse(cause.ns));
            self.rows.apply(&mut causes, SORT_KEYS);
            DeviceTime { device: *device, busy_ns, whole_ns, streams, causes }
        };
        self.devices.iter().map(of_device).collect()
    }
}

impl Report for Gaps {
    fn input(&mut self) -> Input<'_> {
        Input::Events(self as &mut dyn EventSink)
    }

    fn needs_gpu_times(&self) -> bool {
        true
    }

    fn gpu_times(&mut self, times: &GpuTimes) {
        for row in times.rows().filter(|row| row.took_ns().is_some()) {
            let place = &row.row.place;
            let by = row.submission.as_ref().map(|by| {
                let outermost = by.path.first().map(label).unwrap_or_default();
                ((row.process.key, by.tid), by.start_ns, outermost)
            });
            let stream = (place.context, place.stream);
            let work = Work { start_ns: row.start_ns, end_ns: row.end_ns, stream, by };
            self.devices.entry(place.device).or_default().push(work);
        }
        self.devices.values_mut().for_each(|work| work.sort_by_key(|of| of.start_ns));
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
            let part = 100.0 * share(of.busy_ns, of.whole_ns);
            let (busy, whole) = (time(of.busy_ns), time(of.whole_ns));
            writeln!(out, "device {}: busy {part:.1}% ({busy} of {whole} from the first work to the last)", of.device)?;
            for ((context, stream), ns) in &of.streams {
                let part = 100.0 * share(*ns, of.whole_ns);
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
                let part = format!("{:.1}%", 100.0 * share(cause.ns, of.whole_ns));
                writeln!(out, "{count:>8} {total:>8} {part:>7} {mean:>8} {most:>8}  {}", cause.why)?;
            }
        }
        Ok(())
    }

    fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        for of in self.devices() {
            let streams: Vec<_> = of
                .streams
                .iter()
                .map(|((context, stream), ns)| json!({"context": context, "stream": stream, "busy_ns": ns}))
                .collect();
            let line = json!({
                "type": "gpu_device", "device": of.device, "busy_ns": of.busy_ns, "whole_ns": of.whole_ns,
                "busy_share": share(of.busy_ns, of.whole_ns), "streams": streams,
            });
            write_json(out, &line)?;
            out.write_all(b"\n")?;
            for cause in &of.causes {
                let line = json!({
                    "type": "gpu_gap", "device": cause.device, "why": cause.why, "count": cause.times.count(),
                    "total_ns": cause.ns, "max_ns": cause.times.most(), "share": share(cause.ns, of.whole_ns),
                });
                write_json(out, &line)?;
                out.write_all(b"\n")?;
            }
        }
        Ok(())
    }
}
