//! Chrome's trace event format: an array with one event for each finished call. A call that never ended is a begin
//! event without an end. The closing bracket is optional in this format, so a truncated file can be read.

use crate::Output;
use crate::fields::{CallView, fields};
use crate::json_writer;
use crate::values::write_launched;
use cutap_trace::decode::Value as Described;
use cutap_trace::{Call, End, Event, Exit, Process, Returned, Thread, printable};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// The largest PID of Linux.
const LARGEST: u32 = 4_194_304;

/// Chrome's trace.
#[derive(Debug)]
pub struct Chrome<W> {
    out: W,
    /// The event that is written.
    line: Vec<u8>,
    begun: bool,
    /// PIDs that are in use.
    taken: BTreeSet<u32>,
    /// Later processes with a PID in use, by key, and the PIDs that they get here.
    others: BTreeMap<u32, u32>,
}

impl<W: io::Write> Chrome<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Chrome<W> {
        Chrome { out, line: Vec::new(), begun: false, taken: BTreeSet::new(), others: BTreeMap::new() }
    }

    fn line(&mut self, line: &Value) -> io::Result<()> {
        self.out.write_all(if std::mem::replace(&mut self.begun, true) { b",\n" } else { b"[\n" })?;
        json_writer::write_json_by(&mut self.line, &mut self.out, line)
    }

    fn exit(&mut self, exit: &Exit) -> io::Result<()> {
        let mut line = self.call(&exit.call, "X", Some(exit));
        line["dur"] = micros(exit.duration_ns.unwrap_or(exit.end_ns.saturating_sub(exit.call.start_ns)));
        self.line(&line)
    }

    /// Names a process. Two processes of different PID namespaces may have the same PID.
    fn process(&mut self, process: &Process) -> io::Result<()> {
        let mut name = printable(process.exe.rsplit('/').next().unwrap_or(&process.exe)).into_owned();
        if !self.taken.insert(process.pid) {
            self.others.insert(process.key, LARGEST.saturating_add(self.others.len() as u32).saturating_add(1));
            name = format!("{name} (process {})", process.pid);
        }
        let pid = self.number(process);
        self.line(&json!({"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}}))
    }

    /// The PID of a process in this file.
    fn number(&self, process: &Process) -> u32 {
        self.others.get(&process.key).copied().unwrap_or(process.pid)
    }

    fn call(&self, call: &Call, phase: &str, exit: Option<&Exit>) -> Value {
        let mut line = event(call, phase, exit);
        line["pid"] = self.number(&call.thread.process).into();
        line
    }
}

fn event(call: &Call, phase: &str, exit: Option<&Exit>) -> Value {
    let (function, thread): (_, &Thread) = (&call.function, &call.thread);
    let mut arguments = Map::new();
    for (n, (param, input)) in function.params().iter().zip(call.inputs()).enumerate() {
        let value = exit.and_then(|e| e.output(n)).unwrap_or(input);
        arguments.insert(param.name.into(), argument(value, call));
    }
    for log in exit.iter().flat_map(|e| &e.logs) {
        arguments.insert(log.name.into(), log.text.text.as_str().into());
    }
    arguments.insert("cutap.library".into(), (&*function.library).into());
    call.runtime_version().map(|version| arguments.insert("cutap.runtime".into(), version.into()));
    let mut text = String::new();
    for field in fields().iter().filter(|field| field.is_in_exports()) {
        if field.annotate(CallView { call, exit }, &mut text) {
            arguments.insert(format!("cutap.{}", field.name), text.as_str().into());
        }
    }
    if let Some(result) = exit.and_then(result) {
        arguments.insert("cutap.result".into(), result);
    }
    json!({
        "name": function.shown(), "cat": function.layer.name(), "ph": phase, "tid": thread.tid,
        "ts": micros(call.start_ns), "args": arguments,
    })
}

/// A value as JSON: a number, or the text that the trace prints.
fn argument(value: &Described, call: &Call) -> Value {
    number(value).unwrap_or_else(|| {
        let mut text = String::new();
        write_launched(value, call.driver_args(), &mut text);
        text.into()
    })
}

/// A call's result: the name of a status, else the value.
fn result(exit: &Exit) -> Option<Value> {
    if let Some(name) = exit.status_name() {
        return Some(name.into());
    }
    match (exit.returned()?, &exit.value) {
        (_, Some(value)) => Some(argument(value, &exit.call)),
        (Returned::Status(n), None) => Some(n.into()),
        (Returned::Number(n), None) => i64::try_from(n).ok().and_then(exact),
        (Returned::Word(n), None) => Some(format!("{n:#x}").into()),
        _ => None,
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
fn micros(ns: u64) -> Value {
    (ns as f64 / 1000.0).into()
}

impl<W: io::Write + Send> Output for Chrome<W> {
    fn event(&mut self, of: &Event) -> io::Result<()> {
        match of {
            Event::Process(process) => self.process(process),
            Event::Enter(call) if call.function.entry_only => self.line(&self.call(call, "i", None)),
            Event::Exit(exit) => self.exit(exit),
            Event::Enter(_) | Event::Learned(_) | Event::Instance(..) | Event::Lookup(_) | Event::Module(_) => Ok(()),
        }
    }

    fn tick(&mut self, _now: u64) -> io::Result<()> {
        self.out.flush()
    }

    fn end(&mut self, end: &End) -> io::Result<()> {
        for exit in &end.unfinished {
            self.line(&self.call(&exit.call, "B", Some(exit)))?;
        }
        self.out.write_all(if self.begun { b"\n]\n" } else { b"[]\n" })?;
        self.out.flush()
    }
}
