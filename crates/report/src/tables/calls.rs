//! The table of calls, and the table of those that failed.

use super::column::{ArgumentCell, Cell, FieldType as F, Table, TableColumn, call_id};
use crate::call::columns::CallView;
use cutap_trace::{Exit, Returned};

/// A call with what follows from the calls around it.
#[derive(Clone, Copy)]
pub(crate) struct CallRow<'a> {
    pub view: CallView<'a>,
    pub times: RowTimes,
    pub range: Option<&'a str>,
    pub stream: Option<&'a str>,
    pub grid: Option<&'a str>,
    pub device: Option<u32>,
    pub bytes: Option<u64>,
    pub self_ns: Option<u64>,
    pub arguments: Option<&'a [ArgumentCell<'a>]>,
}

/// Beginnings since the start of the run and since 1970.
#[derive(Clone, Copy)]
pub(crate) struct RowTimes {
    pub start_ns: i64,
    pub time_us: i64,
}

pub(crate) struct Calls;
pub(crate) struct Errors;
type Column = TableColumn<Calls>;
type ErrorColumn = TableColumn<Errors>;

fn result<'r>(of: &'r CallRow<'_>) -> Cell<'r> {
    match of.view.exit.and_then(Exit::returned) {
        Some(Returned::Status(status)) => Cell::Integer(status.into()),
        Some(Returned::Number(word) | Returned::Word(word)) => Cell::word(word),
        _ => Cell::None,
    }
}

impl Table for Calls {
    type Row<'a> = CallRow<'a>;
    const NAME: &'static str = "calls";
    const MEANING: &'static str = "A call. Rows of a row group are sorted by `thread` and `start_ns`.";
    const COLUMNS: &'static [Column] = &[
        Column::new("id", F::Measure, "tells the call from all others of its run and rank", |r| {
            Cell::word(call_id(r.view))
        }),
        Column::new("parent", F::Measure, "`id` of the call that it was made from", |r| Cell::number(r.view.parent)),
        Column::new("pid", F::Number, "process", |r| Cell::Integer(r.view.call.thread.process.pid.into())),
        Column::new("tid", F::Number, "thread", |r| Cell::Integer(r.view.call.thread.tid.into())),
        Column::new("thread", F::Number, "number of the thread in the run, from 0", |r| {
            Cell::Integer(r.view.call.thread.key.into())
        }),
        Column::new("start_ns", F::Measure, "nanoseconds from the start of the run to its beginning", |r| {
            Cell::Integer(r.times.start_ns)
        }),
        Column::new("time", F::Timestamp, "its beginning by the wall clock, in microseconds", |r| {
            Cell::Integer(r.times.time_us)
        }),
        Column::new("duration_ns", F::Measure, "how long it took; null if it did not return", |r| {
            Cell::number(r.view.exit.and_then(|exit| exit.duration_ns))
        }),
        Column::new("self_ns", F::Measure, "`duration_ns` without the calls made from it", |r| Cell::number(r.self_ns)),
        Column::new("gpu_ns", F::Measure, "with `--gpu-time`: the GPU's work for it and the calls inside", |r| {
            Cell::number(r.view.exit.and_then(|exit| exit.gpu).map(|gpu| gpu.ns))
        }),
        Column::new("gpu_wait_ns", F::Measure, "with `--gpu-time`: from its beginning to that of the work", |r| {
            Cell::number(r.view.exit.and_then(|exit| exit.gpu).map(|gpu| gpu.wait_ns))
        }),
        Column::new("depth", F::Number, "recorded calls around it", |r| Cell::Integer(r.view.call.depth.into())),
        Column::new("layer", F::Text, "`nvtx`, `library`, `runtime`, `driver`, `hidden`, `syscall` or `submit`", |r| {
            Cell::Text(r.view.call.function.layer.name())
        }),
        Column::new("library", F::Text, "SONAME or file name of the object with the function", |r| {
            Cell::Text(&r.view.call.function.library)
        }),
        Column::new("function", F::Text, "the exported name", |r| Cell::Text(&r.view.call.function.name)),
        Column::new("caller", F::Measure, "return address; the bits of an unsigned word", |r| {
            Cell::word(r.view.call.caller)
        }),
        Column::new("caller_library", F::Text, "of hidden functions: the library that made the call", |r| {
            Cell::text(r.view.call.caller_library.as_deref())
        }),
        Column::new("file", F::Text, "with `--stack`: source file of the innermost frame that has one", |r| {
            Cell::text(source(r).map(|(file, _)| file))
        }),
        Column::new("line", F::Number, "its line", |r| Cell::number(source(r).map(|(_, line)| line.into()))),
        Column::new("range", F::Text, "the innermost range of NVTX around it", |r| Cell::text(r.range)),
        Column::new("result", F::Number, "the status or number; the bits of an unsigned word", result),
        Column::new("result_name", F::Text, "the status by name", |r| {
            Cell::text(r.view.exit.and_then(Exit::status_name))
        }),
        Column::new("failed", F::Boolean, "whether the call failed", |r| {
            Cell::Boolean(r.view.exit.is_some_and(Exit::is_error))
        }),
        Column::new("stream", F::Text, "name of the stream among the arguments", |r| Cell::text(r.stream)),
        Column::new("device", F::Number, "of the first memory among the arguments whose device is known", |r| {
            Cell::number(r.device.map(u64::from))
        }),
        Column::new("bytes", F::Number, "bytes that it allocated, copied or filled", |r| Cell::number(r.bytes)),
        Column::new("kernel", F::Text, "name of the launched kernel", |r| {
            Cell::text(r.view.kernel().map(|kernel| &**kernel))
        }),
        Column::new("grid", F::Text, "of a launch: blocks as `x,y,z`", |r| Cell::text(r.grid)),
        Column::new("state", F::Text, "`done`, `unfinished`, `unwound` or `entry_only`", |r| {
            Cell::Text(r.view.exit.map_or("entry_only", |exit| exit.state.word()))
        }),
        Column::new("returned_late", F::Boolean, "true: an earlier row has it as unwound", |r| {
            Cell::Boolean(r.view.exit.is_some_and(|exit| exit.late))
        }),
        Column::new("arguments", F::Arguments, "all arguments, with what the call wrote; null if not known", |r| {
            r.arguments.map_or(Cell::None, Cell::Arguments)
        }),
    ];
}

/// The innermost frame with a source file.
fn source<'r>(of: &'r CallRow<'_>) -> Option<(&'r str, u32)> {
    let frames = &of.view.call.stack()?.frames;
    frames.iter().find_map(|frame| frame.source.as_ref()).map(|(file, line)| (&**file, *line))
}

impl Table for Errors {
    type Row<'a> = CallRow<'a>;
    const NAME: &'static str = "errors";
    const MEANING: &'static str =
        "A call that failed. A failed call inside it has another row with this `id` as `parent`.";
    const COLUMNS: &'static [ErrorColumn] = &[
        ErrorColumn::new("id", F::Measure, "`id` in `calls`", |r| Cell::word(call_id(r.view))),
        ErrorColumn::new("parent", F::Measure, "`id` of the call that it was made from", |r| {
            Cell::number(r.view.parent)
        }),
        ErrorColumn::new("pid", F::Number, "process", |r| Cell::Integer(r.view.call.thread.process.pid.into())),
        ErrorColumn::new("tid", F::Number, "thread", |r| Cell::Integer(r.view.call.thread.tid.into())),
        ErrorColumn::new("start_ns", F::Measure, "nanoseconds from the start of the run to its beginning", |r| {
            Cell::Integer(r.times.start_ns)
        }),
        ErrorColumn::new("time", F::Timestamp, "its beginning by the wall clock, in microseconds", |r| {
            Cell::Integer(r.times.time_us)
        }),
        ErrorColumn::new("layer", F::Text, "layer of the function", |r| Cell::Text(r.view.call.function.layer.name())),
        ErrorColumn::new("library", F::Text, "its library", |r| Cell::Text(&r.view.call.function.library)),
        ErrorColumn::new("function", F::Text, "its exported name", |r| Cell::Text(&r.view.call.function.name)),
        ErrorColumn::new("result", F::Number, "the status", result),
        ErrorColumn::new("result_name", F::Text, "the status by name", |r| {
            Cell::text(r.view.exit.and_then(Exit::status_name))
        }),
        ErrorColumn::new("range", F::Text, "the innermost range of NVTX around it", |r| Cell::text(r.range)),
        ErrorColumn::new("caller", F::Measure, "return address; the bits of an unsigned word", |r| {
            Cell::word(r.view.call.caller)
        }),
    ];
}
