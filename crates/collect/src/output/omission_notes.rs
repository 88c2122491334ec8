//! The last lines of `record`: what its file lacks, in the words of a trace. It reads no call.

use crate::output::output_format::scan_executables;
use cutap_report::{clock_lines, end_notes};
use cutap_trace::noticed;
use cutap_wire::diagnostic;
use std::path::Path;

/// Reasons that are about how calls are shown, which is said where they are.
const OF_SHOWING: [usize; 6] = [
    diagnostic::SELF_INDUCED,
    diagnostic::STACK_SHORT,
    diagnostic::TOO_DEEP,
    diagnostic::PARAMETERS_ASKED,
    diagnostic::PARAMETERS_UNKNOWN,
    diagnostic::PTX_LEFT_OUT,
];

/// What was missed or not recorded, a line each, by a run directory; where that is gone, by its recording. That nothing
/// was seen at all is said of a run that `is_over`. With GPU time, when the clock of a GPU was low.
pub fn omission_notes(run: &Path, is_over: bool) -> Vec<String> {
    let mut end = noticed(run).unwrap_or_default();
    end.coverage.entered = end.coverage.entered.filter(|_| is_over);
    end.diagnostics.counts.retain(|count| !OF_SHOWING.contains(&count.reason));
    end.diagnostics.gaps.retain(|gap| !OF_SHOWING.contains(&gap.reason));
    scan_executables(&mut end);
    let mut lines = end_notes(&end);
    lines.extend(clock_lines(&end));
    lines
}
