//! Sentences on the GPU times of a run: how many rows have their call, and why there are none.

use crate::format::units::time;
use cutap_trace::{GpuSummary, MissingTime};
use cutap_wire::rows::reason;

/// Why a process has no rows, by `reason`.
fn why(reason: u32) -> Option<&'static str> {
    Some(match reason {
        reason::NO_CUPTI => {
            "no libcupti was found beside the CUDA runtime; set CUTAP_CUPTI to the path of libcupti.so of the toolkit"
        }
        reason::NOT_LOADED => "libcupti could not be loaded; set CUTAP_CUPTI to the path of another one",
        reason::NO_FUNCTIONS => "libcupti lacks functions; set CUTAP_CUPTI to the path of a newer one",
        reason::UNKNOWN_VERSION => "this cutap does not know the records of its version of CUPTI; use 11.7 to 13.5",
        reason::NOT_PERMITTED => {
            "the host does not permit profiling (RmProfilingAdminOnly); run as root, or ask the administrator"
        }
        reason::TAKEN => "another tool uses CUPTI in the process; leave that tool out",
        reason::REFUSED => "CUPTI refused to begin",
        reason::NO_THREAD => "no thread could be started in the process",
        _ => return None,
    })
}

/// The times of the simulated CUPTI.
pub const INVENTED: &str = "the GPU times are invented by the simulated CUPTI";

/// One line on a process whose rows are not kept, or not all; none if they are.
pub fn collection_line(of: u32) -> Option<String> {
    match of {
        reason::TAKEN_LATER => Some(
            "a profiler of the program took CUPTI: later rows of GPU time are missing (cutap report --notes says from \
             when)"
                .to_owned(),
        ),
        reason => why(reason).map(|why| format!("no GPU times of a process: {why}")),
    }
}

/// A time without rows. `start` is the start of the first process, if times can be shown relative to it.
fn missing_line(of: &MissingTime, start: Option<u64>, has_one_process: bool) -> Option<String> {
    let after = |ns: u64| start.and_then(|start| ns.checked_sub(start)).map(time);
    let process = if has_one_process { String::new() } else { format!(" of process {}", of.pid) };
    let from = after(of.from_ns).map_or_else(|| "at some time".to_owned(), |time| format!("{time} after the start"));
    match of.reason {
        reason::TAKEN_LATER => Some(format!(
            "a profiler of the program took CUPTI {from}: rows of GPU time{process} end there; leave the profiler out \
             for rows of all work"
        )),
        reason::SWITCHED_OFF => {
            let times = match (after(of.from_ns), of.until_ns, of.until_ns.and_then(after)) {
                (Some(from), _, Some(until)) => format!("from {from} to {until} after the start"),
                (Some(from), None, _) => format!("from {from} after the start to the end"),
                _ => "for a time".to_owned(),
            };
            Some(format!("GPU times{process} were off {times} (cutap ctl): rows of that time are missing"))
        }
        _ => None,
    }
}

/// The lines about what is missing or uncertain, the worst first. See `missing_line` for `start`.
pub fn gpu_time_lines(of: &GpuSummary, start: Option<u64>) -> Vec<String> {
    let counts = &of.counts;
    let mut lines = Vec::new();
    for (reason, processes) in &of.reasons {
        if let Some(why) = why(*reason) {
            let s = if *processes == 1 { "1 process" } else { "processes" };
            let which = if *processes == 1 { s.to_owned() } else { format!("{processes} {s}") };
            lines.push(format!("no GPU times of {which}: {why}"));
        }
    }
    let has_one_process = of.reasons.iter().map(|(_, processes)| processes).sum::<u64>() == 1;
    lines.extend(of.missing.iter().filter_map(|missing| missing_line(missing, start, has_one_process)));
    if of.reasons.is_empty() {
        lines.push("no GPU times: no process called cuInit while its driver could load the injection".to_owned());
    }
    let mut count = |n: u64, one: &str, more: &str| {
        if n > 0 {
            lines.push(format!("{n} {}", if n == 1 { one } else { more }));
        }
    };
    count(
        counts.not_recorded,
        "row of GPU time has no call: its call was not recorded",
        "rows of GPU time have no call: their calls were not recorded",
    );
    count(
        counts.mismatched,
        "row of GPU time has no call: its kernel, grid or bytes are not those of the call with its id",
        "rows of GPU time have no call: their kernels, grids or bytes are not those of the calls with their ids",
    );
    count(
        counts.too_early,
        "row of GPU time has no call: it begins before the call with its id",
        "rows of GPU time have no call: they begin before the calls with their ids",
    );
    count(
        counts.too_late,
        "row of GPU time has no call: it ends after a synchronisation that waited for it",
        "rows of GPU time have no call: they end after synchronisations that waited for them",
    );
    count(counts.bad_times, "row of GPU time has times that cannot be", "rows of GPU time have times that cannot be");
    count(counts.dropped, "row of GPU time was dropped by CUPTI", "rows of GPU time were dropped by CUPTI");
    count(counts.unknown, "record of CUPTI is of an unknown kind", "records of CUPTI are of unknown kinds");
    lines
}

/// One line with the sums.
pub fn gpu_time_line(of: &GpuSummary) -> String {
    let counts = &of.counts;
    format!(
        "{} of {} rows of GPU time have their call, {} have bad times; CUPTI's clock is known to {}{}",
        counts.with_call,
        counts.rows,
        counts.bad_times,
        time(counts.clock_width_ns),
        if of.is_simulated { "; the times are invented by the simulated CUPTI" } else { "" },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_trace::RowCounts;

    #[test]
    fn lines() {
        let counts = RowCounts {
            rows: 9,
            with_call: 7,
            not_recorded: 1,
            bad_times: 2,
            clock_width_ns: 300,
            ..RowCounts::default()
        };
        let mut of =
            GpuSummary { counts, reasons: vec![(reason::NONE, 1), (reason::NO_CUPTI, 2)], ..GpuSummary::default() };
        assert_eq!(
            gpu_time_line(&of),
            "7 of 9 rows of GPU time have their call, 2 have bad times; CUPTI's clock is known to 300ns"
        );
        let lines = gpu_time_lines(&of, None);
        assert!(lines[0].starts_with("no GPU times of 2 processes: no libcupti was found"), "{lines:?}");
        assert_eq!(lines[1], "1 row of GPU time has no call: its call was not recorded");
        assert_eq!(lines[2], "2 rows of GPU time have times that cannot be");
        of.reasons.clear();
        assert!(gpu_time_lines(&of, None)[0].contains("no process called cuInit"));
    }

    #[test]
    fn times_without_rows() {
        const SECOND: u64 = 1_000_000_000;
        let missing = |reason, from_ns, until_ns| MissingTime { pid: 7, reason, from_ns, until_ns };
        let mut of = GpuSummary {
            reasons: vec![(reason::TAKEN_LATER, 1)],
            missing: vec![
                missing(reason::SWITCHED_OFF, 2 * SECOND, Some(3 * SECOND)),
                missing(reason::TAKEN_LATER, 5 * SECOND, None),
            ],
            ..GpuSummary::default()
        };
        let lines = gpu_time_lines(&of, Some(SECOND));
        assert_eq!(
            lines[0],
            "GPU times were off from 1s to 2s after the start (cutap ctl): rows of that time are missing"
        );
        assert!(lines[1].starts_with("a profiler of the program took CUPTI 4s after the start: rows of GPU time end"));
        of.reasons = vec![(reason::NONE, 2)];
        of.missing.pop();
        let lines = gpu_time_lines(&of, None);
        assert_eq!(lines[0], "GPU times of process 7 were off for a time (cutap ctl): rows of that time are missing");
    }
}
