//! `report --slowest`: the calls that took longest, each with its arguments, the longest first.

use super::{EventSink, Input, Kind, Report, Takes};
use crate::arguments::{inputs, words};
use crate::fields::{CallView, Part};
use crate::json_writer::write_json;
use crate::label::tag;
use crate::style::Styles;
use crate::table::{Cell, Heading, Table};
use cutap_trace::{End, Event, Exit};
use std::io;

pub(super) const KIND: Kind = Kind {
    flag: "slowest",
    help: "The 20 calls that took longest, with their arguments",
    value: Takes::Nothing,
    new: |_| Box::new(Slowest::default()),
};

/// Calls that are listed.
const LISTED: usize = 20;

#[derive(Default)]
struct Slowest {
    /// The longest calls so far, with their durations; of equal ones the first.
    calls: Vec<(u64, Exit)>,
}

impl EventSink for Slowest {
    fn event(&mut self, event: &Event) {
        let Event::Exit(exit) = event else { return };
        let Some(ns) = exit.duration_ns else { return };
        let place = self.calls.partition_point(|(longer, _)| *longer >= ns);
        if place < LISTED {
            self.calls.insert(place, (ns, exit.clone()));
            self.calls.truncate(LISTED);
        }
    }
}

impl Report for Slowest {
    fn input(&mut self) -> Input<'_> {
        Input::Events(self)
    }

    /// The start is the time since the first process began.
    fn write_text(&self, end: &End, colour: bool, out: &mut dyn io::Write) -> io::Result<()> {
        let first = end.processes.iter().map(|process| process.start_ns).min().unwrap_or(0);
        let styles = Styles::new(colour);
        let headings = ["time", "start"].map(|title| Heading { title, width: 9 });
        let mut table = Table::new(headings.to_vec(), styles, out);
        table.head("thread, call")?;
        for (ns, exit) in &self.calls {
            let cells = [*ns, exit.call.start_ns.saturating_sub(first)].map(|ns| Cell::Time(Some(ns)));
            let function = &exit.call.function;
            let tag = tag(function.layer, &function.library, exit.call.runtime_version());
            table.row(&cells, 0, &text(exit, &styles), &tag)?;
        }
        Ok(())
    }

    /// The lines that `show --json` has.
    fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        for (_, exit) in &self.calls {
            write_json(out, &CallView::exit(exit))?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }
}

/// `7/7 cuMemAlloc_v2(dptr=&0x7f0000000000, bytesize=4096)`, and the status of a call that failed.
fn text(exit: &Exit, styles: &Styles) -> String {
    let (call, view) = (&exit.call, CallView::exit(exit));
    let mut text = format!("{}/{} {}(", call.thread.process.pid, call.thread.tid, call.function.shown());
    match view.is_described() {
        true => inputs(call, Some(exit), &mut text),
        false => words(call.args.words(), &mut text),
    }
    text.push(')');
    view.write_part(Part::Head, styles, &mut text);
    if let Some(status) = exit.status_name().filter(|_| exit.is_error()) {
        text.push_str(" = ");
        text.push_str(status);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_trace::made::{Run, tables};
    use cutap_trace::{EventReader, ReaderOptions};

    /// More calls than are listed: the longest ones, in the order of their time.
    #[test]
    fn longest_calls() {
        let folder = tempfile::tempdir().unwrap();
        let run = Run::new(folder.path());
        let mut process = run.process(100, "/bin/prog");
        process.driver(&["cuCtxSynchronize"]);
        let mut thread = process.thread(100, 8);
        for n in 1..=50u64 {
            thread.call(0, &[n], n * 7 % 50 * 1_000 + 1_000, 0);
        }
        thread.enter(0, &[99]);
        let options = ReaderOptions { tables: &tables::NOTHING, ..ReaderOptions::default() };
        let mut reader = EventReader::open(folder.path(), options).unwrap();
        let mut slowest = Slowest::default();
        reader.poll(true, &mut |event| slowest.event(event)).unwrap();
        let micros: Vec<u64> = slowest.calls.iter().map(|(ns, _)| ns / 1_000).collect();
        assert_eq!(micros, (31..=50).rev().collect::<Vec<_>>());
        let (mut text, mut json) = (Vec::new(), Vec::new());
        let end = reader.end();
        slowest.write_text(&end, false, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.starts_with("     time     start  thread, call\n     50us "), "{text}");
        assert!(text.lines().nth(1).unwrap().ends_with("  100/100 cuCtxSynchronize(7)"), "{text}");
        slowest.write_json(&mut json).unwrap();
        let first: serde_json::Value = serde_json::from_slice(json.split(|b| *b == b'\n').next().unwrap()).unwrap();
        assert_eq!((&first["name"], &first["duration_ns"]), (&"cuCtxSynchronize".into(), &50_000.into()));
    }
}
