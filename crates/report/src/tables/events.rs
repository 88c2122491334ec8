//! Tables of things that calls make or show: rows of GPU time, allocations, ranges, collectives.

use super::column::{Cell, FieldType as F, Table, TableColumn};
use cutap_calls::gpu_time::copy_kind;
use cutap_trace::GpuRow;
use cutap_wire::rows::{GraphPlace, RowContent};

/// A row of GPU time with its beginning since the start of the run, its wall time, its length and its grid.
#[derive(Clone, Copy)]
pub(crate) struct GpuRowCells<'a> {
    pub row: &'a GpuRow,
    pub start_ns: Option<i64>,
    pub duration_ns: Option<u64>,
    pub call_start_ns: Option<i64>,
    pub grid: Option<&'a str>,
    pub block: Option<&'a str>,
}

pub(crate) struct Gpu;
pub(crate) struct Allocations;
pub(crate) struct Ranges;
pub(crate) struct Collectives;

impl GpuRowCells<'_> {
    fn node(&self) -> Option<GraphPlace> {
        let node = match &self.row.row.content {
            RowContent::Kernel(kernel) => kernel.node,
            RowContent::Copy(copied) => copied.node,
            RowContent::Set { node, .. } => *node,
            _ => return None,
        };
        Some(node).filter(|node| node.graph != 0)
    }
}

impl Table for Gpu {
    type Row<'a> = GpuRowCells<'a>;
    const NAME: &'static str = "gpu";
    const MEANING: &'static str = "Work of the GPU: a kernel, copy or set. Only of runs with `--gpu-time`.";
    const OPTIONAL: bool = true;
    const COLUMNS: &'static [TableColumn<Gpu>] = &[
        TableColumn::<Gpu>::new("pid", F::Number, "process", |r| Cell::Integer(r.row.process.pid.into())),
        TableColumn::<Gpu>::new("work", F::Text, "`kernel`, `copy` or `set`", |r| match &r.row.row.content {
            RowContent::Kernel(_) => Cell::Text("kernel"),
            RowContent::Copy(_) => Cell::Text("copy"),
            _ => Cell::Text("set"),
        }),
        TableColumn::<Gpu>::new(
            "start_ns",
            F::Measure,
            "nanoseconds from the start of the run to its beginning",
            |r| r.start_ns.map_or(Cell::None, Cell::Integer),
        ),
        TableColumn::<Gpu>::new("duration_ns", F::Measure, "how long it took", |r| Cell::number(r.duration_ns)),
        TableColumn::<Gpu>::new("device", F::Number, "number of the device", |r| {
            Cell::Integer(r.row.row.place.device.into())
        }),
        TableColumn::<Gpu>::new("context", F::Number, "CUPTI's number of the context", |r| {
            Cell::Integer(r.row.row.place.context.into())
        }),
        TableColumn::<Gpu>::new("stream", F::Number, "CUPTI's number of the stream", |r| {
            Cell::Integer(r.row.row.place.stream.into())
        }),
        TableColumn::<Gpu>::new("correlation", F::Measure, "number of the submission", |r| {
            Cell::Integer(r.row.row.place.correlation.into())
        }),
        TableColumn::<Gpu>::new("kernel", F::Text, "name of the kernel", |r| Cell::text(r.row.kernel.as_deref())),
        TableColumn::<Gpu>::new("grid", F::Text, "blocks as `x,y,z`", |r| Cell::text(r.grid)),
        TableColumn::<Gpu>::new("block", F::Text, "threads of a block as `x,y,z`", |r| Cell::text(r.block)),
        TableColumn::<Gpu>::new("bytes", F::Number, "of a copy or set", |r| match &r.row.row.content {
            RowContent::Copy(copied) => Cell::word(copied.bytes),
            RowContent::Set { bytes, .. } => Cell::word(*bytes),
            _ => Cell::None,
        }),
        TableColumn::<Gpu>::new("copy", F::Text, "direction of a copy", |r| match &r.row.row.content {
            RowContent::Copy(copied) => Cell::Text(copy_kind(copied.kind)),
            _ => Cell::None,
        }),
        TableColumn::<Gpu>::new("graph", F::Number, "id of the executable graph", |r| {
            Cell::number(r.node().map(|node| node.graph.into()))
        }),
        TableColumn::<Gpu>::new("node", F::Number, "id of its node", |r| Cell::number(r.node().map(|node| node.node))),
        TableColumn::<Gpu>::new("call_tid", F::Number, "thread of the call that submitted it", |r| {
            Cell::number(r.row.submitted_by.map(|(tid, _)| tid.into()))
        }),
        TableColumn::<Gpu>::new("call_start_ns", F::Measure, "`start_ns` of that call in `calls`", |r| {
            r.call_start_ns.map_or(Cell::None, Cell::Integer)
        }),
    ];
}

/// An allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AllocationRow {
    pub call: u64,
    pub pid: u32,
    pub thread: u32,
    pub memory: &'static str,
    pub address: u64,
    pub bytes: Option<u64>,
    /// The beginning of the call, and the end, when the memory is there.
    pub call_ns: i64,
    pub start_ns: i64,
    /// When and by which call it was freed.
    pub freed: Option<(i64, u64)>,
}

impl Table for Allocations {
    type Row<'a> = &'a AllocationRow;
    const NAME: &'static str = "allocations";
    const MEANING: &'static str = "Memory that a call allocated. Calls inside that one have no other row for it.";
    const COLUMNS: &'static [TableColumn<Allocations>] = &[
        TableColumn::<Allocations>::new("call", F::Measure, "`id` in `calls` of the call that allocated it", |a| {
            Cell::word(a.call)
        }),
        TableColumn::<Allocations>::new("pid", F::Number, "process", |a| Cell::Integer(a.pid.into())),
        TableColumn::<Allocations>::new(
            "memory",
            F::Text,
            "kind of memory; of a block of a pool the allocator, as `PyTorch`",
            |a| Cell::Text(a.memory),
        ),
        TableColumn::<Allocations>::new("address", F::Measure, "its address", |a| Cell::word(a.address)),
        TableColumn::<Allocations>::new("bytes", F::Number, "its size, if the arguments have it", |a| {
            Cell::number(a.bytes)
        }),
        TableColumn::<Allocations>::new(
            "start_ns",
            F::Measure,
            "nanoseconds from the start of the run until it was there",
            |a| Cell::Integer(a.start_ns),
        ),
        TableColumn::<Allocations>::new("freed_ns", F::Measure, "until it was freed; null if no call freed it", |a| {
            a.freed.map_or(Cell::None, |(ns, _)| Cell::Integer(ns))
        }),
        TableColumn::<Allocations>::new("freed_by", F::Measure, "`id` of the innermost call that freed it", |a| {
            a.freed.map_or(Cell::None, |(_, call)| Cell::word(call))
        }),
    ];
}

/// A range or mark of NVTX.
#[derive(Debug, Clone)]
pub(crate) struct RangeRow<'a> {
    pub id: u64,
    pub parent: Option<u64>,
    pub pid: u32,
    pub tid: u32,
    pub name: &'a str,
    pub domain: &'a str,
    pub kind: &'static str,
    pub start_ns: i64,
    pub duration_ns: Option<u64>,
    pub payload: Option<&'a str>,
    pub category: Option<u64>,
}

impl Table for Ranges {
    type Row<'a> = &'a RangeRow<'a>;
    const NAME: &'static str = "ranges";
    const MEANING: &'static str = "A range or mark of NVTX.";
    const COLUMNS: &'static [TableColumn<Ranges>] = &[
        TableColumn::<Ranges>::new("id", F::Measure, "`id` in `calls`", |r| Cell::word(r.id)),
        TableColumn::<Ranges>::new("parent", F::Measure, "`id` of the call or range around it", |r| {
            Cell::number(r.parent)
        }),
        TableColumn::<Ranges>::new("pid", F::Number, "process", |r| Cell::Integer(r.pid.into())),
        TableColumn::<Ranges>::new("tid", F::Number, "thread that began it", |r| Cell::Integer(r.tid.into())),
        TableColumn::<Ranges>::new("name", F::Text, "its name", |r| Cell::Text(r.name)),
        TableColumn::<Ranges>::new("domain", F::Text, "its domain", |r| Cell::Text(r.domain)),
        TableColumn::<Ranges>::new(
            "kind",
            F::Text,
            "`range`, `mark`, or `start`: one that may end in another thread",
            |r| Cell::Text(r.kind),
        ),
        TableColumn::<Ranges>::new(
            "start_ns",
            F::Measure,
            "nanoseconds from the start of the run to its beginning",
            |r| Cell::Integer(r.start_ns),
        ),
        TableColumn::<Ranges>::new(
            "duration_ns",
            F::Measure,
            "how long it lasted; null of a mark, or if it did not end",
            |r| Cell::number(r.duration_ns),
        ),
        TableColumn::<Ranges>::new("payload", F::Text, "the number that the program gave", |r| Cell::text(r.payload)),
        TableColumn::<Ranges>::new("category", F::Number, "the number of the category", |r| Cell::number(r.category)),
    ];
}

/// A call of NCCL about a communicator and data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CollectiveRow<'a> {
    pub id: u64,
    pub pid: u32,
    pub tid: u32,
    pub function: &'a str,
    pub start_ns: i64,
    pub duration_ns: Option<u64>,
    pub gpu_ns: Option<u64>,
    pub stream: Option<&'a str>,
    pub communicator: Option<&'a str>,
    pub data_type: Option<&'a str>,
    pub operation: Option<&'a str>,
    pub count: Option<u64>,
    pub peer: Option<i64>,
}

impl Table for Collectives {
    type Row<'a> = CollectiveRow<'a>;
    const NAME: &'static str = "collectives";
    const MEANING: &'static str = "A call of NCCL that moves data. Only of runs with such calls.";
    const OPTIONAL: bool = true;
    const COLUMNS: &'static [TableColumn<Collectives>] = &[
        TableColumn::<Collectives>::new("id", F::Measure, "`id` in `calls`", |r| Cell::word(r.id)),
        TableColumn::<Collectives>::new("pid", F::Number, "process", |r| Cell::Integer(r.pid.into())),
        TableColumn::<Collectives>::new("tid", F::Number, "thread", |r| Cell::Integer(r.tid.into())),
        TableColumn::<Collectives>::new("function", F::Text, "the exported name", |r| Cell::Text(r.function)),
        TableColumn::<Collectives>::new(
            "start_ns",
            F::Measure,
            "nanoseconds from the start of the run to its beginning",
            |r| Cell::Integer(r.start_ns),
        ),
        TableColumn::<Collectives>::new("duration_ns", F::Measure, "how long the call took", |r| {
            Cell::number(r.duration_ns)
        }),
        TableColumn::<Collectives>::new("gpu_ns", F::Measure, "with `--gpu-time`: the GPU's work for it", |r| {
            Cell::number(r.gpu_ns)
        }),
        TableColumn::<Collectives>::new("stream", F::Text, "name of the stream", |r| Cell::text(r.stream)),
        TableColumn::<Collectives>::new("communicator", F::Text, "the handle of the communicator", |r| {
            Cell::text(r.communicator)
        }),
        TableColumn::<Collectives>::new("data_type", F::Text, "type of an element", |r| Cell::text(r.data_type)),
        TableColumn::<Collectives>::new("operation", F::Text, "the reduction", |r| Cell::text(r.operation)),
        TableColumn::<Collectives>::new("count", F::Number, "elements, as the argument has them", |r| {
            Cell::number(r.count)
        }),
        TableColumn::<Collectives>::new("peer", F::Number, "the root or the peer, if there is one", |r| {
            r.peer.map_or(Cell::None, Cell::Integer)
        }),
    ];
}
