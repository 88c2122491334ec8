//! `report --slowest`: the calls that took longest, each with its arguments, the longest first. A call inside another
//! one of the list stands below it. Start-up is left out: calls that start the driver or make a context, and calls that
//! spend a quarter of their time in those.

use super::{EventSink, Input, Kind, Report, Takes};
use crate::arguments::{inputs, words};
use crate::fields::{CallView, Part};
use crate::json_writer::write_json;
use crate::label::{library_of, tag};
use crate::open_calls::OpenCalls;
use crate::shape::shorten;
use crate::style::Styles;
use crate::table::{Cell, Heading, Table};
use crate::tables::NO_CALL;
use crate::text_format::TextFormat;
use crate::units::time;
use cutap_calls::{Role, has_role};
use cutap_trace::{Call, End, Event, Exit, Function};
use std::collections::{BTreeSet, HashMap};
use std::io;

pub(super) const KIND: Kind = Kind {
    flag: "slowest",
    help: "The 20 calls that took longest, with their arguments",
    value: Takes::Nothing,
    new: |_| Box::new(Slowest::default()),
};

/// Calls that are listed.
const LISTED: usize = 20;

/// Functions that start the driver, or make what is made once.
const START_UP: [Role; 6] = [
    Role::StartUp,
    Role::ProcAddress,
    Role::ExportTable,
    Role::NvmlExportTable,
    Role::CreatesContext,
    Role::RetainsPrimaryContext,
];

#[derive(Default)]
struct Slowest {
    /// The longest calls so far; of equal ones the first.
    calls: Vec<Slow>,
    open: OpenCalls,
    /// Of each thread, by depth: the nanoseconds of start-up calls inside the open call.
    starting: HashMap<u32, Vec<u64>>,
    /// Lists start-up calls too.
    all: bool,
    /// Start-up calls, and the nanoseconds of those that start something themselves, each moment once.
    left_out: (u64, u64),
    /// How the lines of calls are written.
    format: TextFormat,
    /// Processes and threads that made calls.
    processes: BTreeSet<u32>,
    threads: BTreeSet<u32>,
}

/// A call of the list.
struct Slow {
    ns: u64,
    exit: Exit,
    /// The calls around it, the outermost first.
    around: Vec<Call>,
}

fn starts(function: &Function) -> bool {
    START_UP.into_iter().any(|role| has_role(function.name.as_bytes(), role))
}

impl Slowest {
    fn exit(&mut self, exit: &Exit) {
        self.open.exit(exit);
        let call = &exit.call;
        self.threads.insert(call.thread.key);
        self.processes.insert(call.thread.process.key);
        let Some(ns) = exit.duration_ns else { return };
        let depth = self.open.around(call.thread.key).count();
        if self.is_start_up(exit, ns, depth) {
            self.left_out.0 += 1;
            let mut around = self.open.around(call.thread.key);
            let counts = starts(&call.function) && !around.any(|call| starts(&call.function));
            self.left_out.1 += if counts { ns } else { 0 };
            if !self.all {
                return;
            }
        }
        let place = self.calls.partition_point(|slow| slow.ns >= ns);
        if place < LISTED {
            let around = self.open.around(call.thread.key).cloned().collect();
            self.calls.insert(place, Slow { ns, exit: exit.clone(), around });
            self.calls.truncate(LISTED);
        }
    }

    /// Whether a call belongs to start-up, by itself or by the calls inside it. `depth` is the number of calls around.
    fn is_start_up(&mut self, exit: &Exit, ns: u64, depth: usize) -> bool {
        let starting = self.starting.entry(exit.call.thread.key).or_default();
        let inside = starting.get(depth).copied().unwrap_or(0);
        starting.resize(depth, 0);
        let itself = starts(&exit.call.function);
        if let Some(around) = starting.last_mut() {
            *around += if itself { ns } else { inside };
        }
        itself || inside > ns / 4
    }

    /// The calls in the order of the text, with the number of listed calls around each.
    fn nested(&self) -> Vec<(usize, &Slow)> {
        let mut lines: Vec<(usize, &Slow)> = Vec::new();
        let is_listed = |call: &&Call| self.calls.iter().any(|slow| slow.exit.call.is(call));
        // A call around another one took longer, so it is in the list already.
        for slow in &self.calls {
            let around: Vec<_> = slow.around.iter().filter(is_listed).collect();
            let at = around.last().and_then(|call| lines.iter().position(|(_, of)| of.exit.call.is(call)));
            let Some(at) = at else {
                lines.push((0, slow));
                continue;
            };
            let level = lines.get(at).map_or(0, |(level, _)| level + 1);
            let behind = lines.iter().skip(at + 1).take_while(|(of, _)| *of >= level).count();
            lines.insert(at + 1 + behind, (level, slow));
        }
        lines
    }
}

impl EventSink for Slowest {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Enter(call) => self.open.enter(call),
            Event::Exit(exit) => self.exit(exit),
            _ => {}
        }
    }
}

impl Report for Slowest {
    fn input(&mut self) -> Input<'_> {
        Input::Events(self)
    }

    fn all(&mut self) -> bool {
        self.all = true;
        true
    }

    fn lines(&mut self, format: TextFormat) {
        self.format = format;
    }

    fn nothing(&self) -> Option<&'static str> {
        (self.calls.is_empty() && self.left_out.0 == 0).then_some(NO_CALL)
    }

    /// The start is the time since the first process began.
    fn write_text(&self, end: &End, colour: bool, out: &mut dyn io::Write) -> io::Result<()> {
        let first = end.processes.iter().map(|process| process.start_ns).min().unwrap_or(0);
        let styles = Styles::new(colour);
        let (processes, threads) = (self.processes.len() > 1, self.threads.len() > 1);
        let who = [("process", processes), ("thread", threads)];
        let who = who.into_iter().filter_map(|(title, is_shown)| is_shown.then_some(title));
        let headings = ["time", "start"].into_iter().chain(who).map(|title| Heading { title, width: 9 });
        let headings: Vec<Heading> = headings.collect();
        // A space follows each column, and one more is before the call.
        let before = headings.iter().map(|heading| heading.width + 1).sum::<usize>() + 1;
        let mut table = Table::new(headings, styles, out);
        let lines = self.nested();
        let below = if lines.iter().any(|(level, _)| *level > 0) { "; calls inside it are below it" } else { "" };
        table.head(&format!("call{below}"))?;
        for (level, Slow { ns, exit, .. }) in lines {
            let thread = &exit.call.thread;
            let times = [*ns, exit.call.start_ns.saturating_sub(first)].map(|ns| Cell::Time(Some(ns)));
            let who = [(processes, thread.process.pid), (threads, thread.tid)];
            let who = who.into_iter().filter_map(|(is_shown, id)| is_shown.then_some(Cell::Count(id.into())));
            let cells: Vec<Cell> = times.into_iter().chain(who).collect();
            let tag = tag(exit.call.function.layer, library_of(&exit.call), exit.call.runtime_version());
            let taken = before + 2 * level + tag.chars().count();
            let width = self.format.width.map(|width| width.saturating_sub(taken));
            let format = TextFormat { width, ..self.format };
            table.row(&cells, 2 * level, &text(exit, &styles, &format), &tag)?;
        }
        match self.left_out {
            _ if self.all => Ok(()),
            (0, _) => Ok(()),
            (1, ns) => table.line(&format!("1 start-up call, {}, is left out: --all shows it", time(ns))),
            (n, ns) => table.line(&format!("{n} start-up calls, {} in all, are left out: --all shows them", time(ns))),
        }
    }

    /// The lines that `show --json` has.
    fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        for Slow { exit, .. } in &self.calls {
            write_json(out, &CallView::exit(exit))?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }
}

/// `cuMemAlloc_v2(dptr=&0x7f0000000000, bytesize=4096)`, and the status of a call that failed.
fn text(exit: &Exit, styles: &Styles, format: &TextFormat) -> String {
    let (call, view) = (&exit.call, CallView::exit(exit));
    let mut text = format!("{}(", call.function.shown());
    match view.is_described() {
        true => inputs(call, Some(exit), &mut text),
        false => words(call.args.words(), &mut text),
    }
    text.push(')');
    view.write_part(Part::Head, styles, &mut text);
    let status_at = text.len();
    if let Some(status) = exit.status_name().filter(|_| exit.is_error()) {
        text.push_str(" = ");
        text.push_str(status);
    }
    shorten(&mut text, Some(status_at), format);
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
        let micros: Vec<u64> = slowest.calls.iter().map(|slow| slow.ns / 1_000).collect();
        assert_eq!(micros, (31..=50).rev().collect::<Vec<_>>());
        let (mut text, mut json) = (Vec::new(), Vec::new());
        let end = reader.end();
        slowest.write_text(&end, false, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.starts_with("     time     start  call\n     50us "), "{text}");
        assert!(text.lines().nth(1).unwrap().ends_with("  cuCtxSynchronize(7)"), "{text}");
        slowest.lines(TextFormat { width: Some(40), ..TextFormat::default() });
        let mut cut = Vec::new();
        slowest.write_text(&end, false, &mut cut).unwrap();
        let cut = String::from_utf8(cut).unwrap();
        assert!(cut.lines().nth(2).unwrap().ends_with("  cuCtxSynchronize(1…"), "{cut}");
        assert!(cut.lines().skip(1).all(|line| line.chars().count() <= 40), "{cut}");
        slowest.write_json(&mut json).unwrap();
        let first: serde_json::Value = serde_json::from_slice(json.split(|b| *b == b'\n').next().unwrap()).unwrap();
        assert_eq!((&first["name"], &first["duration_ns"]), (&"cuCtxSynchronize".into(), &50_000.into()));
    }
}
