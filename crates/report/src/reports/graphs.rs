//! `report --graphs`: executable graphs with their replays, and the slowest nodes with the calls that made them.

use super::{IgnoredCalls, Input, Report, ReportKind, Takes};
use crate::call::arguments::inputs;
use crate::call::gpu_work::work_text;
use crate::call::values::write_value;
use crate::format::json_writer::write_json;
use crate::format::kernel_name::fitting;
use crate::format::label::Label;
use crate::format::units::time;
use crate::statistics::histogram::Histogram;
use crate::statistics::rows::{Rows, SortKey, headings};
use crate::statistics::table::share;
use cutap_calls::known::Param;
use cutap_trace::decode::Value;
use cutap_trace::{Call, CallLabel, End, ExecutableGraph, Layer, NodeOrigin, WorkRow, WorkRows};
use cutap_wire::rows::{Kernel, RowContent};
use serde_json::json;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

pub(super) const KIND: ReportKind = ReportKind {
    flag: "graphs",
    help: "CUDA graphs: replays, and the slowest nodes with their captured calls (--gpu-time)",
    value: Takes::Nothing,
    new: |_| Box::new(GraphList { nodes_listed: 3, ..GraphList::default() }),
};

/// Columns for the name of a kernel.
const NAME_WIDTH: usize = 40;
/// Numbers among the arguments of a captured call that text lists. Sizes of a matrix product come first, and are three.
const SIZES: usize = 3;

/// A node of an executable graph.
#[derive(Debug, Clone, Default)]
struct NodeSums {
    number: u32,
    work: String,
    ns: u64,
    times: Histogram,
    origin: Option<Arc<NodeOrigin>>,
}

/// An executable graph.
#[derive(Debug, Clone, Default)]
struct GraphSums {
    /// CUPTI's id.
    id: u32,
    /// As the calls tell; none if its instantiation was not recorded.
    executable: Option<Arc<ExecutableGraph>>,
    launches: u64,
    ns: u64,
    /// From the beginning of the first node of a launch to the end of the last one.
    replays: Histogram,
    nodes: BTreeMap<u32, NodeSums>,
}

const SORT_KEYS: &[SortKey<GraphSums>] =
    &[("total", |row| row.ns), ("launches", |row| row.launches), ("nodes", |row| row.nodes.len() as u64)];

#[derive(Debug, Default)]
struct GraphList {
    graphs: Vec<GraphSums>,
    /// Nanoseconds of all rows of the run, in graphs or not.
    whole_ns: u64,
    /// When the first process with work began.
    begin_ns: u64,
    nodes_listed: usize,
    rows: Rows,
    calls: IgnoredCalls,
    /// Nodes that ran: those with a captured call, all, those with bad times.
    counts: (u64, u64, u64),
}

/// What a node does; a kernel with its shape.
fn node_text(row: &WorkRow) -> String {
    let kernel = || {
        let name = row.kernel.as_deref().map_or_else(|| "?".to_owned(), |name| fitting(name, NAME_WIDTH));
        match row.row.content {
            RowContent::Kernel(Kernel { grid: [blocks, ..], block: [threads, ..], .. }) => {
                format!("{name} <<<{blocks}, {threads}>>>")
            }
            _ => name,
        }
    };
    work_text(&row.row.content, kernel).unwrap_or_default()
}

/// All arguments of a call.
fn arguments(call: &Call) -> String {
    let mut text = String::new();
    inputs(call, None, &mut text);
    text
}

/// `cublasGemmEx(m=4096, n=8, k=14336) [libcublas.so.13]`: the outermost call. Only calls of toolkit libraries have
/// arguments here, for the node itself says what other calls do.
fn origin_text(origin: &NodeOrigin) -> String {
    let call = &origin.outermost;
    let label = Label::new(&call.function, call.instance().map(|instance| &**instance));
    let params = call.function.params().iter().zip(call.inputs());
    let is_size = |value: &Value| matches!(value, Value::Int(_) | Value::Uint(_));
    let sizes = params.filter(|(_, value)| call.function.layer == Layer::LIBRARY && is_size(value));
    let size = |(param, value): (&Param, &Value)| {
        let mut text = format!("{}=", param.name);
        write_value(value, &mut text);
        text
    };
    let sizes: Vec<String> = sizes.take(SIZES).map(size).collect();
    let sizes = if sizes.is_empty() { String::new() } else { format!("({})", sizes.join(", ")) };
    format!("{}{sizes}{}", label.name, label.tag())
}

fn label(of: &CallLabel) -> String {
    Label::new(&of.function, of.instance.as_deref()).text()
}

impl GraphList {
    fn listed(&self) -> Vec<GraphSums> {
        let mut rows = self.graphs.clone();
        self.rows.apply(&mut rows, SORT_KEYS);
        rows
    }
}

impl GraphSums {
    /// `graphExec#3 of graph#3, captured 2.1s after the start`.
    fn name(&self, begin_ns: u64) -> String {
        match &self.executable {
            Some(of) => {
                let verb = if of.graph.is_captured { "captured" } else { "made" };
                let after = time(of.graph.ns.saturating_sub(begin_ns));
                format!("graphExec#{} of graph#{}, {verb} {after} after the start", of.number, of.graph.number)
            }
            None => format!("executable graph {} of CUPTI, whose instantiation was not recorded", self.id),
        }
    }

    fn slowest(&self) -> Vec<&NodeSums> {
        let mut nodes: Vec<&NodeSums> = self.nodes.values().collect();
        nodes.sort_by_key(|node| std::cmp::Reverse(node.ns));
        nodes
    }
}

impl Report for GraphList {
    fn input(&mut self) -> Input<'_> {
        Input::Calls(&mut self.calls)
    }

    fn needs_gpu_times(&self) -> bool {
        true
    }

    fn gpu_times(&mut self, work: &WorkRows<'_>) {
        let mut graphs: HashMap<(u32, u32), GraphSums> = HashMap::new();
        let mut launches: HashMap<(u32, u32, u32), (u64, u64)> = HashMap::new();
        self.begin_ns = work.rows().map(|row| row.process.start_ns).min().unwrap_or(0);
        for row in work.rows() {
            let took = row.took_ns().unwrap_or(0);
            self.whole_ns = self.whole_ns.saturating_add(took);
            let node = row.graph_node();
            if node.graph == 0 {
                continue;
            }
            let (with_origin, all, bad) = &mut self.counts;
            *all += 1;
            *with_origin += u64::from(row.origin.is_some());
            *bad += u64::from(row.took_ns().is_none());
            let process = row.process.key;
            let new = || GraphSums { id: node.graph, ..GraphSums::default() };
            let of = graphs.entry((process, node.graph)).or_insert_with(new);
            if of.executable.is_none() {
                of.executable = row.submission.as_ref().and_then(|by| by.executable.clone());
            }
            of.ns = of.ns.saturating_add(took);
            let number = node.node as u32;
            let sums = of.nodes.entry(number).or_insert_with(|| NodeSums {
                number,
                work: node_text(row),
                origin: row.origin.clone(),
                ..NodeSums::default()
            });
            sums.ns = sums.ns.saturating_add(took);
            sums.times.add(took);
            if row.took_ns().is_some() {
                let span = launches.entry((process, node.graph, row.row.place.correlation)).or_insert((u64::MAX, 0));
                *span = (span.0.min(row.row.place.start), span.1.max(row.row.place.end));
            }
        }
        for ((process, graph, _), (start, end)) in launches {
            if let Some(of) = graphs.get_mut(&(process, graph)) {
                of.launches += 1;
                of.replays.add(end.saturating_sub(start));
            }
        }
        self.graphs = graphs.into_values().collect();
        self.graphs.sort_by_key(|row| (std::cmp::Reverse(row.ns), row.id));
    }

    fn rows(&mut self, rows: Rows) -> bool {
        self.rows = rows;
        rows.depth.is_none()
    }

    fn all(&mut self) {
        self.nodes_listed = usize::MAX;
    }

    fn sort_columns(&self) -> Vec<&'static str> {
        headings(SORT_KEYS)
    }

    fn nothing(&self) -> Option<Cow<'static, str>> {
        self.graphs.is_empty().then(|| "no graph was replayed, or CUPTI reported none".into())
    }

    fn write_text(&self, _: &End, _: bool, out: &mut dyn io::Write) -> io::Result<()> {
        writeln!(out, "launches   nodes  replay p50   share  graph; its slowest nodes and the calls that made them")?;
        let listed = self.rows.top.unwrap_or(self.nodes_listed);
        for row in self.listed() {
            let (replay, nodes) = (time(row.replays.percentile(50)), row.nodes.len());
            let part = format!("{:.1}%", 100.0 * share(row.ns, self.whole_ns));
            writeln!(out, "{:>8} {nodes:>7} {replay:>11} {part:>7}  {}", row.launches, row.name(self.begin_ns))?;
            for node in row.slowest().into_iter().take(listed) {
                let mean = time(node.ns / node.times.count().max(1));
                let part = format!("{:.1}%", 100.0 * share(node.ns, self.whole_ns));
                writeln!(out, "{:17}{mean:>11} {part:>7}    node {} {}", "", node.number, node.work)?;
                match &node.origin {
                    Some(origin) => writeln!(out, "{:40}in {}", "", origin_text(origin))?,
                    None => writeln!(out, "{:40}its call is not known: it was not recorded", "")?,
                }
            }
        }
        let (with_origin, all, bad) = self.counts;
        writeln!(out, "{with_origin} of {all} rows of graphs have their captured call; {bad} have bad times")
    }

    fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        for row in self.listed() {
            let nodes: Vec<_> = row
                .slowest()
                .into_iter()
                .map(|node| {
                    let path: Option<Vec<String>> =
                        node.origin.as_ref().map(|origin| origin.path.iter().map(label).collect());
                    json!({
                        "node": node.number, "work": node.work, "total_ns": node.ns, "replays": node.times.count(),
                        "p50_ns": node.times.percentile(50), "path": path,
                        "arguments": node.origin.as_ref().map(|origin| arguments(&origin.outermost)),
                        "captured_ns": node.origin.as_ref().map(|origin| origin.call.start_ns),
                    })
                })
                .collect();
            let line = json!({
                "type": "gpu_graph", "graph": row.id, "executable": row.executable.as_ref().map(|of| of.number),
                "of_graph": row.executable.as_ref().map(|of| of.graph.number),
                "made_ns": row.executable.as_ref().map(|of| of.graph.ns),
                "captured": row.executable.as_ref().map(|of| of.graph.is_captured),
                "launches": row.launches, "total_ns": row.ns, "replay_p50_ns": row.replays.percentile(50),
                "replay_p95_ns": row.replays.percentile(95), "nodes": nodes,
            });
            write_json(out, &line)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }
}
