//! What was called how often and how long it took, function by function, instead of every call. Memory
//! grows with the number of functions, never with the number of calls.

use crate::Output;
use crate::call_stats::CallStats;
use crate::footer::end_lines;
use crate::json::end_line;
use crate::json_writer;
use crate::style::Styles;
use crate::units::time;
use cutap_trace::{Call, End, Event, Exit, Function, Layer, State};
use serde::Serialize;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

/// Counts and times of each function.
#[derive(Debug)]
pub struct Summary<W> {
    out: W,
    json: bool,
    styles: Styles,
    /// By the function's key.
    functions: Vec<Option<Row>>,
    /// What another has added up before.
    before: Vec<SavedRow>,
}

/// The sums of a function, for another in our place: layer, library, version of the runtime, name.
type SavedRow<L = Layer> = (L, String, Option<String>, String, CallStats);

#[derive(Debug)]
struct Row {
    function: Arc<Function>,
    runtime: Option<Box<str>>,
    sums: CallStats,
}

/// What is written for one function of one library and runtime; fields in this order.
#[derive(Serialize)]
struct Line {
    r#type: &'static str,
    layer: &'static str,
    library: String,
    runtime: Option<String>,
    name: String,
    calls: u64,
    errors: u64,
    /// Calls that did not return: unfinished, or left by an exception. They have no time.
    unfinished: u64,
    /// Some call has a time.
    #[serde(skip)]
    timed: bool,
    total_ns: u64,
    mean_ns: u64,
    p50_ns: u64,
    p99_ns: u64,
    max_ns: u64,
}

impl<W: io::Write> Summary<W> {
    /// A table for people; with colours when told so.
    pub fn text(out: W, colour: bool) -> Summary<W> {
        Summary { out, json: false, styles: Styles::new(colour), functions: Vec::new(), before: Vec::new() }
    }
    /// One JSON object a function.
    pub fn json(out: W) -> Summary<W> {
        Summary { out, json: true, styles: Styles::new(false), functions: Vec::new(), before: Vec::new() }
    }

    fn sums(&mut self, call: &Call) -> &mut CallStats {
        let key = call.function.key as usize;
        if key >= self.functions.len() {
            self.functions.resize_with(key + 1, || None);
        }
        let row = self.functions[key].get_or_insert_with(|| Row {
            function: call.function.clone(),
            runtime: None,
            sums: CallStats::default(),
        });
        if row.runtime.is_none() {
            row.runtime = call.runtime_version().map(Into::into);
        }
        &mut row.sums
    }

    fn exit(&mut self, exit: &Exit) {
        let error = exit.is_error();
        let took = exit.duration_ns.filter(|_| exit.state == State::Returned);
        self.sums(&exit.call).add(took, 0, error, exit.late);
    }

    /// The same function in several processes, or loaded twice, is one.
    fn merged(&self) -> HashMap<(Layer, &str, Option<&str>, &str), CallStats> {
        let mut merged: HashMap<(Layer, &str, Option<&str>, &str), CallStats> = HashMap::new();
        for (layer, library, runtime, name, sums) in &self.before {
            merged.entry((*layer, library, runtime.as_deref(), name)).or_default().merge(sums);
        }
        for row in self.functions.iter().flatten() {
            let f = &row.function;
            merged.entry((f.layer, &f.library, row.runtime.as_deref(), f.shown())).or_default().merge(&row.sums);
        }
        merged
    }

    fn lines(&self) -> Vec<Line> {
        let line = |((layer, library, runtime, name), sums): ((Layer, &str, Option<&str>, &str), CallStats)| Line {
            r#type: "summary",
            layer: layer.name(),
            library: library.to_owned(),
            runtime: runtime.map(str::to_owned),
            name: name.to_owned(),
            calls: sums.calls,
            errors: sums.errors,
            unfinished: sums.open,
            timed: sums.times.count() > 0,
            total_ns: sums.total_ns,
            mean_ns: sums.mean_ns(),
            p50_ns: sums.times.percentile(50),
            p99_ns: sums.times.percentile(99),
            max_ns: sums.times.most(),
        };
        let mut lines: Vec<Line> = self.merged().into_iter().map(line).collect();
        lines.sort_by(|a, b| {
            let key = |l: &Line| (std::cmp::Reverse(l.total_ns), std::cmp::Reverse(l.calls));
            key(a).cmp(&key(b)).then_with(|| (&a.name, &a.library, &a.runtime).cmp(&(&b.name, &b.library, &b.runtime)))
        });
        lines
    }

    fn table(&mut self, lines: &[Line]) -> io::Result<()> {
        let styles = self.styles;
        writeln!(
            self.out,
            "{:>9} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9}  function",
            "calls", "errors", "total", "mean", "p50", "p99", "max"
        )?;
        for l in lines {
            let tag = match (l.layer, &l.runtime) {
                ("driver", _) => String::new(),
                (_, Some(version)) => format!(" [{}, runtime {version}]", l.library),
                _ => format!(" [{}]", l.library),
            };
            // A function of which no call ended took no time that anybody knows.
            let shown = |ns| if l.timed { time(ns) } else { "-".to_owned() };
            let error = if l.errors > 0 { styles.error } else { anstyle::Style::new() };
            writeln!(
                self.out,
                "{:>9} {}{:>7}{} {:>9} {:>9} {:>9} {:>9} {:>9}  {}{}{}{}{tag}{}",
                l.calls,
                error.render(),
                l.errors,
                error.render_reset(),
                shown(l.total_ns),
                shown(l.mean_ns),
                shown(l.p50_ns),
                shown(l.p99_ns),
                shown(l.max_ns),
                styles.name.render(),
                l.name,
                styles.name.render_reset(),
                styles.tag.render(),
                styles.tag.render_reset(),
            )?;
            if l.unfinished > 0 {
                writeln!(self.out, "{:>9} of them did not return", l.unfinished)?;
            }
        }
        Ok(())
    }
}

impl<W> Summary<W> {
    /// The writer.
    pub fn get_ref(&self) -> &W {
        &self.out
    }
}

impl<W: io::Write + Send> Output for Summary<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Enter(call) if call.function.entry_only => self.sums(call).calls += 1,
            Event::Exit(exit) => self.exit(exit),
            _ => {}
        }
        Ok(())
    }

    fn tick(&mut self, _now: u64) -> io::Result<()> {
        Ok(())
    }

    fn kept(&self) -> Option<Vec<u8>> {
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
        end.unfinished.iter().for_each(|exit| self.exit(exit));
        let lines = self.lines();
        if self.json {
            for line in &lines {
                json_writer::write_json(&mut self.out, line)?;
                self.out.write_all(b"\n")?;
            }
            return end_line(end, &mut self.out);
        }
        self.table(&lines)?;
        for line in end_lines(end) {
            writeln!(self.out, "cutap: {line}")?;
        }
        self.out.flush()
    }
}
