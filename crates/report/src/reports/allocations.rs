//! `report --allocations`: who allocates how much, who has it when most is allocated, and what is allocated at the end.
//! Calls that allocate inside another one that does (a driver's call inside a runtime's) are part of that one. Calls of
//! one path and one recorded stack are one row.

use super::{Input, Report, ReportKind, Takes, pool_rows};
use crate::format::json_writer::write_json;
use crate::resources::leaks::{Change, Leaks, Thing};
use crate::call::allocation_size::allocation_size;
use crate::nesting::source_line::line_of;
use crate::resources::live_bytes::{Holding, LiveBytes};
use crate::resources::pools::{PoolCall, Pools};
use crate::nesting::path_stacks::{path_of, stack_of, write_frames};
use crate::call::resource_names::word;
use crate::statistics::rows::{Rows, SortKey, headings};
use crate::format::runs::{RunCounts, with_run};
use crate::nesting::stacks::Lines;
use crate::statistics::table::share;
use crate::format::units::{bytes, time};
use cutap_calls::hands_out;
use cutap_calls::known::{Count, Effect, Memory};
use cutap_trace::{TimeWindow, Call, End, EventVisitor, Exit, Function, Process};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

pub(super) const KIND: ReportKind = ReportKind {
    flag: "allocations",
    help: "Who allocates memory, how much at the peak and at the end",
    value: Takes::Nothing,
    new: |_| Box::new(Allocations::default()),
};

/// Lines on kinds of memory, when there are many processes.
const POOLS: usize = 8;

/// The report, which also tells what places hold over time.
pub struct Allocations {
    leaks: Leaks,
    lines: Lines,
    /// The number of each site.
    sites: BTreeMap<AllocationSite, (u32, Sums)>,
    /// Allocations of each site in each run.
    runs: HashMap<u32, RunCounts>,
    /// Memory that calls made that have not ended, by thread.
    pending: HashMap<u32, Vec<(Thing, u64)>>,
    /// The site and the size of what is allocated.
    alive: HashMap<Thing, (u32, u64)>,
    /// By process and kind of memory.
    pools: BTreeMap<(u32, &'static str), LiveBytes>,
    processes: HashMap<u32, Arc<Process>>,
    /// By the function's key.
    kinds: Vec<Option<Option<&'static str>>>,
    /// Pools that allocators keep.
    handed_out: Pools,
    rows: Rows,
    /// What places hold over time, if that is wanted.
    steps: Option<Vec<HeldStep>>,
}

impl Default for Allocations {
    fn default() -> Allocations {
        let (lines, sites, runs, pending, alive) = Default::default();
        let (pools, processes, kinds, handed_out, rows, steps) = Default::default();
        let leaks = Leaks::with_changes();
        Allocations { leaks, lines, sites, runs, pending, alive, pools, processes, kinds, handed_out, rows, steps }
    }
}

/// A place began or ceased to hold bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldStep {
    /// CLOCK_MONOTONIC.
    pub ns: u64,
    /// The key of the process.
    pub process: u32,
    /// The kind of memory.
    pub kind: &'static str,
    /// The number of the place.
    pub place: u32,
    /// More bytes, or fewer.
    pub bytes: i64,
}

/// Where memory is allocated: a number, the path from the outermost call, and the kind of memory.
pub type AllocationPlace<'a> = (u32, &'a [String], &'static str);

impl Allocations {
    /// A report that also hands out each step of what places hold.
    pub fn with_steps() -> Allocations {
        Allocations { steps: Some(Vec::new()), ..Allocations::default() }
    }

    /// The steps since the last question.
    pub fn take_steps(&mut self) -> Vec<HeldStep> {
        self.steps.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// All places, in no order.
    pub fn places(&self) -> impl Iterator<Item = AllocationPlace<'_>> {
        self.sites.iter().map(|((path, _, kind), (number, _))| (*number, path.as_slice(), *kind))
    }

    fn step(&mut self, of: (u32, &'static str), place: u32, bytes: i64, ns: u64) {
        let step = HeldStep { ns, process: of.0, kind: of.1, place, bytes };
        self.steps.iter_mut().for_each(|steps| steps.push(step));
    }
}

/// The path from the outermost call, the frames of the recorded stack, and the kind of memory.
type AllocationSite = (Vec<String>, Arc<[String]>, &'static str);

#[derive(Default, Clone, Copy)]
struct Sums {
    count: u64,
    /// Those whose size is not known.
    without_size: u64,
    bytes: u64,
    /// The largest one.
    most: u64,
}

/// A row of the report.
struct Row<'a> {
    site: &'a AllocationSite,
    sums: Sums,
    runs: RunCounts,
    holding: Holding,
    /// The part of the peak of its kind of memory.
    share: f64,
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// The kind of memory that a function allocates. One that hands out the address of memory that exists, or that is
/// another process's, allocates nothing.
fn allocates(function: &Function) -> Option<&'static str> {
    let effects = function.described.filter(|_| !hands_out(&function.name))?.function.effects;
    effects.iter().find_map(|effect| match effect {
        Effect::Allocates { memory: Memory::Mapped, .. } | Effect::Allocates { bytes: Count::Unknown, .. } => None,
        Effect::Allocates { memory, .. } => Some(word(*memory)),
        _ => None,
    })
}

impl Allocations {
    fn kind(&mut self, function: &Function) -> Option<&'static str> {
        let key = function.key as usize;
        if key >= self.kinds.len() {
            self.kinds.resize(key + 1, None);
        }
        *self.kinds.get_mut(key)?.get_or_insert_with(|| allocates(function))
    }

    fn changed(&mut self, change: Change, thread: u32, ns: u64) {
        match change {
            Change::Made(thing, Some(bytes)) => self.pending.entry(thread).or_default().push((thing, bytes)),
            Change::Made(_, None) => {}
            Change::Ended(thing) => {
                let pending = self.pending.values_mut().find_map(|pending| {
                    let place = pending.iter().position(|(of, _)| *of == thing)?;
                    Some(pending.remove(place))
                });
                if let (None, Some((site, bytes))) = (pending, self.alive.remove(&thing))
                    && let Some(pool) = self.pools.get_mut(&(thing.0, thing.1))
                {
                    pool.freed(site, bytes);
                    self.step((thing.0, thing.1), site, -signed(bytes), ns);
                }
            }
        }
    }

    fn add_allocation(&mut self, exit: &Exit) {
        let call = &exit.call;
        for change in self.leaks.changes() {
            self.changed(change, call.thread.key, exit.end_ns);
        }
        if let Some(pool_call) = PoolCall::of(exit).filter(|_| self.leaks.follows(exit) && exit.duration_ns.is_some()) {
            let line = stack_of(self.leaks.open_calls(), call).and_then(line_of);
            self.handed_out.add(pool_call, exit, line);
        }
        let Some(kind) = self.kind(&call.function).filter(|_| self.leaks.follows(exit)) else { return };
        let open = self.leaks.open_calls();
        if open.open_calls(call.thread.key).any(|call| allocates(&call.function).is_some()) {
            return;
        }
        let allocations = self.pending.remove(&call.thread.key).unwrap_or_default();
        let has_failed = exit.duration_ns.is_none() || exit.is_error();
        if has_failed && allocations.is_empty() {
            return;
        }
        let stack = stack_of(open, call).map(|stack| self.lines.of(stack)).unwrap_or_default();
        let next = self.sites.len() as u32;
        let (site, sums) = self.sites.entry((path_of(open, call), stack, kind)).or_insert((next, Sums::default()));
        if !has_failed {
            let size = allocation_size(exit);
            sums.count += 1;
            if call.thread.process.run.is_some() {
                self.runs.entry(*site).or_default().add(&call.thread.process, 1);
            }
            sums.without_size += u64::from(size.is_none());
            let size = size.unwrap_or(0);
            sums.bytes = sums.bytes.saturating_add(size);
            sums.most = sums.most.max(size);
        }
        let site = *site;
        for (thing, bytes) in allocations {
            self.alive.insert(thing, (site, bytes));
            self.pools.entry((thing.0, thing.1)).or_default().allocated(site, bytes, exit.end_ns);
            self.processes.entry(thing.0).or_insert_with(|| call.thread.process.clone());
            self.step((thing.0, thing.1), site, signed(bytes), exit.end_ns);
        }
    }

    /// The peaks of all processes with this kind of memory.
    fn peak_of(&self, kind: &str) -> u64 {
        self.pools.iter().filter(|((_, of), _)| *of == kind).map(|(_, pool)| pool.peak().0).sum()
    }

    /// The sites by kind of memory, those of each that have most at the peak first.
    fn sorted(&self) -> Vec<Row<'_>> {
        let row = |(site, (number, sums)): (&'_ AllocationSite, &(u32, Sums))| {
            let of_kind = self.pools.iter().filter(|((_, kind), _)| *kind == site.2);
            let holding = of_kind.map(|(_, pool)| pool.holding(*number)).fold(Holding::default(), |all, of| Holding {
                at_peak: all.at_peak + of.at_peak,
                at_end: all.at_end + of.at_end,
            });
            (*sums, holding)
        };
        let mut rows: Vec<Row<'_>> = Vec::new();
        for entry in &self.sites {
            let (sums, holding) = row(entry);
            let share = share(holding.at_peak, self.peak_of(entry.0.2));
            let runs = self.runs.get(&entry.1.0).cloned().unwrap_or_default();
            rows.push(Row { site: entry.0, sums, runs, holding, share });
        }
        rows.sort_by_key(|row| {
            let kind = (Reverse(self.peak_of(row.site.2)), row.site.2);
            (kind, Reverse((row.holding.at_peak, row.holding.at_end, row.sums.bytes, row.sums.count)), row.site)
        });
        self.rows.apply(&mut rows, &sort_keys());
        rows
    }

    /// Processes and kinds of memory, those with the highest peak first.
    fn pools(&self) -> Vec<(&Process, &'static str, &LiveBytes)> {
        let mut pools = Vec::new();
        for ((process, kind), pool) in &self.pools {
            pools.extend(self.processes.get(process).map(|process| (&**process, *kind, pool)));
        }
        pools.sort_by_key(|(process, kind, pool)| (Reverse(pool.peak().0), process.key, *kind));
        pools
    }

    /// `device memory: 2 GiB at the peak, after 1.2s; 1 GiB at the end`.
    fn write_pools(&self, end: &End, out: &mut dyn io::Write) -> io::Result<()> {
        let first = end.processes.all.iter().map(|process| process.start_ns).min().unwrap_or(0);
        let pools = self.pools();
        for (process, kind, pool) in pools.iter().take(POOLS) {
            let owner = match &process.run {
                Some(run) => format!("{run} process {}: ", process.pid),
                None if self.processes.len() > 1 => format!("process {}: ", process.pid),
                None => String::new(),
            };
            let ((peak, ns), left) = (pool.peak(), bytes(pool.live()));
            let after = time(ns.saturating_sub(first));
            writeln!(out, "{owner}{kind}: {} at the peak, after {after}; {left} at the end", bytes(peak))?;
        }
        match pools.len().saturating_sub(POOLS) {
            0 => Ok(()),
            n => writeln!(out, "and {n} lower peaks of other processes, which --json lists"),
        }
    }
}

fn sort_keys<'a>() -> [SortKey<Row<'a>>; 5] {
    [
        ("count", |row| row.sums.count),
        ("bytes", |row| row.sums.bytes),
        ("largest", |row| row.sums.most),
        ("peak", |row| row.holding.at_peak),
        ("end", |row| row.holding.at_end),
    ]
}

impl EventVisitor for Allocations {
    fn enter(&mut self, call: &Call) {
        self.leaks.enter(call);
    }

    fn exit(&mut self, exit: &Exit) {
        self.leaks.exit(exit);
        self.add_allocation(exit);
    }
}

impl Report for Allocations {
    fn input(&mut self) -> Input<'_> {
        Input::Events(self)
    }

    fn rows(&mut self, rows: Rows) -> bool {
        self.rows = rows;
        rows.depth.is_none()
    }
    fn sort_columns(&self) -> Vec<&'static str> {
        headings(&sort_keys())
    }

    fn during(&mut self, window: TimeWindow) {
        self.leaks.during(window);
    }

    fn reads_all(&self) -> bool {
        true
    }

    fn nothing(&self) -> Option<Cow<'static, str>> {
        (self.sites.is_empty() && self.handed_out.is_empty()).then(|| "no call allocated memory".into())
    }

    fn write_text(&self, end: &End, _colour: bool, out: &mut dyn io::Write) -> io::Result<()> {
        if !self.handed_out.is_empty() {
            pool_rows::write_text(&self.handed_out, self.rows, end, out)?;
            if self.sites.is_empty() {
                return Ok(());
            }
            writeln!(out)?;
        }
        self.write_pools(end, out)?;
        let has_stacks = self.sites.keys().any(|(_, stack, _)| !stack.is_empty());
        let stacks = if has_stacks { ", and its stack" } else { "" };
        let [count, all, most] = ["count", "bytes", "largest"];
        let [peak, share, left] = ["at peak", "share", "at end"];
        write!(out, "{count:>9} {all:>10} {most:>10} {peak:>10} {share:>6} {left:>10}  ")?;
        writeln!(out, "what, the call that allocates, the calls around it{stacks}")?;
        for Row { site: (path, stack, kind), sums, runs, holding, share } in self.sorted() {
            let Some((last, around)) = path.split_last() else { continue };
            let size = |n: u64| if sums.without_size == sums.count { "?".to_owned() } else { bytes(n) };
            let [all, most, peak, left] = [sums.bytes, sums.most, holding.at_peak, holding.at_end].map(size);
            let share = format!("{:.1}%", 100.0 * share);
            write!(out, "{:>9} {all:>10} {most:>10} {peak:>10} {share:>6} {left:>10}  ", sums.count)?;
            writeln!(out, "{kind}: {last}{}", runs.suffix())?;
            around.iter().rev().try_for_each(|call| writeln!(out, "{:64}in {call}", ""))?;
            write_frames(stack, 64, out)?;
        }
        Ok(())
    }

    fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        pool_rows::write_lines(&self.handed_out, self.rows, out)?;
        for Row { site: (path, stack, kind), sums, runs, holding, share } in self.sorted() {
            let mut line = json!({
                "type": "allocations", "kind": kind, "count": sums.count, "bytes": sums.bytes,
                "largest_bytes": sums.most, "peak_bytes": holding.at_peak, "peak_share": share,
                "end_bytes": holding.at_end, "path": path,
            });
            if let (false, Value::Object(line)) = (stack.is_empty(), &mut line) {
                line.insert("stack".to_owned(), json!(**stack));
            }
            runs.to_json("count", &mut line);
            write_json(out, &line)?;
            out.write_all(b"\n")?;
        }
        self.pools().into_iter().try_for_each(|(process, kind, pool)| {
            let ((peak, ns), left) = (pool.peak(), pool.live());
            let line = json!({
                "type": "allocated", "kind": kind, "pid": process.pid, "folder": &*process.folder,
                "peak_bytes": peak, "peak_ns": ns, "end_bytes": left,
            });
            write_json(out, &with_run(line, process))?;
            out.write_all(b"\n")
        })
    }
}
