//! `report --by kernel` of a run with GPU time: how long each kernel ran on the GPU.

use super::{IgnoredCalls, Input, Report};
use crate::format::json_writer::write_json;
use crate::format::kernel_name::fitting;
use crate::format::style::Styles;
use crate::statistics::histogram::Histogram;
use crate::statistics::rows::{Rows, SortKey, headings};
use crate::statistics::table::{Cell, Heading, Table, share};
use cutap_trace::{End, WorkRows};
use cutap_wire::rows::RowContent;
use serde_json::json;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

/// Columns for the name of a kernel.
const NAME_WIDTH: usize = 48;
/// Shapes of a kernel that text lists.
const SHAPES: usize = 3;

/// Grid and block.
type Shape = ([u32; 3], [u32; 3]);

/// The sums of a kernel.
#[derive(Debug, Clone, Default)]
struct KernelTimes {
    name: Arc<str>,
    total_ns: u64,
    times: Histogram,
    bad_times: u64,
    shapes: BTreeMap<Shape, u64>,
}

const SORT_KEYS: &[SortKey<KernelTimes>] = &[
    ("total", |row| row.total_ns),
    ("calls", |row| row.times.count()),
    ("mean", KernelTimes::mean_ns),
    ("p50", |row| row.times.percentile(50)),
    ("p95", |row| row.times.percentile(95)),
    ("max", |row| row.times.most()),
];

impl KernelTimes {
    fn mean_ns(&self) -> u64 {
        self.total_ns / self.times.count().max(1)
    }

    /// The most frequent shapes.
    fn shapes_text(&self) -> String {
        let mut shapes: Vec<_> = self.shapes.iter().collect();
        shapes.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let dimensions = |of: &[u32; 3]| match of {
            [x, 1, 1] => x.to_string(),
            [x, y, 1] => format!("{x}x{y}"),
            [x, y, z] => format!("{x}x{y}x{z}"),
        };
        let text = |(grid, block): &Shape| format!("<<<{}, {}>>>", dimensions(grid), dimensions(block));
        let listed: Vec<String> = shapes.iter().take(SHAPES).map(|(shape, _)| text(shape)).collect();
        match shapes.len().saturating_sub(SHAPES) {
            0 => listed.join(" "),
            more => format!("{} and {more} more", listed.join(" ")),
        }
    }
}

/// All kernels.
#[derive(Debug, Default)]
pub struct GpuKernels {
    kernels: Vec<KernelTimes>,
    rows: Rows,
    calls: IgnoredCalls,
}

impl GpuKernels {
    fn whole_ns(&self) -> u64 {
        self.kernels.iter().map(|row| row.total_ns).sum()
    }

    fn listed(&self) -> Vec<KernelTimes> {
        let mut rows = self.kernels.clone();
        self.rows.apply(&mut rows, SORT_KEYS);
        rows
    }
}

impl Report for GpuKernels {
    fn input(&mut self) -> Input<'_> {
        Input::Calls(&mut self.calls)
    }

    fn needs_gpu_times(&self) -> bool {
        true
    }

    fn has_gpu_speed(&self) -> bool {
        true
    }

    fn gpu_times(&mut self, work: &WorkRows<'_>) {
        let mut places: HashMap<Arc<str>, usize> = HashMap::new();
        for row in work.rows() {
            let RowContent::Kernel(kernel) = row.row.content else { continue };
            let name = row.kernel.clone().unwrap_or_else(|| "?".into());
            let place = *places.entry(name.clone()).or_insert_with(|| {
                self.kernels.push(KernelTimes { name, ..KernelTimes::default() });
                self.kernels.len() - 1
            });
            let Some(of) = self.kernels.get_mut(place) else { continue };
            *of.shapes.entry((kernel.grid, kernel.block)).or_default() += 1;
            match row.took_ns() {
                Some(ns) => {
                    of.total_ns = of.total_ns.saturating_add(ns);
                    of.times.add(ns);
                }
                None => of.bad_times += 1,
            }
        }
        self.kernels.sort_by_key(|row| std::cmp::Reverse(row.total_ns));
    }

    fn rows(&mut self, rows: Rows) -> bool {
        self.rows = rows;
        rows.depth.is_none()
    }

    fn sort_columns(&self) -> Vec<&'static str> {
        headings(SORT_KEYS)
    }

    fn nothing(&self) -> Option<Cow<'static, str>> {
        self.kernels.is_empty().then(|| "no kernel ran on the GPU, or CUPTI reported none".into())
    }

    fn write_text(&self, _: &End, colour: bool, out: &mut dyn io::Write) -> io::Result<()> {
        let heading = |title, width| Heading { title, width };
        let mut columns = vec![heading("total", 8), heading("share", 6), heading("calls", 8)];
        columns.extend([("mean", 8), ("p50", 8), ("p95", 8)].map(|(title, width)| heading(title, width)));
        let mut table = Table::new(columns, Styles::new(colour), out);
        table.head("kernel, time on the GPU, <<<grid, block>>>")?;
        let whole = self.whole_ns();
        for row in self.listed() {
            let time = |ns| Cell::Time(Some(ns));
            let cells = [
                time(row.total_ns),
                Cell::Share(share(row.total_ns, whole)),
                Cell::Count(row.times.count() + row.bad_times),
                time(row.mean_ns()),
                time(row.times.percentile(50)),
                time(row.times.percentile(95)),
            ];
            table.row(&cells, 0, &fitting(&row.name, NAME_WIDTH), &format!(" {}", row.shapes_text()))?;
        }
        Ok(())
    }

    fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let whole = self.whole_ns();
        for row in self.listed() {
            let shapes: Vec<_> = row
                .shapes
                .iter()
                .map(|((grid, block), calls)| json!({"grid": grid, "block": block, "calls": calls}))
                .collect();
            let line = json!({
                "type": "gpu_kernel", "kernel": &*row.name, "calls": row.times.count() + row.bad_times,
                "total_ns": row.total_ns, "share": share(row.total_ns, whole), "mean_ns": row.mean_ns(),
                "min_ns": row.times.percentile(0), "p50_ns": row.times.percentile(50),
                "p95_ns": row.times.percentile(95), "max_ns": row.times.most(), "bad_times": row.bad_times,
                "shapes": shapes,
            });
            write_json(out, &line)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }
}
