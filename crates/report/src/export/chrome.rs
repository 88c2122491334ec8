//! The JSON that Chrome's `about:tracing` made common: an array of events, one for each call that is
//! over. What never ended is a beginning without an end. The array needs no closing bracket, so that
//! what was cut off is read too.

use crate::Output;
use crate::hooked::hooked_lines;
use crate::stacks;
use crate::values::write_launched;
use cutap_trace::{Call, End, Event, Exit, Thread};
use serde_json::{Map, Value, json};
use std::io;

/// Chrome's trace.
#[derive(Debug)]
pub struct Chrome<W> {
    out: W,
    begun: bool,
}

impl<W: io::Write> Chrome<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Chrome<W> {
        Chrome { out, begun: false }
    }

    fn line(&mut self, line: &Value) -> io::Result<()> {
        self.out.write_all(if std::mem::replace(&mut self.begun, true) { b",\n" } else { b"[\n" })?;
        serde_json::to_writer(&mut self.out, line).map_err(io::Error::from)
    }

    fn exit(&mut self, exit: &Exit) -> io::Result<()> {
        let mut line = event(&exit.call, "X", Some(exit));
        line["dur"] = micros(exit.duration_ns.unwrap_or(exit.end_ns.saturating_sub(exit.call.start_ns)));
        self.line(&line)
    }
}

fn event(call: &Call, phase: &str, exit: Option<&Exit>) -> Value {
    let (function, thread): (_, &Thread) = (&call.function, &call.thread);
    let mut arguments = Map::new();
    for (n, (param, input)) in function.params().iter().zip(call.inputs()).enumerate() {
        let mut text = String::new();
        write_launched(exit.and_then(|e| e.output(n)).unwrap_or(input), call.launched(), &mut text);
        arguments.insert(param.name.into(), text.into());
    }
    for log in exit.iter().flat_map(|e| &e.logs) {
        arguments.insert(log.name.into(), log.text.text.as_str().into());
    }
    let (stack, hooks) = (stacks::lines(call).join("\n"), hooked_lines(call));
    for (key, value) in [
        ("cutap.stack", Some(&*stack).filter(|s| !s.is_empty())),
        ("cutap.library", Some(&*function.library)),
        ("cutap.runtime", call.runtime_version()),
        ("cutap.kernel", exit.map_or(call.kernel(), |e| e.kernel()).map(|k| &**k)),
        ("cutap.result", exit.and_then(|e| e.status_name())),
        ("cutap.hooks", hooks.as_deref()),
        ("cutap.state", exit.filter(|e| e.duration_ns.is_none()).map(|e| e.state.word())),
    ] {
        value.map(|value| arguments.insert(key.into(), value.into()));
    }
    json!({
        "name": function.shown(), "cat": function.layer.word(), "ph": phase, "pid": thread.process.pid,
        "tid": thread.tid, "ts": micros(call.start_ns), "args": arguments,
    })
}

/// Microseconds, to the nanosecond.
fn micros(ns: u64) -> Value {
    (ns as f64 / 1000.0).into()
}

impl<W: io::Write + Send> Output for Chrome<W> {
    fn event(&mut self, of: &Event) -> io::Result<()> {
        match of {
            Event::Process(p) => {
                let name = p.exe.rsplit('/').next().unwrap_or(&p.exe);
                self.line(&json!({"name": "process_name", "ph": "M", "pid": p.pid, "args": {"name": name}}))
            }
            Event::Enter(call) if call.function.noted => self.line(&event(call, "i", None)),
            Event::Exit(exit) => self.exit(exit),
            Event::Enter(_) | Event::Instance(..) | Event::Lookup(_) | Event::Module(_) => Ok(()),
        }
    }

    fn tick(&mut self, _now: u64) -> io::Result<()> {
        self.out.flush()
    }

    fn end(&mut self, end: &End) -> io::Result<()> {
        for exit in &end.unfinished {
            self.line(&event(&exit.call, "B", Some(exit)))?;
        }
        self.out.write_all(if self.begun { b"\n]\n" } else { b"[]\n" })?;
        self.out.flush()
    }
}
