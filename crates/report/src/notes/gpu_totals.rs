//! What the GPU did in a live trace, in a few lines at its end. Rows come up to a second after their calls, so no line
//! of a call can have its time. Memory grows with the number of kernels, not with the number of rows.

use crate::format::kernel_name::fitting;
use crate::format::units::time;
use crate::notes::gpu_time::gpu_time_lines;
use cutap_trace::{GpuRow, GpuSummary, MissingTime, RowCounts};
use cutap_wire::rows::{self, RowContent, reason};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Kernels that are listed.
const LISTED: usize = 5;
/// Columns for the name of a kernel.
const NAME_WIDTH: usize = 60;
/// Where the time stands beside its call.
const NEXT: &str = "the time of each call: cutap record --gpu-time, then cutap show";

/// Sums of rows that were not attributed to calls.
#[derive(Debug, Default)]
pub struct GpuTotals {
    kernels: HashMap<Arc<str>, Sums>,
    copies: Sums,
    fills: Sums,
    counts: RowCounts,
    /// By process: why it has no rows.
    reasons: HashMap<u32, u32>,
    /// Profilers of the program that took CUPTI.
    missing: Vec<MissingTime>,
    is_simulated: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    count: u64,
    ns: u64,
}

impl Sums {
    fn add(&mut self, ns: u64) {
        self.count += 1;
        self.ns = self.ns.saturating_add(ns);
    }
}

impl GpuTotals {
    /// Takes a row of a live trace. Rows of a run that is read later have their calls, and are no part of it.
    pub fn row(&mut self, row: &GpuRow) {
        if row.times.is_some() {
            return;
        }
        let place = &row.row.place;
        let ns = place.end.checked_sub(place.start).filter(|_| place.start != 0);
        if row.row.is_work() && ns.is_none() {
            self.counts.bad_times += 1;
        }
        let ns = ns.unwrap_or(0);
        match row.row.content {
            RowContent::Kernel(_) => {
                let name = row.kernel.clone().unwrap_or_else(|| "?".into());
                self.kernels.entry(name).or_default().add(ns);
            }
            RowContent::Copy(_) => self.copies.add(ns),
            RowContent::Set { .. } => self.fills.add(ns),
            RowContent::State(state) => {
                if state.reason == reason::TAKEN_LATER {
                    let (pid, reason) = (row.process.pid, state.reason);
                    self.missing.push(MissingTime { pid, reason, from_ns: row.ns, until_ns: None });
                }
                self.reasons.insert(row.process.key, state.reason);
                self.is_simulated |= place.device == rows::SIMULATED;
            }
            RowContent::DriverCall { .. } | RowContent::Clock { .. } => {}
        }
    }

    /// The lines for the end of the trace; none without rows.
    pub fn lines(&self) -> Vec<String> {
        if self.reasons.is_empty() && self.kernels.is_empty() {
            return Vec::new();
        }
        let mut kernels: Vec<(&Arc<str>, Sums)> = self.kernels.iter().map(|(name, sums)| (name, *sums)).collect();
        kernels.sort_by(|(one, a), (two, b)| (Reverse(a.ns), one).cmp(&(Reverse(b.ns), two)));
        let all_kernels: u64 = kernels.iter().map(|(_, sums)| sums.count).sum();
        let ns: u64 = kernels.iter().map(|(_, sums)| sums.ns).sum::<u64>() + self.copies.ns + self.fills.ns;
        let mut lines = Vec::new();
        if all_kernels + self.copies.count + self.fills.count > 0 {
            let count = |n: u64, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
            let (copies, fills) = (count(self.copies.count, "copy").replace("copys", "copies"), self.fills.count);
            let invented = if self.is_simulated { "; the times are invented by the simulated CUPTI" } else { "" };
            let kernels = count(all_kernels, "kernel");
            lines.push(format!("GPU time: {}, in {kernels}, {copies} and {}{invented}", time(ns), count(fills, "set")));
        }
        for (name, sums) in kernels.iter().take(LISTED) {
            lines.push(format!("{:>9} {:>8}x {}", time(sums.ns), sums.count, fitting(name, NAME_WIDTH)));
        }
        if kernels.len() > LISTED {
            lines.push(format!("  and {} more kernels", kernels.len() - LISTED));
        }
        let mut reasons: BTreeMap<u32, u64> = BTreeMap::new();
        self.reasons.values().for_each(|reason| *reasons.entry(*reason).or_default() += 1);
        if !reasons.is_empty() {
            let (counts, reasons) = (self.counts, reasons.into_iter().collect());
            let (missing, is_simulated) = (self.missing.clone(), self.is_simulated);
            lines.extend(gpu_time_lines(&GpuSummary { counts, reasons, missing, is_simulated }, None));
        }
        lines.extend((!kernels.is_empty()).then(|| NEXT.to_owned()));
        lines
    }
}
