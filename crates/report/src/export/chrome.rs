//! Chrome's trace event format: an array with one event for each finished call. A call that never ended is a begin
//! event without an end. The closing bracket is optional in this format, so a truncated file can be read.

use super::clock_tracks::clock_tracks;
use super::gpu_tracks::GpuTracks;
use super::pids::Pids;
use super::range_tracks::{OpenRange, RangeTracks};
use crate::Output;
use crate::call::columns::{CallView, call_columns};
use crate::call::values::write_launched;
use crate::format::json_writer;
use crate::format::units::Hex;
use cutap_trace::decode::Value as Described;
use cutap_trace::{Call, End, Event, EventVisitor, Exit, GpuRow, Process, RangeMoment, Returned, printable};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

/// Tracks of the GPU have numbers beyond those of threads.
const FIRST_GPU_TRACK: u32 = 1 << 30;
/// The phase of an event with a duration.
const FINISHED: &str = "X";

/// Chrome's trace.
#[derive(Debug)]
pub struct Chrome<W> {
    out: W,
    /// The event that is written.
    line: Vec<u8>,
    has_begun: bool,
    pids: Pids,
    /// Threads that have their names, by key.
    threads: BTreeSet<u32>,
    gpu_tracks: GpuTracks,
    range_tracks: RangeTracks,
    /// Each arrow from a call to its work has its own number.
    arrows: u64,
}

impl<W: io::Write> Chrome<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Chrome<W> {
        Chrome {
            out,
            line: Vec::new(),
            has_begun: false,
            pids: Pids::default(),
            threads: BTreeSet::new(),
            gpu_tracks: GpuTracks::default(),
            range_tracks: RangeTracks::default(),
            arrows: 0,
        }
    }

    fn line(&mut self, line: &impl Serialize) -> io::Result<()> {
        self.out.write_all(if std::mem::replace(&mut self.has_begun, true) { b",\n" } else { b"[\n" })?;
        json_writer::write_json_by(&mut self.line, &mut self.out, line)
    }

    fn call(&mut self, phase: &'static str, of: CallView<'_>) -> io::Result<()> {
        let thread = &of.call.thread;
        let pid = self.pids.number(&thread.process);
        if let Some(name) = &thread.name
            && self.threads.insert(thread.key)
        {
            let (tid, name) = (thread.tid, printable(name));
            self.line(&json!({"name": "thread_name", "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}}))?;
        }
        self.line(&CallEvent { phase, of, pid })
    }
}

impl<W: io::Write> Chrome<W> {
    /// The beginning or the end of a range that may end in another thread: an event without a thread.
    fn range(&mut self, phase: &'static str, range: &OpenRange, ns: u64) -> io::Result<()> {
        let function = &range.start.function;
        let pid = self.pids.number(&range.start.thread.process);
        self.line(&json!({
            "name": function.display_name(), "cat": &*function.library, "ph": phase, "id": range.number, "pid": pid,
            "tid": range.start.thread.tid, "ts": micros(ns), "args": {"cutap.library": &*function.library},
        }))
    }
}

/// An event about a call.
struct CallEvent<'a> {
    phase: &'static str,
    of: CallView<'a>,
    pid: u32,
}

impl Serialize for CallEvent<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let CallView { call, exit, .. } = self.of;
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("name", call.function.display_name())?;
        map.serialize_entry("cat", call.function.layer.name())?;
        map.serialize_entry("ph", self.phase)?;
        map.serialize_entry("tid", &call.thread.tid)?;
        map.serialize_entry("ts", &micros(call.start_ns))?;
        map.serialize_entry("args", &CallArguments(self.of))?;
        map.serialize_entry("pid", &self.pid)?;
        if let Some(exit) = exit.filter(|_| self.phase == FINISHED) {
            let took = exit.duration_ns.unwrap_or(exit.end_ns.saturating_sub(call.start_ns));
            map.serialize_entry("dur", &micros(took))?;
        }
        map.end()
    }
}

/// The arguments and fields of a call. No two have the same name.
struct CallArguments<'a>(CallView<'a>);

impl Serialize for CallArguments<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let CallView { call, exit, .. } = self.0;
        let mut map = to.serialize_map(None)?;
        let mut text = String::new();
        for (n, (param, input)) in call.function.params().iter().zip(call.inputs()).enumerate() {
            let value = exit.and_then(|e| e.output(n)).unwrap_or(input);
            argument(&mut map, param.name, value, call, &mut text)?;
        }
        for log in exit.iter().flat_map(|e| &e.logs) {
            map.serialize_entry(log.name, &log.text.text)?;
        }
        map.serialize_entry("cutap.library", &*call.function.library)?;
        if let Some(version) = call.runtime_version() {
            map.serialize_entry("cutap.runtime", version)?;
        }
        for column in call_columns().iter().filter(|column| column.is_in_exports()) {
            if column.annotate(self.0, &mut text) {
                map.serialize_entry(&format!("cutap.{}", column.name), &text)?;
            }
        }
        if let Some(exit) = exit {
            result(&mut map, exit, &mut text)?;
        }
        map.end()
    }
}

/// Adds a value: a number, or the text that the trace prints.
fn argument<M: SerializeMap>(
    map: &mut M,
    name: &str,
    value: &Described,
    call: &Call,
    text: &mut String,
) -> Result<(), M::Error> {
    if let Some(number) = number(value) {
        return map.serialize_entry(name, &number);
    }
    text.clear();
    write_launched(value, call.driver_args(), text);
    map.serialize_entry(name, text)
}

/// Adds a call's result: the name of a status, else the value.
fn result<M: SerializeMap>(map: &mut M, exit: &Exit, text: &mut String) -> Result<(), M::Error> {
    const NAME: &str = "cutap.result";
    if let Some(name) = exit.status_name() {
        return map.serialize_entry(NAME, name);
    }
    match (exit.returned(), &exit.value) {
        (Some(_), Some(value)) => argument(map, NAME, value, &exit.call, text),
        (Some(Returned::Status(n)), None) => map.serialize_entry(NAME, &n),
        (Some(Returned::Number(n)), None) => match i64::try_from(n).ok().and_then(exact) {
            Some(number) => map.serialize_entry(NAME, &number),
            None => Ok(()),
        },
        (Some(Returned::Word(n)), None) => map.serialize_entry(NAME, Hex::of(n).text()),
        _ => Ok(()),
    }
}

/// The number that a value is or points to. Addresses, handles and masks are text instead.
fn number(value: &Described) -> Option<Value> {
    match value.target() {
        Described::Int(n) => exact(*n),
        Described::Uint(n) => exact(i64::try_from(*n).ok()?),
        Described::Bool(b) => Some((*b).into()),
        // By its shortest decimal form: 0.1, and not 0.10000000149. JSON has no infinity.
        Described::Single(f) if f.is_finite() => f.to_string().parse::<f64>().ok().map(Value::from),
        Described::Double(f) if f.is_finite() => Some((*f).into()),
        _ => None,
    }
}

/// An integer that a reader gets exactly. Many readers use doubles, which have 53 bits.
fn exact(n: i64) -> Option<Value> {
    (n.unsigned_abs() <= 1 << 53).then(|| n.into())
}

/// Microseconds, to the nanosecond.
fn micros(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

impl<W: io::Write> EventVisitor<io::Result<()>> for Chrome<W> {
    fn process(&mut self, process: &Arc<Process>) -> io::Result<()> {
        let name = self.pids.name(process);
        let pid = self.pids.number(process);
        self.line(&json!({"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}}))
    }

    fn enter_without_exit(&mut self, call: &Call) -> io::Result<()> {
        match call.function.range {
            Some(RangeMoment::Start) => {
                let (range, _) = self.range_tracks.begin(call);
                self.range("b", &range, call.start_ns)
            }
            Some(RangeMoment::End) => match self.range_tracks.end(call) {
                Some(range) => self.range("e", &range, call.start_ns),
                None => Ok(()),
            },
            _ => self.call("i", CallView::enter(call)),
        }
    }

    fn exit(&mut self, exit: &Exit) -> io::Result<()> {
        self.call(FINISHED, CallView::exit(exit))
    }

    fn row(&mut self, row: &GpuRow) -> io::Result<()> {
        let Some(slice) = self.gpu_tracks.slice(row) else { return Ok(()) };
        let (pid, tid) = (self.pids.number(&row.process), FIRST_GPU_TRACK + slice.track);
        if let Some(name) = &slice.new_track {
            self.line(&json!({"name": "thread_name", "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}}))?;
        }
        let correlation = row.row.place.correlation;
        self.line(&json!({
            "name": slice.name, "cat": "gpu", "ph": FINISHED, "pid": pid, "tid": tid, "ts": micros(slice.start_ns),
            "dur": micros(slice.end_ns - slice.start_ns), "args": {"cutap.correlation": correlation},
        }))?;
        let Some((caller, called_ns)) = slice.arrow_from else { return Ok(()) };
        self.arrows += 1;
        let id = self.arrows;
        self.line(&json!({
            "name": "submits", "cat": "gpu", "ph": "s", "id": id, "pid": pid, "tid": caller, "ts": micros(called_ns),
        }))?;
        self.line(&json!({
            "name": "submits", "cat": "gpu", "ph": "f", "bp": "e", "id": id, "pid": pid, "tid": tid,
            "ts": micros(slice.start_ns),
        }))
    }
}

impl<W: io::Write + Send> Output for Chrome<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        event.visit(self)
    }

    fn tick(&mut self, _now: u64) -> io::Result<()> {
        self.out.flush()
    }

    fn end(&mut self, end: &End) -> io::Result<()> {
        for exit in &end.unfinished {
            self.call("B", CallView::exit(exit))?;
        }
        for of in clock_tracks(end) {
            for (ns, mhz) in of.values() {
                self.line(&json!({"name": of.name, "ph": "C", "pid": 0, "ts": micros(ns), "args": {"MHz": mhz}}))?;
            }
        }
        self.out.write_all(if self.has_begun { b"\n]\n" } else { b"[]\n" })?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use cutap_calls::generated::known::TABLES;
    use std::collections::BTreeSet;

    #[test]
    fn parameters_have_different_names() {
        for function in TABLES.families.iter().flat_map(|family| family.functions) {
            let names: BTreeSet<&str> = function.params.iter().map(|param| param.name).collect();
            assert_eq!(names.len(), function.params.len(), "{}", function.name);
        }
    }
}
