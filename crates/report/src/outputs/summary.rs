//! The summary of `trace -c` and `show -c`: counts and times of each function. Memory grows with the number of
//! functions, not with the number of calls.

use crate::Output;
use crate::format::json_writer;
use crate::format::label::short_tag;
use crate::format::style::Styles;
use crate::nesting::open_calls::OpenCalls;
use crate::notes::gpu_totals::GpuTotals;
use crate::notes::note_limit::notes;
use crate::outputs::json::end_line;
use crate::statistics::call_stats::{CallEnd, CallStats, View};
use crate::statistics::table::Table;
use cutap_trace::{Call, CallSink, End, Event, EventVisitor, Exit, FinishedCall, Function, GpuRow, Instance, Layer};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

/// Rows of functions before those of the same name are added up. Few programs call so many.
const MOST_ROWS: usize = 2048;

/// Counts and times of each function.
#[derive(Debug)]
pub struct Summary<W> {
    out: W,
    json: bool,
    styles: Styles,
    /// Notes at the end; none: all.
    notes: Option<usize>,
    /// By the function's key.
    functions: Vec<Option<Box<Row>>>,
    /// How many of them have sums.
    rows: usize,
    /// Sums that another collector saved, and those of many short processes.
    before: Vec<SavedRow>,
    /// For the time that calls take without those inside them.
    open: OpenCalls,
    gpu: GpuTotals,
}

/// The saved sums of a function: layer, library, version of the runtime, name.
type SavedRow<L = Layer> = (L, String, Option<String>, String, CallStats);

#[derive(Debug)]
struct Row {
    function: Arc<Function>,
    runtime: Option<Box<str>>,
    sums: CallStats,
}

/// The sums of one function of one library and runtime.
struct Line {
    layer: Layer,
    library: String,
    runtime: Option<String>,
    name: String,
    sums: CallStats,
}

impl Line {
    fn json(&self, all_ns: u64) -> Value {
        let mut line = json!({
            "type": "summary", "layer": self.layer.name(), "library": self.library, "runtime": self.runtime,
            "name": self.name,
        });
        if let Value::Object(line) = &mut line {
            line.extend(self.sums.json(View::Summary, all_ns));
        }
        line
    }
}

impl<W: io::Write> Summary<W> {
    /// A table for people, coloured if `colour`.
    pub fn text(out: W, colour: bool) -> Summary<W> {
        Summary {
            out,
            json: false,
            styles: Styles::new(colour),
            notes: None,
            functions: Vec::new(),
            rows: 0,
            before: Vec::new(),
            open: OpenCalls::default(),
            gpu: GpuTotals::default(),
        }
    }
    /// One JSON object for each function.
    pub fn json(out: W) -> Summary<W> {
        Summary {
            out,
            json: true,
            styles: Styles::new(false),
            notes: None,
            functions: Vec::new(),
            rows: 0,
            before: Vec::new(),
            open: OpenCalls::default(),
            gpu: GpuTotals::default(),
        }
    }

    /// Writes at most so many notes at the end.
    pub fn with_notes(self, notes: Option<usize>) -> Summary<W> {
        Summary { notes, ..self }
    }

    fn row(&mut self, function: &Arc<Function>) -> &mut Row {
        let key = function.key as usize;
        if key >= self.functions.len() {
            self.functions.resize_with(key + 1, || None);
        }
        let rows = &mut self.rows;
        self.functions[key].get_or_insert_with(|| {
            *rows += 1;
            Box::new(Row { function: function.clone(), runtime: None, sums: CallStats::default() })
        })
    }

    /// Adds up functions of the same name. Each process has its own, and a run may have any number of processes.
    fn merge_many(&mut self) {
        if self.rows <= MOST_ROWS {
            return;
        }
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let merged = self.merged().into_iter();
        let row = |((layer, library, runtime, name), sums): ((Layer, &str, _, &str), _)| -> SavedRow {
            (layer, library.to_owned(), owned(runtime), name.to_owned(), sums)
        };
        self.before = merged.map(row).collect();
        self.functions.iter_mut().for_each(|row| *row = None);
        self.rows = 0;
    }

    fn sums(&mut self, call: &Call) -> &mut CallStats {
        let row = self.row(&call.function);
        if row.runtime.is_none() {
            row.runtime = call.runtime_version().map(Into::into);
        }
        &mut row.sums
    }

    /// Sums by name. A function of several processes, or of a library that was loaded twice, has one entry.
    fn merged(&self) -> HashMap<(Layer, &str, Option<&str>, &str), CallStats> {
        let mut merged: HashMap<(Layer, &str, Option<&str>, &str), CallStats> = HashMap::new();
        for (layer, library, runtime, name, sums) in &self.before {
            merged.entry((*layer, library, runtime.as_deref(), name)).or_default().merge(sums);
        }
        for row in self.functions.iter().flatten() {
            let f = &row.function;
            merged.entry((f.layer, &f.library, row.runtime.as_deref(), f.display_name())).or_default().merge(&row.sums);
        }
        merged
    }

    fn lines(&self) -> Vec<Line> {
        let line = |((layer, library, runtime, name), sums): ((Layer, &str, Option<&str>, &str), CallStats)| Line {
            layer,
            library: library.to_owned(),
            runtime: runtime.map(str::to_owned),
            name: name.to_owned(),
            sums,
        };
        let mut lines: Vec<Line> = self.merged().into_iter().map(line).collect();
        lines.sort_by(|a, b| {
            let key = |l: &Line| (Reverse(l.sums.total_ns), Reverse(l.sums.calls));
            key(a).cmp(&key(b)).then_with(|| (&a.name, &a.library, &a.runtime).cmp(&(&b.name, &b.library, &b.runtime)))
        });
        lines
    }

    fn table(&mut self, lines: &[Line]) -> io::Result<()> {
        let all_ns = all_ns(lines);
        let tag_of = |line: &Line| short_tag(line.layer, &line.library, line.runtime.as_deref(), &line.name);
        let longest = lines.iter().map(|line| line.name.chars().count() + tag_of(line).chars().count()).max();
        let table = Table::new(CallStats::headings(View::Summary, false), self.styles, &mut self.out);
        let mut table = table.names_first(longest.unwrap_or(0));
        table.head("function")?;
        for l in lines {
            table.row(&l.sums.cells(View::Summary, false, all_ns), 0, &l.name, &tag_of(l))?;
            l.sums.unfinished().map_or(Ok(()), |line| table.line(&line))?;
        }
        Ok(())
    }
}

/// Time in all calls, each moment of a thread once.
fn all_ns(lines: &[Line]) -> u64 {
    lines.iter().map(|line| line.sums.self_ns).sum()
}

/// A run that is read to its end needs no event of each call.
impl<W: io::Write> CallSink for Summary<W> {
    fn enter(&mut self, _place: u32, _function: &Arc<Function>) -> u32 {
        0
    }

    fn exit(&mut self, done: &FinishedCall<'_>) {
        let sums = &mut self.row(done.function).sums;
        if done.function.entry_only {
            sums.calls += 1;
        } else {
            sums.add(CallEnd::from(done));
        }
    }

    fn function_instance(&mut self, function: &Arc<Function>, instance: &Arc<Instance>) {
        if let Some(Some(row)) = self.functions.get_mut(function.key as usize) {
            row.runtime = instance.version.as_deref().map(Into::into);
        }
    }
}

impl<W> Summary<W> {
    /// The writer.
    pub fn get_ref(&self) -> &W {
        &self.out
    }
}

impl<W: io::Write> EventVisitor for Summary<W> {
    fn enter(&mut self, call: &Call) {
        self.open.enter(call);
    }

    fn enter_without_exit(&mut self, call: &Call) {
        self.sums(call).calls += 1;
    }

    fn exit(&mut self, exit: &Exit) {
        let inside = self.open.exit(exit);
        self.sums(&exit.call).add(CallEnd::of(exit, inside));
    }

    fn row(&mut self, row: &GpuRow) {
        self.gpu.row(row);
    }
}

impl<W: io::Write + Send> Output for Summary<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        event.visit(self);
        Ok(())
    }

    fn tick(&mut self, _now: u64) -> io::Result<()> {
        self.merge_many();
        Ok(())
    }

    fn saved_state(&self) -> Option<Vec<u8>> {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let row = |((layer, library, runtime, name), sums): ((Layer, &str, _, &str), _)| -> SavedRow<String> {
            (layer.name().to_owned(), library.to_owned(), owned(runtime), name.to_owned(), sums)
        };
        serde_json::to_vec(&self.merged().into_iter().map(row).collect::<Vec<_>>()).ok()
    }

    fn take_over(&mut self, kept: &[u8]) -> bool {
        let of = |word: &str| Layer::of_name(word);
        let row =
            |(layer, library, runtime, name, sums): SavedRow<String>| Some((of(&layer)?, library, runtime, name, sums));
        let before: Option<Vec<SavedRow<String>>> = serde_json::from_slice(kept).ok();
        let before: Option<Vec<SavedRow>> = before.and_then(|rows| rows.into_iter().map(row).collect());
        before.map(|before| self.before = before).is_some()
    }

    fn end(&mut self, end: &End) -> io::Result<()> {
        end.unfinished.iter().for_each(|exit| EventVisitor::exit(self, exit));
        let lines = self.lines();
        if self.json {
            for line in &lines {
                json_writer::write_json(&mut self.out, &line.json(all_ns(&lines)))?;
                self.out.write_all(b"\n")?;
            }
            return end_line(end, &mut self.out);
        }
        self.table(&lines)?;
        let gpu_lines = if end.gpu_time.is_none() { self.gpu.lines() } else { Vec::new() };
        for line in gpu_lines {
            writeln!(self.out, "cutap: {line}")?;
        }
        for line in notes(end, self.notes) {
            writeln!(self.out, "cutap: {line}")?;
        }
        self.out.flush()
    }
}
