//! How often each function was called, and nothing else: what is left of a trace in which calls were counted only.

use crate::Output;
use crate::ends::end_lines;
use crate::json::end_line;
use crate::style::Styles;
use cutap_trace::{Counted, End, Event, Layer};
use serde::Serialize;
use std::io;

/// A table of counts.
#[derive(Debug)]
pub struct Counts<W> {
    out: W,
    json: bool,
    styles: Styles,
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
        Counts { out, json, styles: Styles::new(colour && !json) }
    }

    fn line(&mut self, c: &Counted) -> io::Result<()> {
        let (f, s) = (&c.function, &self.styles);
        if self.json {
            let line = Line {
                r#type: "count",
                layer: f.layer.word(),
                library: &f.library,
                runtime: c.runtime.as_deref(),
                name: f.shown(),
                calls: c.calls,
            };
            serde_json::to_writer(&mut self.out, &line)?;
            return writeln!(self.out);
        }
        let tag = match (f.layer, &c.runtime) {
            (Layer::Driver, _) => String::new(),
            (_, Some(version)) => format!(" [{}, runtime {version}]", f.library),
            _ => format!(" [{}]", f.library),
        };
        let (name, tags) = ((s.name.render(), s.name.render_reset()), (s.tag.render(), s.tag.render_reset()));
        writeln!(self.out, "{:>12}  {}{}{}{}{tag}{}", c.calls, name.0, f.shown(), name.1, tags.0, tags.1)
    }
}

impl<W: io::Write + Send> Output for Counts<W> {
    fn event(&mut self, _: &Event) -> io::Result<()> {
        Ok(())
    }
    fn tick(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }
    fn end(&mut self, end: &End) -> io::Result<()> {
        if !self.json {
            writeln!(self.out, "{:>12}  function", "calls")?;
        }
        for counted in &end.counted {
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
