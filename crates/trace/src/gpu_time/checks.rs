//! Whether a row can be of the call that its correlation id leads to. It has the call's kernel and grid, or its bytes.
//! It does not begin before the call, nor end after a call that waited for it. Times are known to a tolerance.

use super::join::RowCounts;
use super::submissions::{Submission, Submissions};
use super::work::WorkRow;
use cutap_calls::gpu_time::copy_kind;
use cutap_wire::rows::RowContent;
use std::collections::HashMap;

/// Checks of the rows of a process.
#[derive(Debug)]
pub struct Checks<'a> {
    submissions: &'a Submissions,
    tolerance_ns: u64,
    /// By correlation id: the bytes of its copies and sets.
    sums: HashMap<u32, u64>,
}

impl<'a> Checks<'a> {
    /// For these rows and calls.
    pub fn new(submissions: &'a Submissions, rows: &[WorkRow], tolerance_ns: u64) -> Checks<'a> {
        let mut sums: HashMap<u32, u64> = HashMap::new();
        for row in rows.iter().filter(|row| row.graph_node().graph == 0) {
            let bytes = match row.row.content {
                RowContent::Copy(copy) => copy.bytes,
                RowContent::Set { bytes, .. } => bytes,
                _ => continue,
            };
            let sum = sums.entry(row.row.place.correlation).or_default();
            *sum = sum.saturating_add(bytes);
        }
        Checks { submissions, tolerance_ns, sums }
    }

    /// Whether the row is of the call; counts why not. Times that cannot be say nothing.
    pub fn is_of(&self, row: &WorkRow, call: &Submission, has_times: bool, counts: &mut RowCounts) -> bool {
        let sum = self.sums.get(&row.row.place.correlation).copied().unwrap_or(0);
        if row.graph_node().graph == 0 && !call.expected.fits(row.row.content, row.kernel.as_ref(), sum) {
            counts.mismatched += 1;
            return false;
        }
        if !has_times {
            return true;
        }
        let is_early = row.start_ns.saturating_add(self.tolerance_ns) < call.start_ns;
        let latest = self.latest_end(row, call);
        let is_late = latest.is_some_and(|latest| row.end_ns > latest.saturating_add(self.tolerance_ns));
        counts.too_early += u64::from(is_early);
        counts.too_late += u64::from(is_late && !is_early);
        !is_early && !is_late
    }

    fn latest_end(&self, row: &WorkRow, call: &Submission) -> Option<u64> {
        let is_to_host = matches!(row.row.content, RowContent::Copy(copy) if copy_kind(copy.kind) == "DtoH");
        let own_end = (call.is_blocking_copy && is_to_host).then_some(call.end_ns);
        own_end.into_iter().chain(self.submissions.latest_end(call)).min()
    }
}
