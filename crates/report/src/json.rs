//! One JSON object a line. A call is written when it has ended; one that never did, at the end.

use crate::Output;
use crate::hooked::hooked_json;
use crate::json_writer;
use crate::stacks::stack_json;
use crate::switched::switched_json;
use crate::undecoded::raw_json;
use crate::values_json::{self, Arguments};
use cutap_trace::{Answer, Call, End, Event, Exit, Instance, Lookup, Process, Recording, Returned, Why};
use serde::Serialize;
use serde_json::{Value, json};
use std::io;

/// One JSON object a line.
#[derive(Debug)]
pub struct Json<W> {
    out: W,
}

/// A call; fields in the order in which they are written.
#[derive(Serialize)]
struct CallLine<'a> {
    r#type: &'static str,
    pid: u32,
    tid: u32,
    depth: u32,
    layer: &'static str,
    library: &'a str,
    runtime: Option<&'a str>,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    demangled: Option<&'a str>,
    args: Vec<String>,
    /// Typed values, if the function is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Arguments<'a>>,
    result: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_name: Option<&'static str>,
    /// The result as its type reads it, when it is no status.
    #[serde(skip_serializing_if = "Option::is_none")]
    returned: Option<values_json::Json<'a>>,
    error: bool,
    start_ns: u64,
    duration_ns: Option<u64>,
    kernel: Option<&'a str>,
    caller: String,
    state: &'static str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    returned_late: bool,
    /// What hooks did.
    #[serde(skip_serializing_if = "Option::is_none")]
    hooks: Option<Vec<Value>>,
    /// What it has added to logs, by their names.
    #[serde(skip_serializing_if = "Option::is_none")]
    logs: Option<serde_json::Map<String, Value>>,
    /// The stack that it was made on, and how its list ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    stack: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stack_end: Option<&'static str>,
}

impl<W: io::Write> Json<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Json<W> {
        Json { out }
    }

    fn line(&mut self, value: &impl Serialize) -> io::Result<()> {
        json_writer::write_json(&mut self.out, value)?;
        self.out.write_all(b"\n")
    }

    fn exit(&mut self, exit: &Exit) -> io::Result<()> {
        let (stack, stack_end) = stack_json(&exit.call).unzip();
        let line = CallLine {
            arguments: described(&exit.call).then_some(Arguments(&exit.call, Some(exit))),
            result: exit.returned().map_or(Value::Null, result),
            result_name: exit.status_name(),
            returned: exit.value.as_deref().map(values_json::Json::new),
            error: exit.is_error(),
            duration_ns: exit.duration_ns,
            kernel: exit.kernel().map(|k| &**k),
            state: exit.state.word(),
            returned_late: exit.late,
            hooks: hooked_json(exit),
            logs: logs(exit),
            stack,
            stack_end,
            ..call_line(&exit.call)
        };
        self.line(&line)
    }
}

/// A call that only its beginning is known of.
fn call_line(call: &Call) -> CallLine<'_> {
    let function = &call.function;
    CallLine {
        r#type: "call",
        pid: call.thread.process.pid,
        tid: call.thread.tid,
        depth: call.depth,
        layer: function.layer.name(),
        library: &function.library,
        runtime: call.runtime_version(),
        name: &function.name,
        demangled: function.demangled.as_deref(),
        args: call.args.words().iter().map(|w| hex(*w)).collect(),
        arguments: described(call).then_some(Arguments(call, None)),
        result: Value::Null,
        result_name: None,
        returned: None,
        error: false,
        start_ns: call.start_ns,
        duration_ns: None,
        kernel: call.kernel().map(|k| &**k),
        caller: hex(call.caller),
        state: "entry_only",
        returned_late: false,
        hooks: None,
        logs: None,
        stack: None,
        stack_end: None,
    }
}

fn logs(exit: &Exit) -> Option<serde_json::Map<String, Value>> {
    let all = exit.logs.iter().map(|log| (log.name.to_owned(), Value::from(log.text.text.as_str())));
    Some(all.collect::<serde_json::Map<_, _>>()).filter(|logs| !logs.is_empty())
}

/// Its arguments are understood.
fn described(call: &Call) -> bool {
    call.function.described.is_some() && (!call.inputs().is_empty() || call.function.params().is_empty())
}

fn result(returned: Returned) -> Value {
    match returned {
        Returned::Status(status) => status.into(),
        Returned::Number(number) => number.into(),
        Returned::Word(word) => hex(word).into(),
        Returned::Nothing | Returned::Untold => Value::Null,
    }
}

fn hex(word: u64) -> String {
    format!("{word:#x}")
}

fn process(process: &Process) -> Value {
    json!({
        "type": "process", "pid": process.pid, "ppid": process.ppid, "exe": process.exe,
        "arguments": process.arguments, "forked": process.forked, "folder": process.folder,
        "parent": process.parent, "start_ns": process.start_ns, "start_realtime_ns": process.start_realtime_ns,
    })
}

fn instance(instance: &Instance) -> Value {
    json!({
        "type": "instance", "pid": instance.process.pid, "id": instance.id, "library": &*instance.library,
        "runtime": instance.version, "shared": instance.shared,
    })
}

fn lookup(lookup: &Lookup) -> Value {
    let (function, library, address) = match &lookup.answer {
        Answer::Null => (None, None, None),
        Answer::Function(f) => (Some(&*f.name), Some(&*f.library), None),
        Answer::Address(address) => (None, None, Some(hex(*address))),
    };
    json!({
        "type": "lookup", "pid": lookup.thread.process.pid, "tid": lookup.thread.tid, "ns": lookup.ns,
        "kind": lookup.kind.word(), "name": lookup.name, "handle_or_version": hex(lookup.handle),
        "flags": hex(lookup.flags), "caller": lookup.caller.as_deref(), "caller_address": hex(lookup.caller_address),
        "code": lookup.code, "symbol_status": lookup.symbol_status,
        "function": function, "library": library, "address": address,
    })
}

/// What a kept image is, as the wire numbers it; a number that nobody knows stays one.
fn module_kind(kind: u64) -> Value {
    match kind {
        1 => "cubin".into(),
        2 => "fatbin".into(),
        3 => "ptx".into(),
        other => other.into(),
    }
}

fn ending(end: &End) -> Value {
    let counts = end.counts.iter().map(|c| json!({"reason": c.reason, "text": c.text, "count": c.count}));
    let gaps = end.gaps.iter().map(
        |g| json!({"reason": g.reason, "text": end.reason(g.reason), "pid": g.pid, "what": g.what, "more": g.more}),
    );
    let filter =
        end.filtered.as_ref().map(|f| json!({"text": f.text, "shown": f.shown, "filtered_out": f.filtered_out}));
    let (raw, undescribed) = raw_json(end);
    json!({
        "type": "end", "filter": filter, "failed": end.failed,
        "counts": counts.collect::<Vec<_>>(),
        "gaps": gaps.collect::<Vec<_>>(),
        "instances": end.instances.iter().map(|i| instance(i)).collect::<Vec<_>>(),
        "without_register_calls": end.linked_in(),
        "running": end.running.iter().map(|p| p.pid).collect::<Vec<_>>(),
        "unfinished": end.unfinished.len() as u64 + end.open, "recording": end.recording.as_ref().map(recording),
        "raw": raw, "undescribed": undescribed,
        "nameless": end.nameless, "chunks_taken": end.chunks_taken, "chunks_unknown": end.chunks_unknown, "chunks_lost": end.chunks_lost,
        "entered": end.unseen.entered, "inner": end.unseen.inner,
        "without_calls": end.without_calls().iter().map(|p| p.pid).collect::<Vec<_>>(),
        "overwritten": end.overwritten, "records_cut": end.records_cut,
        "switched": switched_json(end), "counted": end.counted.iter().map(|c| c.calls).sum::<u64>(),
    })
}

/// How far a recording could be read.
fn recording(of: &Recording) -> Value {
    let state = match of.cut.why {
        Why::Ended | Why::Open if of.damaged > 0 => "damaged",
        Why::Ended | Why::Open if of.is_incomplete() => "incomplete",
        Why::Ended => "ended",
        Why::Open => "open",
        Why::CutOff => "cut off",
        Why::Damaged => "damaged",
    };
    json!({"state": state, "read_bytes": of.cut.at, "damaged_blocks": of.damaged})
}

/// The line that ends every JSON output.
pub fn end_line(end: &End, out: &mut (impl io::Write + ?Sized)) -> io::Result<()> {
    json_writer::write_json(out, &ending(end))?;
    out.write_all(b"\n")?;
    out.flush()
}

impl<W> Json<W> {
    /// The writer.
    pub fn get_ref(&self) -> &W {
        &self.out
    }
}

impl<W: io::Write + Send> Output for Json<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Process(p) => self.line(&process(p)),
            Event::Instance(i, ns) => {
                let mut line = instance(i);
                line["ns"] = (*ns).into();
                self.line(&line)
            }
            Event::Enter(call) if call.function.entry_only => self.line(&call_line(call)),
            Event::Enter(_) => Ok(()),
            Event::Exit(exit) => self.exit(exit),
            Event::Lookup(l) => self.line(&lookup(l)),
            Event::Module(m) => self.line(&json!({
                "type": "module", "pid": m.process.pid, "ns": m.ns, "bytes": m.bytes, "kind": module_kind(m.kind), "file": m.file,
            })),
        }
    }

    fn tick(&mut self, _now: u64) -> io::Result<()> {
        self.out.flush()
    }

    fn end(&mut self, end: &End) -> io::Result<()> {
        for exit in &end.unfinished {
            self.exit(exit)?;
        }
        end_line(end, &mut self.out)
    }
}
