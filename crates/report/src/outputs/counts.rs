//! The number of calls of each function (`-C`): those that were recorded and those that were only counted.

use crate::Output;
use crate::format::json_writer;
use crate::format::label::short_tag;
use crate::format::style::Styles;
use crate::notes::note_limit::notes;
use crate::outputs::json::end_line;
use crate::statistics::table::{Cell, Heading, Table};
use cutap_trace::{Call, CountedFunction, End, Event, EventVisitor, Exit};
use serde_json::json;
use std::collections::BTreeMap;
use std::io;

/// A table of counts.
#[derive(Debug)]
pub struct Counts<W> {
    out: W,
    json: bool,
    styles: Styles,
    /// Notes at the end; none: all.
    notes: Option<usize>,
    /// Calls that were recorded, by the function's key.
    recorded: Vec<Option<CountedFunction>>,
}

impl<W: io::Write> Counts<W> {
    /// A table for people, coloured if `colour`; or one JSON object for each function.
    pub fn new(out: W, json: bool, colour: bool) -> Counts<W> {
        Counts { out, json, styles: Styles::new(colour && !json), notes: None, recorded: Vec::new() }
    }

    /// Writes at most so many notes at the end.
    pub fn with_notes(self, notes: Option<usize>) -> Counts<W> {
        Counts { notes, ..self }
    }

    fn call(&mut self, call: &Call) {
        // A range is no call.
        if call.function.range.is_some() {
            return;
        }
        let key = call.function.key as usize;
        if key >= self.recorded.len() {
            self.recorded.resize_with(key + 1, || None);
        }
        let function = || CountedFunction { function: call.function.clone(), instance: None, runtime: None, calls: 0 };
        let counted = self.recorded[key].get_or_insert_with(function);
        counted.calls += 1;
        if counted.runtime.is_none() {
            counted.runtime = call.runtime_version().map(Into::into);
        }
    }

    /// Recorded calls and those that were only counted, the most frequent first. A function of several processes has
    /// one entry.
    fn all(&mut self, counted: &[CountedFunction]) -> Vec<CountedFunction> {
        let mut all = BTreeMap::new();
        for one in std::mem::take(&mut self.recorded).into_iter().flatten().chain(counted.iter().cloned()) {
            let f = &one.function;
            let key = (f.layer, f.library.clone(), one.runtime.clone(), f.display_name().to_owned());
            all.entry(key).and_modify(|sum: &mut CountedFunction| sum.calls += one.calls).or_insert(one);
        }
        let mut all: Vec<CountedFunction> = all.into_values().collect();
        all.sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.function.name.cmp(&b.function.name)));
        all
    }

    fn json(&mut self, counted: &[CountedFunction]) -> io::Result<()> {
        for c in counted {
            let f = &c.function;
            let line = json!({
                "type": "count", "layer": f.layer.name(), "library": &*f.library, "runtime": c.runtime.as_deref(),
                "name": f.display_name(), "calls": c.calls,
            });
            json_writer::write_json(&mut self.out, &line)?;
            self.out.write_all(b"\n")?;
        }
        Ok(())
    }

    fn text(&mut self, counted: &[CountedFunction]) -> io::Result<()> {
        let tag_of = |c: &CountedFunction| {
            short_tag(c.function.layer, &c.function.library, c.runtime.as_deref(), c.function.display_name())
        };
        let longest =
            counted.iter().map(|c| c.function.display_name().chars().count() + tag_of(c).chars().count()).max();
        let table = Table::new(vec![Heading { title: "calls", width: 12 }], self.styles, &mut self.out);
        let mut table = table.names_first(longest.unwrap_or(0));
        table.head("function")?;
        for c in counted {
            let f = &c.function;
            table.row(&[Cell::Count(c.calls)], 0, f.display_name(), &tag_of(c))?;
        }
        Ok(())
    }
}

impl<W> Counts<W> {
    /// The writer.
    pub fn get_ref(&self) -> &W {
        &self.out
    }
}

impl<W: io::Write> EventVisitor for Counts<W> {
    fn enter_without_exit(&mut self, call: &Call) {
        self.call(call);
    }

    fn exit(&mut self, exit: &Exit) {
        // A late call was counted when it was reported as unwound.
        if !exit.late {
            self.call(&exit.call);
        }
    }
}

impl<W: io::Write + Send> Output for Counts<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        event.visit(self);
        Ok(())
    }
    fn tick(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }
    fn end(&mut self, end: &End) -> io::Result<()> {
        end.unfinished.iter().for_each(|exit| self.exit(exit));
        let all = self.all(&end.functions.counted);
        if self.json {
            self.json(&all)?;
            return end_line(end, &mut self.out);
        }
        self.text(&all)?;
        notes(end, self.notes).iter().try_for_each(|line| writeln!(self.out, "cutap: {line}"))?;
        self.out.flush()
    }
}
