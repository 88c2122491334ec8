//! The questions that `cutap report` answers. A report is one file here and one line in `reports!` below: the command
//! line, its help and the reading of the run follow from the list.

use crate::call_text::text_format::TextFormat;
use crate::resources::baseline::{Baseline, ProblemKey, ProblemSize};
use crate::statistics::rows::Rows;
use cutap_trace::{
    CallSink, CountedFunction, End, Event, EventVisitor, Filter, FinishedCall, FinishedRun, Function, Instance,
    SelectedCalls, TimeWindow, WorkRows,
};
use std::borrow::Cow;
use std::io;
use std::sync::Arc;

/// Declares the modules, and lists their `KIND`s in this order.
macro_rules! reports {
    ($($module:ident),* $(,)?) => {
        $(mod $module;)*
        /// All reports, in the order of the help. The first one is the answer to no question.
        pub const REPORTS: &[&ReportKind] = &[$(&$module::KIND),*];
    };
}

reports! {
    by,
    tree,
    callers,
    errors,
    blocking,
    slowest,
    leaks,
    allocations,
    gaps,
    copies,
    graphs,
    collectives,
    undecoded,
    folded,
}

mod gpu_kernels;
mod pool_rows;
mod ranges;
mod selected_ranges;
mod steps;

pub use allocations::{AllocationPlace, Allocations, HeldStep};

/// `report --by kernel` of a run with GPU time.
pub fn gpu_kernels() -> Box<dyn Report> {
    Box::new(gpu_kernels::GpuKernels::default())
}

/// The headings of the columns of all reports by which `--sort` can sort.
pub fn all_sort_columns() -> Vec<&'static str> {
    let mut columns = Vec::new();
    for column in REPORTS.iter().flat_map(|kind| (kind.new)("").sort_columns()) {
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    columns
}

/// A report as the command line has it.
#[derive(Debug)]
pub struct ReportKind {
    /// The long flag, without its dashes.
    pub flag: &'static str,
    /// One line of help.
    pub help: &'static str,
    pub value: Takes,
    /// Begins a report with the value of the flag; "" if it has none.
    pub new: fn(&str) -> Box<dyn Report>,
}

/// The value that a flag takes.
#[derive(Debug, Clone, Copy)]
pub enum Takes {
    /// None.
    Nothing,
    /// Any text but an empty one.
    Text(&'static str),
    /// One of these words.
    OneOf(&'static str, &'static [&'static str]),
    /// One of these words, after `=`. Without a value it is the first word.
    Optional(&'static str, &'static [&'static str]),
}

/// The answer to a question about a run. It gets calls or events first, and is written when all were read.
pub trait Report {
    /// How the run is read.
    fn input(&mut self) -> Input<'_>;
    /// Reads the run a second time for the stacks that it keeps. None: the report has no place for them.
    fn stacks(&mut self) -> Option<&mut dyn EventSink> {
        None
    }
    /// Reads the run a second time for calls that the first time has selected. None: it needs no second time.
    fn selected(&mut self) -> Option<(SelectedCalls, &mut dyn EventSink)> {
        None
    }
    /// Takes the rows that are wanted. False: the report has no such rows.
    fn rows(&mut self, _: Rows) -> bool {
        false
    }
    /// The headings of the columns by which `--sort` can sort its rows.
    fn sort_columns(&self) -> Vec<&'static str> {
        Vec::new()
    }
    /// Lists what it leaves out otherwise, if it leaves something out.
    fn all(&mut self) {}
    /// Takes the form of lines that are calls with arguments. Reports without such lines need none.
    fn lines(&mut self, _: TextFormat) {}
    /// The sentence that is written instead of the text if there is nothing to list.
    fn nothing(&self) -> Option<Cow<'static, str>> {
        None
    }
    /// Whether it writes times, which are those of the host.
    fn has_times(&self) -> bool {
        false
    }
    /// Whether it is about the speed of the GPU: a line with its clocks follows.
    fn has_gpu_speed(&self) -> bool {
        false
    }
    /// Takes a function whose calls were only counted.
    fn counted(&mut self, _: &CountedFunction) {}
    /// Whether the answer includes calls that were only counted. If not, the command prints their number.
    fn has_counted(&self) -> bool {
        false
    }
    /// Whether it reads all calls of a run that was made with a filter: it follows resources from call to call.
    fn reads_all(&self) -> bool {
        false
    }
    /// Takes the time of `--from` and `--to`, if it reads all calls. For others, the filter leaves out the rest.
    fn during(&mut self, _: TimeWindow) {}
    /// Reads the run a second time, for the calls that the filter selects: the first time it gets all calls, and it
    /// lists what belongs to these. None: the filter is for the first time.
    fn filtered(&mut self, _: &Filter) -> Option<&mut dyn EventSink> {
        None
    }
    /// The problems that it lists, with their numbers. Only those that list problems have some.
    fn problem_keys(&self) -> Vec<(ProblemKey, ProblemSize)> {
        Vec::new()
    }
    /// Leaves out problems that an older run has as often.
    fn leave_out(&mut self, _: Baseline) {}
    /// Whether it got a call. Only those that list problems know.
    fn has_calls(&self) -> bool {
        true
    }
    /// How many problems it found, for who only wants to know whether there is one. None: it lists no problems.
    fn problems(&self) -> Option<u64> {
        None
    }
    /// Whether the run must have GPU times: it gets them before the calls.
    fn needs_gpu_times(&self) -> bool {
        false
    }
    /// Takes them.
    fn gpu_times(&mut self, _: &WorkRows<'_>) {}
    /// Takes what is known of each run at its end.
    fn run_ends(&mut self, _: &[FinishedRun]) {}
    /// Whether the run must have stacks.
    fn needs_stacks(&self) -> bool {
        false
    }
    /// Why there is no answer. `run` is the name of the run.
    fn refusal(&self, _run: &str) -> Option<String> {
        None
    }
    /// Whether notes on missing calls follow the text. They do, unless the text has them.
    fn has_notes(&self) -> bool {
        true
    }
    /// Writes the answer for people.
    fn write_text(&self, end: &End, colour: bool, out: &mut dyn io::Write) -> io::Result<()>;
    /// Writes the answer as JSON lines. The line of `end` follows.
    fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()>;
}

/// The reader that a report needs.
pub enum Input<'a> {
    /// Calls without arguments, in the order of threads. This is fast.
    Calls(&'a mut dyn CallSink),
    /// Events with arguments, in the order of time.
    Events(&'a mut dyn EventSink),
}

/// Calls that a report does not look at: it lists rows of GPU time alone.
#[derive(Debug, Default)]
struct IgnoredCalls;

impl CallSink for IgnoredCalls {
    fn enter(&mut self, _: u32, _: &Arc<Function>) -> u32 {
        0
    }
    fn exit(&mut self, _: &FinishedCall<'_>) {}
    fn function_instance(&mut self, _: &Arc<Function>, _: &Arc<Instance>) {}
}

/// A consumer of events.
pub trait EventSink {
    /// Takes one event.
    fn event(&mut self, event: &Event);
}

impl<V: EventVisitor> EventSink for V {
    fn event(&mut self, event: &Event) {
        event.visit(self);
    }
}
