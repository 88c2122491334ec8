//! Tables of sums: functions and kernels, and the processes and threads that called.

use super::column::{Cell, FieldType as F, Table, TableColumn};
use cutap_trace::{Process, Thread};
use std::sync::Arc;

/// Sums of calls.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct CallSums {
    pub calls: u64,
    pub errors: u64,
    pub without_return: u64,
    pub total_ns: u64,
    pub self_ns: u64,
    pub least_ns: Option<u64>,
    pub most_ns: u64,
    pub gpu_ns: u64,
    pub gpu_rows: u64,
}

/// A function of a process, and the kernel for the table of kernels.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GroupKey {
    pub pid: u32,
    pub process: u32,
    pub layer: &'static str,
    pub library: Arc<str>,
    pub function: Arc<str>,
    pub kernel: Option<Arc<str>>,
}

pub(crate) type Group<'a> = (&'a GroupKey, &'a CallSums);

/// Calls of a thread.
#[derive(Debug, Clone)]
pub(crate) struct ThreadSums {
    pub thread: Arc<Thread>,
    pub calls: u64,
    pub first_ns: i64,
    pub last_ns: i64,
}

pub(crate) struct Functions;
pub(crate) struct Kernels;
pub(crate) struct Processes;
pub(crate) struct Threads;
pub(crate) struct Notes;

macro_rules! sums {
    ($table:ident, $($first:expr),* $(,)?) => {
        &[
            $($first,)*
            TableColumn::<$table>::new("calls", F::Number, "calls", |(_, s)| Cell::word(s.calls)),
            TableColumn::<$table>::new("errors", F::Number, "calls that failed", |(_, s)| Cell::word(s.errors)),
            TableColumn::<$table>::new("without_return", F::Number, "calls that did not return", |(_, s)| {
                Cell::word(s.without_return)
            }),
            TableColumn::<$table>::new("total_ns", F::Number, "nanoseconds of those that returned", |(_, s)| {
                Cell::word(s.total_ns)
            }),
            TableColumn::<$table>::new("self_ns", F::Number, "`total_ns` without the calls made from them", |(_, s)| {
                Cell::word(s.self_ns)
            }),
            TableColumn::<$table>::new("min_ns", F::Number, "the shortest call", |(_, s)| Cell::number(s.least_ns)),
            TableColumn::<$table>::new("max_ns", F::Number, "the longest call", |(_, s)| Cell::word(s.most_ns)),
            TableColumn::<$table>::new("gpu_ns", F::Number, "with `--gpu-time`: the GPU's work for them", |(_, s)| {
                if s.gpu_rows == 0 { Cell::None } else { Cell::word(s.gpu_ns) }
            }),
            TableColumn::<$table>::new("gpu_rows", F::Number, "with `--gpu-time`: kernels, copies and sets", |(_, s)| {
                if s.gpu_rows == 0 { Cell::None } else { Cell::word(s.gpu_rows) }
            }),
        ]
    };
}

impl Table for Functions {
    type Row<'a> = Group<'a>;
    const NAME: &'static str = "functions";
    const MEANING: &'static str = "A function of a process, with sums of its calls.";
    const COLUMNS: &'static [TableColumn<Functions>] = sums![
        Functions,
        TableColumn::<Functions>::new("pid", F::Number, "process", |(k, _)| Cell::Integer(k.pid.into())),
        TableColumn::<Functions>::new("layer", F::Text, "layer", |(k, _)| Cell::Text(k.layer)),
        TableColumn::<Functions>::new("library", F::Text, "SONAME or file name of its object", |(k, _)| Cell::Text(
            &k.library
        )),
        TableColumn::<Functions>::new("function", F::Text, "the exported name", |(k, _)| Cell::Text(&k.function)),
    ];
}

impl Table for Kernels {
    type Row<'a> = Group<'a>;
    const NAME: &'static str = "kernels";
    const MEANING: &'static str = "A kernel and a function that launched it. The driver's function has another row.";
    const COLUMNS: &'static [TableColumn<Kernels>] = sums![
        Kernels,
        TableColumn::<Kernels>::new("pid", F::Number, "process", |(k, _)| Cell::Integer(k.pid.into())),
        TableColumn::<Kernels>::new("kernel", F::Text, "demangled name", |(k, _)| Cell::text(k.kernel.as_deref())),
        TableColumn::<Kernels>::new("layer", F::Text, "layer of the function", |(k, _)| Cell::Text(k.layer)),
        TableColumn::<Kernels>::new("library", F::Text, "its library", |(k, _)| Cell::Text(&k.library)),
        TableColumn::<Kernels>::new("function", F::Text, "the function that launched it", |(k, _)| Cell::Text(
            &k.function
        )),
    ];
}

/// A process with its beginning since the start of the run, and since 1970 in microseconds.
pub(crate) type ProcessRow<'a> = (&'a Process, i64, &'a str);

impl Table for Processes {
    type Row<'a> = ProcessRow<'a>;
    const NAME: &'static str = "processes";
    const MEANING: &'static str = "A process.";
    const COLUMNS: &'static [TableColumn<Processes>] = &[
        TableColumn::<Processes>::new("pid", F::Number, "its id, as it saw it", |(p, ..)| Cell::Integer(p.pid.into())),
        TableColumn::<Processes>::new("ppid", F::Number, "its parent's id", |(p, ..)| Cell::Integer(p.ppid.into())),
        TableColumn::<Processes>::new("exe", F::Text, "path of the program", |(p, ..)| Cell::Text(&p.exe)),
        TableColumn::<Processes>::new(
            "arguments",
            F::Text,
            "the command line, a space between words",
            |(_, _, arguments)| Cell::Text(arguments),
        ),
        TableColumn::<Processes>::new("forked", F::Boolean, "a forked child that never called exec", |(p, ..)| {
            Cell::Boolean(p.forked)
        }),
        TableColumn::<Processes>::new(
            "start_ns",
            F::Measure,
            "nanoseconds from the start of the run",
            |(_, start, _)| Cell::Integer(*start),
        ),
        TableColumn::<Processes>::new(
            "time",
            F::Timestamp,
            "its beginning by the wall clock, in microseconds",
            |(p, ..)| Cell::word(p.start_realtime_ns / 1000),
        ),
    ];
}

impl Table for Threads {
    type Row<'a> = &'a ThreadSums;
    const NAME: &'static str = "threads";
    const MEANING: &'static str = "A thread that made a call.";
    const COLUMNS: &'static [TableColumn<Threads>] = &[
        TableColumn::<Threads>::new("thread", F::Number, "its number in the run", |t| {
            Cell::Integer(t.thread.key.into())
        }),
        TableColumn::<Threads>::new("pid", F::Number, "its process", |t| Cell::Integer(t.thread.process.pid.into())),
        TableColumn::<Threads>::new("tid", F::Number, "its id", |t| Cell::Integer(t.thread.tid.into())),
        TableColumn::<Threads>::new("name", F::Text, "its name, if not that of the program", |t| {
            Cell::text(t.thread.name.as_deref())
        }),
        TableColumn::<Threads>::new("calls", F::Number, "its calls", |t| Cell::word(t.calls)),
        TableColumn::<Threads>::new("first_ns", F::Measure, "beginning of the first call", |t| {
            Cell::Integer(t.first_ns)
        }),
        TableColumn::<Threads>::new("last_ns", F::Measure, "beginning of the last call", |t| Cell::Integer(t.last_ns)),
    ];
}

impl Table for Notes {
    type Row<'a> = &'a str;
    const NAME: &'static str = "notes";
    const MEANING: &'static str = "What was not seen or not understood, as `cutap report --notes` has it.";
    const COLUMNS: &'static [TableColumn<Notes>] =
        &[TableColumn::<Notes>::new("note", F::Text, "the sentence, with the lines below it", |note| Cell::Text(note))];
}
