//! `show --csv`: comma-separated values, a row for each call that has ended, and a header.

use crate::Output;
use crate::call::arguments::{inputs, words};
use crate::call::call_json::column_text;
use crate::call::columns::{CallColumn, CallView, call_column};
use crate::format::csv::quoted;
use crate::nesting::nest::Nest;
use cutap_trace::{Call, End, Event, EventVisitor, Exit, printable};
use std::io;

/// The columns, in their order here.
const NAMES: [&str; 19] = [
    "run",
    "rank",
    "id",
    "parent",
    "pid",
    "tid",
    "depth",
    "layer",
    "library",
    "runtime",
    "name",
    "kernel",
    "stream",
    "start_ns",
    "duration_ns",
    "result",
    "result_name",
    "error",
    "state",
];
/// Behind them: the arguments as lines of text have them.
const ARGUMENTS: &str = "arguments";

/// A row for each call.
#[derive(Debug)]
pub struct CallRows<W> {
    out: W,
    columns: Vec<&'static CallColumn>,
    nest: Nest,
    line: String,
    has_header: bool,
}

impl<W: io::Write> CallRows<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> CallRows<W> {
        let columns = NAMES.into_iter().filter_map(call_column).collect();
        CallRows { out, columns, nest: Nest::default(), line: String::new(), has_header: false }
    }

    fn header(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.has_header, true) {
            true => Ok(()),
            false => writeln!(self.out, "{},{ARGUMENTS}", NAMES.join(",")),
        }
    }

    fn row(&mut self, view: CallView<'_>) -> io::Result<()> {
        self.header()?;
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        for column in &self.columns {
            line.push_str(&quoted(&printable(&column_text(column, view))));
            line.push(',');
        }
        let mut arguments = String::new();
        match view.is_described() {
            true => inputs(view.call, view.exit, &mut arguments),
            false => words(view.call.args.words(), &mut arguments),
        }
        line.push_str(&quoted(&printable(&arguments)));
        line.push('\n');
        self.line = line;
        self.out.write_all(self.line.as_bytes())
    }
}

impl<W: io::Write> EventVisitor<io::Result<()>> for CallRows<W> {
    fn enter(&mut self, call: &Call) -> io::Result<()> {
        self.nest.enter(call);
        Ok(())
    }

    fn enter_without_exit(&mut self, call: &Call) -> io::Result<()> {
        let parent = self.nest.innermost(call.thread.key);
        self.row(CallView::enter(call).inside(parent))
    }

    fn exit(&mut self, exit: &Exit) -> io::Result<()> {
        let parent = self.nest.exit(&exit.call);
        self.row(CallView::exit(exit).inside(parent))
    }
}

impl<W: io::Write + Send> Output for CallRows<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        event.visit(self)
    }

    fn tick(&mut self, _now: u64) -> io::Result<()> {
        self.out.flush()
    }

    fn end(&mut self, end: &End) -> io::Result<()> {
        self.header()?;
        end.unfinished.iter().try_for_each(|exit| self.exit(exit))?;
        self.out.flush()
    }
}
