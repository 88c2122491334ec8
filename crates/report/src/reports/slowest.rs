//! `report --slowest`: the calls that took longest, each with its arguments, the longest first. A call inside another
//! one of the list stands below it. Start-up is left out: calls that start the driver or make a context, and calls that
//! spend a quarter of their time in those. The run is read twice: the first time adds nothing up but selects the calls,
//! the second one decodes these.

use super::{EventSink, Input, Report, ReportKind, Takes};
use crate::call::arguments::{inputs, words};
use crate::call::call_json::CallLines;
use crate::call::columns::{CallView, Part};
use crate::format::json_writer::write_line;
use crate::nesting::call_place::{CallPlace, place_of};
use crate::format::label::{library_of, tag};
use crate::nesting::nest::id;
use crate::nesting::open_calls::OpenCalls;
use crate::nesting::source_line::line_of;
use crate::statistics::rows::{Rows, SortKey, headings};
use crate::call_text::launch::Launch;
use crate::call_text::shape::{Marks, shorten};
use crate::format::style::Styles;
use crate::statistics::table::{Cell, Heading, Table};
use crate::statistics::tables::NO_CALL;
use crate::call_text::text_format::TextFormat;
use crate::format::units::time;
use cutap_calls::Role;
use cutap_trace::{
    Call, CallSink, End, EventVisitor, Exit, FinishedCall, Function, Instance, SelectedCalls, Stack, State, Thread,
};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::io;
use std::sync::Arc;

pub(super) const KIND: ReportKind = ReportKind {
    flag: "slowest",
    help: "The 20 calls that took longest, with their arguments; --top N for another number",
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

struct Slowest {
    /// Calls that are listed at most.
    listed: usize,
    /// The order of the listed calls.
    rows: Rows,
    selection: Selection,
    decoded: Decoded,
    /// How the lines of calls are written.
    format: TextFormat,
}

impl Default for Slowest {
    fn default() -> Slowest {
        let (selection, decoded, format) = Default::default();
        Slowest { listed: LISTED, rows: Rows::default(), selection, decoded, format }
    }
}

/// Selects the longest calls.
#[derive(Default)]
struct Selection {
    /// The number of calls to select.
    listed: usize,
    /// The longest calls so far, of equal ones the first.
    longest: BinaryHeap<Reverse<Candidate>>,
    calls: u64,
    /// Open calls of the ring that is read, by depth.
    open: Vec<OpenStart>,
    /// Whether a function starts something, by its key.
    starts: Vec<Option<bool>>,
    /// Lists start-up calls too.
    all: bool,
    /// Start-up calls, and the nanoseconds of those that start something themselves, each moment once.
    left_out: (u64, u64),
    /// Threads that made calls. The last one has made most of the next calls, too.
    threads: HashMap<u32, Arc<Thread>>,
    last_thread: Option<u32>,
}

/// An open call.
#[derive(Clone, Copy)]
struct OpenStart {
    /// It starts something itself.
    starts: bool,
    /// Nanoseconds of start-up calls inside it.
    inside_ns: u64,
}

/// A call that may be one of the longest.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    ns: u64,
    /// Of equal ones the first is listed.
    nth: Reverse<u64>,
    thread: u32,
    number: u32,
}

/// The selected calls with their arguments.
#[derive(Default)]
struct Decoded {
    places: HashSet<CallPlace>,
    open_calls: OpenCalls,
    calls: Vec<Slow>,
}

/// A call of the list.
struct Slow {
    ns: u64,
    exit: Exit,
    /// The calls around it, the outermost first.
    outer_calls: Vec<Call>,
}

impl Selection {
    fn starts(&mut self, function: &Function) -> bool {
        let key = function.key as usize;
        if key >= self.starts.len() {
            self.starts.resize(key + 1, None);
        }
        let is_start_up = || START_UP.into_iter().any(|role| function.roles.has(role));
        self.starts.get_mut(key).is_some_and(|known| *known.get_or_insert_with(is_start_up))
    }

    fn thread(&mut self, thread: &Arc<Thread>) {
        if self.last_thread != Some(thread.key) {
            self.last_thread = Some(thread.key);
            self.threads.entry(thread.key).or_insert_with(|| thread.clone());
        }
    }

    /// Whether a call that returned belongs to start-up, by itself or by the calls inside it. Its place is its depth,
    /// from 1 on.
    fn is_start_up(&mut self, ns: u64, place: u32) -> bool {
        let depth = (place as usize).saturating_sub(1);
        let Some(OpenStart { starts, inside_ns }) = self.open.get(depth).copied() else { return false };
        self.open.truncate(depth);
        if let Some(around) = self.open.last_mut() {
            around.inside_ns += if starts { ns } else { inside_ns };
        }
        let is_start_up = starts || inside_ns > ns / 4;
        if is_start_up {
            let counts = starts && !self.open.iter().any(|around| around.starts);
            self.left_out = (self.left_out.0 + 1, self.left_out.1 + if counts { ns } else { 0 });
        }
        is_start_up
    }

    fn add(&mut self, ns: u64, done: &FinishedCall<'_>) {
        let is_full = self.longest.len() >= self.listed;
        if is_full && self.longest.peek().is_none_or(|Reverse(least)| ns <= least.ns) {
            return;
        }
        let (nth, thread, number) = (Reverse(self.calls), done.thread.key, done.number);
        self.longest.push(Reverse(Candidate { ns, nth, thread, number }));
        if is_full {
            self.longest.pop();
        }
    }

    /// The folder, thread and number of each selected call.
    fn selected(&self) -> HashSet<CallPlace> {
        let of = |Reverse(candidate): &Reverse<Candidate>| {
            let thread = self.threads.get(&candidate.thread)?;
            Some(place_of(thread, candidate.number))
        };
        self.longest.iter().filter_map(of).collect()
    }
}

impl CallSink for Selection {
    fn enter(&mut self, place: u32, function: &Arc<Function>) -> u32 {
        if function.range.is_some() {
            return place;
        }
        let starts = self.starts(function);
        self.open.truncate(place as usize);
        self.open.push(OpenStart { starts, inside_ns: 0 });
        self.open.len() as u32
    }

    fn exit(&mut self, done: &FinishedCall<'_>) {
        // Ranges of NVTX are no calls.
        if done.function.range.is_some() {
            return;
        }
        self.calls += u64::from(!done.late);
        self.thread(done.thread);
        let Some(ns) = done.took_ns else { return };
        // A call that hangs is of interest in start-up too.
        let is_start_up = done.state == State::Returned && self.is_start_up(ns, done.place);
        if self.all || !is_start_up {
            self.add(ns, done);
        }
    }

    fn ring_ends(&mut self) {
        self.open.clear();
    }

    fn function_instance(&mut self, _: &Arc<Function>, _: &Arc<Instance>) {}
}

impl EventVisitor for Decoded {
    fn enter(&mut self, call: &Call) {
        self.open_calls.enter(call);
    }

    fn exit(&mut self, exit: &Exit) {
        self.open_calls.exit(exit);
        let thread = &exit.call.thread;
        let place = place_of(thread, exit.call.number());
        if let Some(ns) = exit.took_ns().filter(|_| self.places.contains(&place)) {
            let outer_calls = self.open_calls.open_calls(thread.key).cloned().collect();
            self.calls.push(Slow { ns, exit: exit.clone(), outer_calls });
        }
    }
}

impl Slow {
    /// Its stack, or that of the innermost call around it that has one.
    fn stack(&self) -> Option<&Stack> {
        [&self.exit.call].into_iter().chain(self.outer_calls.iter().rev()).find_map(Call::stack)
    }
}

impl Slowest {
    /// The listed calls, the longest first.
    fn listed(&self) -> Vec<&Slow> {
        let mut calls: Vec<&Slow> = self.decoded.calls.iter().collect();
        calls.sort_by_key(|slow| (Reverse(slow.ns), slow.exit.call.start_ns));
        calls.truncate(self.listed);
        self.rows.apply(&mut calls, &sort_keys());
        calls
    }

    /// The calls in the order of the text, with the number of listed calls around each.
    fn nested(&self) -> Vec<(usize, &Slow)> {
        let calls = self.listed();
        let key = |call: &Call| (call.thread.key, call.number());
        let places: HashMap<_, usize> = calls.iter().enumerate().map(|(n, slow)| (key(&slow.exit.call), n)).collect();
        let (mut roots, mut inside) = (Vec::new(), vec![Vec::new(); calls.len()]);
        for (n, slow) in calls.iter().enumerate() {
            let outer_place = slow.outer_calls.iter().rev().find_map(|call| places.get(&key(call)));
            match outer_place.and_then(|outer_place| inside.get_mut(*outer_place)) {
                Some(inside) => inside.push(n),
                None => roots.push(n),
            }
        }
        let (mut lines, mut rest) = (Vec::new(), roots.into_iter().rev().map(|n| (0, n)).collect::<Vec<_>>());
        while let Some((level, n)) = rest.pop() {
            lines.extend(calls.get(n).map(|slow| (level, *slow)));
            rest.extend(inside.get(n).into_iter().flatten().rev().map(|inner| (level + 1, *inner)));
        }
        lines
    }
}

/// The columns by which `--sort` can sort. `start` puts the earliest call first.
fn sort_keys<'a>() -> [SortKey<&'a Slow>; 2] {
    [("time", |slow| slow.ns), ("start", |slow| u64::MAX - slow.exit.call.start_ns)]
}

impl Report for Slowest {
    fn input(&mut self) -> Input<'_> {
        self.selection.listed = self.listed;
        Input::Calls(&mut self.selection)
    }

    fn selected(&mut self) -> Option<(SelectedCalls, &mut dyn EventSink)> {
        self.decoded.places = self.selection.selected();
        let mut selected = SelectedCalls::default();
        self.decoded.places.iter().for_each(|(_, folder, _, number)| selected.add(folder, *number));
        (!self.decoded.places.is_empty()).then_some((selected, &mut self.decoded))
    }

    fn rows(&mut self, rows: Rows) -> bool {
        self.listed = rows.top.unwrap_or(LISTED);
        self.rows = rows;
        rows.depth.is_none()
    }
    fn sort_columns(&self) -> Vec<&'static str> {
        headings(&sort_keys())
    }

    fn all(&mut self) {
        self.selection.all = true;
    }

    fn lines(&mut self, format: TextFormat) {
        self.format = format;
    }

    fn nothing(&self) -> Option<Cow<'static, str>> {
        (self.selection.calls == 0).then(|| NO_CALL.into())
    }

    /// The start is the time since the first process began.
    fn write_text(&self, end: &End, colour: bool, out: &mut dyn io::Write) -> io::Result<()> {
        let first = end.processes.all.iter().map(|process| process.start_ns).min().unwrap_or(0);
        let styles = Styles::new(colour);
        let threads = &self.selection.threads;
        let processes: HashSet<u32> = threads.values().map(|thread| thread.process.key).collect();
        let (processes, threads) = (processes.len() > 1, threads.len() > 1);
        let columns = [("process", processes), ("thread", threads)];
        let titles = columns.into_iter().filter_map(|(title, is_shown)| is_shown.then_some(title));
        let headings = ["time", "start"].into_iter().chain(titles).map(|title| Heading { title, width: 9 });
        let headings: Vec<Heading> = headings.collect();
        // A space follows each column, and one more is before the call.
        let before = headings.iter().map(|heading| heading.width + 1).sum::<usize>() + 1;
        let mut table = Table::new(headings, styles, out);
        let lines = self.nested();
        let below = if lines.iter().any(|(level, _)| *level > 0) { "; calls inside it are below it" } else { "" };
        table.head(&format!("call{below}"))?;
        for (level, slow @ Slow { ns, exit, .. }) in lines {
            let thread = &exit.call.thread;
            let times = [*ns, exit.call.start_ns.saturating_sub(first)].map(|ns| Cell::Time(Some(ns)));
            let ids = [(processes, thread.process.pid), (threads, thread.tid)];
            let id_cells = ids.into_iter().filter_map(|(is_shown, id)| is_shown.then_some(Cell::Count(id.into())));
            let cells: Vec<Cell> = times.into_iter().chain(id_cells).collect();
            let tag = tag(exit.call.function.layer, library_of(&exit.call), exit.call.runtime_version());
            let used_columns = before + 2 * level + tag.chars().count();
            let width = self.format.width.map(|width| width.saturating_sub(used_columns));
            let format = TextFormat { width, ..self.format };
            let run = thread.process.run.as_ref().map_or_else(String::new, |run| format!("{run}: "));
            table.row(&cells, 2 * level, &format!("{run}{}", text(exit, &styles, &format)), &tag)?;
            let line = slow.stack().and_then(line_of);
            line.map_or(Ok(()), |line| table.line(&format!("{:1$}in {2}", "", used_columns, line.short())))?;
        }
        match self.selection.left_out {
            _ if self.selection.all => Ok(()),
            (0, _) => Ok(()),
            (1, ns) => table.line(&format!("1 start-up call, {}, is left out: --all shows it", time(ns))),
            (n, ns) => table.line(&format!("{n} start-up calls, {} in all, are left out: --all shows them", time(ns))),
        }
    }

    /// The lines that `show --json` has.
    fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let (mut calls, mut line) = (CallLines::default(), Vec::new());
        for Slow { exit, outer_calls: around, .. } in self.listed() {
            line.clear();
            calls.write(CallView::exit(exit).inside(around.last().map(id)), &mut line);
            line.push(b'\n');
            write_line(&line, out)?;
        }
        Ok(())
    }
}

/// `cuMemAlloc_v2(dptr=&0x7f0000000000, bytesize=4096)`, and the status of a call that failed.
fn text(exit: &Exit, styles: &Styles, format: &TextFormat) -> String {
    let (call, view) = (&exit.call, CallView::exit(exit));
    let (mut text, mut marks) = (call.function.display_name().to_owned(), Marks::default());
    if let Some(launch) = Launch::of(call) {
        marks = launch.write(view, false, styles.kernel, &mut text);
    } else {
        text.push('(');
        match view.is_described() {
            true => inputs(call, Some(exit), &mut text),
            false => words(call.args.words(), &mut text),
        }
        text.push(')');
        view.write_part(Part::Head, styles, &mut text);
    }
    marks.result = Some(text.len());
    if exit.state == State::Unfinished {
        text.push_str(" did not return");
    }
    if let Some(status) = exit.status_name().filter(|_| exit.is_error()) {
        text.push_str(" = ");
        text.push_str(status);
    }
    shorten(&mut text, marks, format);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_trace::synthetic::{Run, tables};
    use cutap_trace::{Aggregator, EventReader, Filter, ReaderOptions};

    /// Calls of a ring that are listed, although no other one is decoded between them.
    #[test]
    fn few_of_many_calls() {
        let folder = tempfile::tempdir().unwrap();
        let run = Run::new(folder.path());
        let mut process = run.process_with_chunks(100, "/bin/prog", 1 << 18);
        process.driver(&["cuCtxSynchronize"]);
        let mut thread = process.thread(100, 64);
        let long = [3, 40_000, 79_999];
        (0..80_000).for_each(|n| thread.call(0, &[n], if long.contains(&n) { 1_000_000 + n } else { 100 }, 0));
        let mut slowest = Slowest { listed: 3, ..Slowest::default() };
        let Input::Calls(sink) = slowest.input() else { panic!() };
        Aggregator::open(folder.path(), &Filter::default()).unwrap().run(sink);
        let (only, sink) = slowest.selected().unwrap();
        let options = ReaderOptions { only: Some(only), ..ReaderOptions::default() };
        EventReader::open(folder.path(), options).unwrap().poll(true, &mut |event| sink.event(event)).unwrap();
        let found: Vec<u64> = slowest.listed().iter().map(|slow| slow.ns - 1_000_000).collect();
        assert_eq!(found, [79_999, 40_000, 3]);
    }

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
        let mut slowest = Slowest::default();
        let Input::Calls(sink) = slowest.input() else { panic!() };
        Aggregator::open(folder.path(), &Filter::default()).unwrap().run(sink);
        let (only, sink) = slowest.selected().unwrap();
        let mut reader = EventReader::open(folder.path(), ReaderOptions { only: Some(only), ..options }).unwrap();
        let mut events = 0;
        reader.poll(true, &mut |event| {
            events += usize::from(matches!(event, cutap_trace::Event::Exit(_)));
            sink.event(event);
        }).unwrap();
        assert_eq!(events, 20, "calls that are not listed are not decoded");
        let micros: Vec<u64> = slowest.listed().iter().map(|slow| slow.ns / 1_000).collect();
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
