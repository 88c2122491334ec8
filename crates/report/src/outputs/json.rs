//! One JSON object a line. A call is written when it has ended. Calls that never ended are written at the end.

use crate::Output;
use crate::call::call_json::CallLines;
use crate::call::columns::CallView;
use crate::format::json_writer;
use crate::format::runs::{program_end_json, run_fields, with_run};
use crate::nesting::nest::Nest;
use crate::notes::messages::reason;
use crate::notes::switched::switched_json;
use crate::notes::undecoded::raw_json;
use crate::outputs::clock_json::{clock_samples, slow_clocks};
use crate::outputs::live_clocks::LiveClocks;
use cutap_calls::gpu_time::copy_kind;
use cutap_trace::{
    Answer, Call, End, Event, EventVisitor, Exit, GpuRow, Instance, Lookup, Module, Process, RecordingCoverage,
    RunHost, Why,
};
use cutap_wire::rows::RowContent;
use serde::Serialize;
use serde_json::{Value, json};
use std::io;
use std::sync::Arc;

/// One JSON object a line.
#[derive(Debug)]
pub struct Json<W> {
    out: W,
    /// The line that is written.
    line: Vec<u8>,
    calls: CallLines,
    nest: Nest,
    clocks: LiveClocks,
}

impl<W: io::Write> Json<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Json<W> {
        Json {
            out,
            line: Vec::new(),
            calls: CallLines::default(),
            nest: Nest::default(),
            clocks: LiveClocks::default(),
        }
    }

    fn call(&mut self, view: CallView<'_>) -> io::Result<()> {
        self.line.clear();
        self.calls.write(view, &mut self.line);
        self.line.push(b'\n');
        json_writer::write_line(&self.line, &mut self.out)
    }

    fn line(&mut self, value: &impl Serialize) -> io::Result<()> {
        json_writer::write_json_by(&mut self.line, &mut self.out, value)?;
        self.out.write_all(b"\n")
    }
}

fn hex(word: u64) -> String {
    format!("{word:#x}")
}

fn process(process: &Process) -> Value {
    let line = json!({
        "type": "process", "pid": process.pid, "ppid": process.ppid, "exe": process.exe,
        "arguments": process.arguments, "forked": process.forked, "folder": process.folder,
        "parent": process.parent, "start_ns": process.start_ns, "start_realtime_ns": process.start_realtime_ns,
    });
    with_run(line, process)
}

fn instance(instance: &Instance) -> Value {
    let line = json!({
        "type": "instance", "pid": instance.process.pid, "id": instance.id, "library": &*instance.library,
        "runtime": instance.version, "shared": instance.shared,
    });
    with_run(line, &instance.process)
}

fn lookup(lookup: &Lookup) -> Value {
    let (function, library, address) = match &lookup.answer {
        Answer::Null => (None, None, None),
        Answer::Function(f) => (Some(&*f.name), Some(&*f.library), None),
        Answer::Address(address) => (None, None, Some(hex(*address))),
    };
    let line = json!({
        "type": "lookup", "pid": lookup.thread.process.pid, "tid": lookup.thread.tid, "ns": lookup.ns,
        "kind": lookup.kind.word(), "name": lookup.name, "handle_or_version": hex(lookup.handle),
        "flags": hex(lookup.flags), "caller": lookup.caller.as_deref(), "caller_address": hex(lookup.caller_address),
        "code": lookup.code, "symbol_status": lookup.symbol_status,
        "function": function, "library": library, "address": address,
    });
    with_run(line, &lookup.thread.process)
}

/// A kernel, copy or set; none for rows on the collection. `times`: CLOCK_MONOTONIC.
fn row_json(of: &GpuRow, times: Option<(u64, u64)>) -> Option<Value> {
    let place = &of.row.place;
    let (kind, own, node) = match &of.row.content {
        RowContent::Kernel(kernel) => (
            "kernel",
            json!({
                "kernel": of.kernel.as_deref(), "grid": kernel.grid, "block": kernel.block,
                "registers": kernel.registers, "static_shared": kernel.static_shared,
                "dynamic_shared": kernel.dynamic_shared,
            }),
            kernel.node,
        ),
        RowContent::Copy(copied) => {
            ("copy", json!({"bytes": copied.bytes, "copy": copy_kind(copied.kind)}), copied.node)
        }
        RowContent::Set { bytes, value, node } => ("set", json!({"bytes": bytes, "value": value}), *node),
        RowContent::DriverCall { .. } | RowContent::Clock { .. } | RowContent::State(_) => return None,
    };
    let mut line = json!({
        "type": "row", "pid": of.process.pid, "work": kind, "device": place.device, "context": place.context,
        "stream": place.stream, "correlation": place.correlation,
        "start_ns": times.map(|times| times.0), "end_ns": times.map(|times| times.1),
        "duration_ns": place.end.checked_sub(place.start).filter(|_| place.start != 0),
        "tid": of.submitted_by.map(|(tid, _)| tid), "call_start_ns": of.submitted_by.map(|(_, start_ns)| start_ns),
    });
    if let (Value::Object(line), Value::Object(own)) = (&mut line, own) {
        line.extend(own);
        if node.graph != 0 {
            line.insert("graph".to_owned(), json!(node.graph));
            line.insert("node".to_owned(), json!(node.node as u32));
        }
    }
    Some(line)
}

/// The kind of a recorded module image, by its number in the record.
fn module_kind(kind: u64) -> Value {
    match kind {
        1 => "cubin".into(),
        2 => "fatbin".into(),
        3 => "ptx".into(),
        other => other.into(),
    }
}

fn ending(end: &End) -> Value {
    let counts = end
        .diagnostics
        .counts
        .iter()
        .map(|c| json!({"reason": c.reason, "text": reason(end, c.reason), "count": c.count}));
    let gaps = end.diagnostics.gaps.iter().map(
        |g| json!({"reason": g.reason, "text": reason(end, g.reason), "pid": g.pid, "what": g.name, "more": g.detail}),
    );
    let filter = end.filtered.as_ref().map(|f| {
        json!({
            "text": f.text, "shown": f.shown_calls, "filtered_out": f.filtered_out, "of_run": f.is_kept,
        })
    });
    let (raw, undescribed) = raw_json(end);
    let mut line = json!({
        "type": "end", "filter": filter, "failed": end.processes.failed,
        "counts": counts.collect::<Vec<_>>(),
        "gaps": gaps.collect::<Vec<_>>(),
        "instances": end.processes.instances.iter().map(|i| instance(i)).collect::<Vec<_>>(),
        "without_register_calls": end.linked_in(),
        "running": end.processes.running.iter().map(|p| p.pid).collect::<Vec<_>>(),
        "unfinished": end.unfinished.len() as u64 + end.open, "recording": end.recording.as_ref().map(recording),
        "raw": raw, "undescribed": undescribed,
        "nameless": end.missing.nameless, "chunks_taken": end.missing.chunks_taken,
        "chunks_unknown": end.missing.chunks_unknown, "chunks_lost": end.missing.chunks_lost,
        "entered": end.coverage.entered, "inner": end.coverage.inner, "cleaned": end.coverage.cleaned,
        "program": end.coverage.program_end.map(program_end_json),
        "without_calls": end.without_calls().iter().map(|p| p.pid).collect::<Vec<_>>(),
        "overwritten": end.missing.overwritten, "records_cut": end.missing.records_cut,
        "records_unknown": end.missing.records_unknown,
        "host": host_json(&end.host),
        "switched": switched_json(end), "counted": end.functions.counted.iter().map(|c| c.calls).sum::<u64>(),
        "slow_clocks": slow_clocks(end),
    });
    if let (Some(run), Value::Object(line)) = (&end.run, &mut line) {
        line.extend(run_fields(run));
    }
    line
}

/// Where the run was made; null where that was not recorded.
fn host_json(host: &RunHost) -> Value {
    match &host.name {
        Some(name) => json!({
            "name": name, "boot_id": host.boot_id, "rank": host.rank, "launcher": host.launcher,
        }),
        None => Value::Null,
    }
}

/// How far a recording could be read.
fn recording(of: &RecordingCoverage) -> Value {
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

impl<W: io::Write> EventVisitor<io::Result<()>> for Json<W> {
    fn process(&mut self, of: &Arc<Process>) -> io::Result<()> {
        self.line(&process(of))
    }

    fn instance(&mut self, of: &Arc<Instance>, ns: u64) -> io::Result<()> {
        let mut line = instance(of);
        line["ns"] = ns.into();
        self.line(&line)
    }

    fn enter(&mut self, call: &Call) -> io::Result<()> {
        self.nest.enter(call);
        Ok(())
    }

    fn enter_without_exit(&mut self, call: &Call) -> io::Result<()> {
        let parent = self.nest.innermost(call.thread.key);
        self.call(CallView::enter(call).inside(parent))
    }

    fn exit(&mut self, exit: &Exit) -> io::Result<()> {
        let parent = self.nest.exit(&exit.call);
        self.call(CallView::exit(exit).inside(parent))
    }

    fn lookup(&mut self, of: &Lookup) -> io::Result<()> {
        self.line(&lookup(of))
    }

    fn row(&mut self, row: &GpuRow) -> io::Result<()> {
        match row_json(row, self.clocks.times(row)) {
            Some(line) => self.line(&with_run(line, &row.process)),
            None => Ok(()),
        }
    }

    fn module(&mut self, module: &Module) -> io::Result<()> {
        let line = json!({
            "type": "module", "pid": module.process.pid, "ns": module.ns, "bytes": module.bytes,
            "kind": module_kind(module.kind), "file": module.file,
        });
        self.line(&with_run(line, &module.process))
    }
}

impl<W: io::Write + Send> Output for Json<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        event.visit(self)
    }

    fn replay(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Enter(call) => self.nest.enter(call),
            Event::Exit(exit) => drop(self.nest.exit(&exit.call)),
            _ => {}
        }
        Ok(())
    }

    fn tick(&mut self, _now: u64) -> io::Result<()> {
        self.out.flush()
    }

    fn end(&mut self, end: &End) -> io::Result<()> {
        for exit in &end.unfinished {
            self.exit(exit)?;
        }
        clock_samples(end).try_for_each(|sample| self.line(&sample))?;
        end_line(end, &mut self.out)
    }

    /// Each run has its own last line.
    fn end_runs(&mut self, ends: &[End]) -> io::Result<()> {
        ends.iter().flat_map(|end| &end.unfinished).try_for_each(|exit| self.exit(exit))?;
        ends.iter().flat_map(clock_samples).try_for_each(|sample| self.line(&sample))?;
        ends.iter().try_for_each(|end| end_line(end, &mut self.out))
    }
}
