//! How often each function was called, and nothing else: what is left of a trace in which calls were counted only, and the same of
//! one in which they were recorded. A run does one of the two, so that the numbers of both are never added up.

use crate::Output;
use crate::footer::end_lines;
use crate::json::end_line;
use crate::json_writer;
use crate::style::Styles;
use cutap_trace::{Call, Counted, End, Event, Exit, Layer};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;

/// A table of counts.
#[derive(Debug)]
pub struct Counts<W> {
    out: W,
    json: bool,
    styles: Styles,
    /// Calls that were recorded, by the function's key.
    recorded: Vec<Option<Counted>>,
}

#[derive(Serialize)]
struct Line<'a> {
    r#type: &'static str,
    layer: &'static str,
    library: &'a str,
    runtime: Option<&'a str>,
    name: &'a str,
    calls: u64,
}

impl<W: io::Write> Counts<W> {
    /// For people, with colours when told so; or one JSON object a function.
    pub fn new(out: W, json: bool, colour: bool) -> Counts<W> {
        Counts { out, json, styles: Styles::new(colour && !json), recorded: Vec::new() }
    }

    fn call(&mut self, call: &Call) {
        let key = call.function.key as usize;
        if key >= self.recorded.len() {
            self.recorded.resize_with(key + 1, || None);
        }
        let function = || Counted { function: call.function.clone(), instance: None, runtime: None, calls: 0 };
        let counted = self.recorded[key].get_or_insert_with(function);
        counted.calls += 1;
        if counted.runtime.is_none() {
            counted.runtime = call.runtime_version().map(Into::into);
        }
    }

    fn exit(&mut self, exit: &Exit) {
        // One that returned after all was given up before, and counted then.
        if !exit.late {
            self.call(&exit.call);
        }
    }

    /// What was recorded, the most often called first. The same function in several processes, or loaded twice, is one.
    fn recorded(&mut self) -> Vec<Counted> {
        let mut all = BTreeMap::new();
        for one in std::mem::take(&mut self.recorded).into_iter().flatten() {
            let f = &one.function;
            let key = (f.layer, f.library.clone(), one.runtime.clone(), f.shown().to_owned());
            all.entry(key).and_modify(|sum: &mut Counted| sum.calls += one.calls).or_insert(one);
        }
        let mut all: Vec<Counted> = all.into_values().collect();
        all.sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.function.name.cmp(&b.function.name)));
        all
    }

    fn line(&mut self, c: &Counted) -> io::Result<()> {
        let (f, s) = (&c.function, &self.styles);
        if self.json {
            let line = Line {
                r#type: "count",
                layer: f.layer.name(),
                library: &f.library,
                runtime: c.runtime.as_deref(),
                name: f.shown(),
                calls: c.calls,
            };
            json_writer::write_json(&mut self.out, &line)?;
            return writeln!(self.out);
        }
        let tag = match (f.layer, &c.runtime) {
            (Layer::DRIVER, _) => String::new(),
            (_, Some(version)) => format!(" [{}, runtime {version}]", f.library),
            _ => format!(" [{}]", f.library),
        };
        let (name, tags) = ((s.name.render(), s.name.render_reset()), (s.tag.render(), s.tag.render_reset()));
        writeln!(self.out, "{:>12}  {}{}{}{}{tag}{}", c.calls, name.0, f.shown(), name.1, tags.0, tags.1)
    }
}

impl<W> Counts<W> {
    /// The writer.
    pub fn get_ref(&self) -> &W {
        &self.out
    }
}

impl<W: io::Write + Send> Output for Counts<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Enter(call) if call.function.entry_only => self.call(call),
            Event::Exit(exit) => self.exit(exit),
            _ => {}
        }
        Ok(())
    }
    fn tick(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }
    fn end(&mut self, end: &End) -> io::Result<()> {
        if !self.json {
            writeln!(self.out, "{:>12}  function", "calls")?;
        }
        end.unfinished.iter().for_each(|exit| self.exit(exit));
        let recorded = self.recorded();
        for counted in if end.counted.is_empty() { &recorded } else { &end.counted } {
            self.line(counted)?;
        }
        match self.json {
            true => end_line(end, &mut self.out),
            false => {
                end_lines(end).iter().try_for_each(|line| writeln!(self.out, "cutap: {line}"))?;
                self.out.flush()
            }
        }
    }
}
