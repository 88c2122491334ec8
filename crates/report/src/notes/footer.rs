//! The last lines of a trace: the runtimes, what was not seen and why, what was lost. A complete trace has no such
//! lines.

use crate::notes::gpu_clocks::clock_lines;
use crate::notes::gpu_time::{gpu_time_line, gpu_time_lines};
use crate::notes::messages::{counted, filled};
use crate::notes::switched::{start, switched_lines};
use crate::notes::undecoded::raw_lines;
use crate::notes::unseen::{cleaned_line, unseen_lines};
use cutap_trace::{Absent, End, FilterOutcome, MissingParameter, Why, printable};
use cutap_wire::diagnostic;
use std::collections::BTreeMap;

/// The largest number of names below a message.
const LISTED: usize = 20;
/// The largest number of names in a line.
const FEW: usize = 3;

/// The capture range of the run never began.
pub(crate) const NEVER_BEGAN: &str = "nothing was recorded: no call was made in the capture range (cudaProfilerApi: \
                           between cuProfilerStart and cuProfilerStop; nvtx: while a range of the name is open)";

pub(crate) const NAMELESS: &str =
    "{function without a name: its name record was|functions without a name: their name records were} not found";
pub(crate) const OVERWRITTEN: &str = "{call|calls} older than what the flight recorder kept";
pub(crate) const CHUNKS_TAKEN: &str =
    "{part|parts} of the trace not here: a collector has read {it|them} for its own output";
pub(crate) const CHUNKS_UNKNOWN: &str = "{part|parts} of the trace not here: nobody knows whether \
                                         {it was|they were} read or written over, as the control page is missing";
pub(crate) const CHUNKS_LOST: &str =
    "{part|parts} of the trace lost: written over before {it was|they were} read, or damaged";
pub(crate) const RECORDS_CUT: &str =
    "{event|events} cut off: {its thread was|their threads were} stopped while writing {it|them}";

pub(crate) const RECORDS_UNKNOWN: &str = "{record is|records are} of a kind that this cutap does not know";

/// All lines, without the `cutap: ` before each.
pub fn end_lines(end: &End) -> Vec<String> {
    let mut lines = Vec::new();
    runtimes(end, &mut lines);
    linked_in(end, &mut lines);
    after_runtimes(end, &mut lines);
    lines
}

/// The same without notes on calls that cutap caused and on functions that a static runtime does not report. No reader
/// of a trace can act on them.
pub fn concerning_lines(end: &End) -> Vec<String> {
    let mut lines = Vec::new();
    runtimes(end, &mut lines);
    after_runtimes(&without_caused(end), &mut lines);
    lines
}

fn after_runtimes(end: &End, lines: &mut Vec<String>) {
    lines.extend(program_end_note(end));
    if let Some(of) = &end.gpu_time {
        lines.push(gpu_time_line(of));
        lines.extend(gpu_time_lines(of, start(end)));
    }
    lines.extend(clock_lines(end));
    missing(end, lines);
    lines.extend(raw_lines(end));
    filter_lines(end, lines);
    lines.extend(unopened_range_line(end));
    running(end, lines);
}

/// Where a rank of a job was recorded, and what its launcher told.
pub fn host_line(end: &End) -> Option<String> {
    let host = &end.host;
    let name = host.name.as_deref().filter(|_| host.rank.is_some() || !host.launcher.is_empty())?;
    let rank = host.rank.map_or_else(String::new, |rank| format!(" as rank {rank}"));
    let variables: Vec<String> = host.launcher.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let variables = if variables.is_empty() { String::new() } else { format!(": {}", variables.join(" ")) };
    let boot = host.boot_id.as_deref().map_or_else(String::new, |boot| format!(", boot {boot}"));
    Some(printable(&format!("recorded on {name}{rank}{boot}{variables}")).into_owned())
}

/// How the program of a recording failed. The reader of a live trace sees it in the shell.
pub fn program_end_note(end: &End) -> Option<String> {
    let program_end = end.coverage.program_end.filter(|of| of.is_failure() && end.recording.is_some());
    program_end.map(|program_end| format!("the program {program_end}"))
}

/// These lines with the rank of their note: 0 for lost calls, then what was not seen, then what is good to know.
pub fn ranked_lines(end: &End) -> Vec<(u8, String)> {
    let end = &without_caused(end);
    let mut ranked = Vec::new();
    let mut take = |rank: u8, lines: &mut Vec<String>| ranked.extend(lines.drain(..).map(|line| (rank, line)));
    let mut lines = Vec::new();
    losses(end, &mut lines);
    take(0, &mut lines);
    filter_lines(end, &mut lines);
    lines.extend(unopened_range_line(end));
    take(1, &mut lines);
    lines.extend(program_end_note(end));
    lines.extend(clock_lines(end));
    gaps(end, &mut lines);
    take(2, &mut lines);
    running(end, &mut lines);
    take(3, &mut lines);
    runtimes(end, &mut lines);
    take(4, &mut lines);
    lines.extend(raw_lines(end));
    take(5, &mut lines);
    ranked
}

/// Calls that cutap caused and does not show: nothing is missing because of them.
const CAUSED: [usize; 2] = [diagnostic::SELF_INDUCED, diagnostic::PARAMETERS_ASKED];

/// Without the calls that cutap caused.
fn without_caused(end: &End) -> End {
    let mut end = end.clone();
    end.diagnostics.counts.retain(|count| !CAUSED.contains(&count.reason));
    end
}

/// The notes of [`end_notes`] that each answer needs: lost calls, an empty run, times without recording. Then the
/// number of the others.
pub fn important_notes(end: &End) -> (Vec<String>, usize) {
    let end = &without_caused(end);
    let mut lines = Vec::new();
    lines.extend(program_end_note(end));
    losses(end, &mut lines);
    let lost = end.diagnostics.counts.iter().filter(|count| count.is_loss());
    lines.extend(lost.map(|count| counted(end, count.reason, count.count)));
    filter_lines(end, &mut lines);
    lines.extend(unopened_range_line(end));
    absent(end, &mut lines);
    lines.extend(unseen_lines(end));
    lines.extend(switched_lines(end));
    running(end, &mut lines);
    let all = end_notes(end).iter().filter(|line| !line.starts_with("  ")).count();
    let omitted = all.saturating_sub(lines.len());
    (lines, omitted)
}

/// The lines that tell what a sum of calls lacks.
pub fn end_notes(end: &End) -> Vec<String> {
    let end = &without_caused(end);
    let mut lines = Vec::new();
    lines.extend(program_end_note(end));
    missing(end, &mut lines);
    filter_lines(end, &mut lines);
    lines.extend(unopened_range_line(end));
    running(end, &mut lines);
    lines
}

/// The line on a capture range that never began. A run without the driver has a more precise one.
pub fn unopened_range_line(end: &End) -> Option<String> {
    (end.never_began() && end.without_driver().is_none()).then(|| NEVER_BEGAN.to_owned())
}

/// What was not seen or not recorded, and why.
fn missing(end: &End, lines: &mut Vec<String>) {
    gaps(end, lines);
    losses(end, lines);
}

/// What was not seen, for a reason that was counted or listed.
fn gaps(end: &End, lines: &mut Vec<String>) {
    lines.extend(unseen_lines(end));
    lines.extend(cleaned_line(end));
    lines.extend(switched_lines(end));
    let mut reasons: BTreeMap<usize, (u64, Vec<String>)> = BTreeMap::new();
    for count in &end.diagnostics.counts {
        reasons.entry(count.reason).or_default().0 = count.count;
    }
    for gap in &end.diagnostics.gaps {
        let more = if gap.detail.is_empty() { String::new() } else { format!(" ({})", gap.detail) };
        reasons.entry(gap.reason).or_default().1.push(format!("{}{more}", gap.name));
    }
    for (reason, (count, mut names)) in reasons {
        names.sort();
        names.dedup();
        lines.push(counted(end, reason, count.max(names.len() as u64)));
        lines.extend(names.iter().take(LISTED).map(|name| format!("  {name}")));
        if names.len() > LISTED {
            lines.push(format!("  and {} more", names.len() - LISTED));
        }
    }
    absent(end, lines);
}

/// Calls that were made and are not there.
fn losses(end: &End, lines: &mut Vec<String>) {
    for (count, message) in [
        (if is_damaged(end) { 0 } else { end.missing.nameless }, NAMELESS),
        (end.missing.overwritten, OVERWRITTEN),
        (end.missing.chunks_taken, CHUNKS_TAKEN),
        (end.missing.chunks_unknown, CHUNKS_UNKNOWN),
        // Damaged parts have a sentence elsewhere.
        (end.missing.chunks_lost.saturating_sub(end.missing.damaged_chunks), CHUNKS_LOST),
        (end.missing.records_cut, RECORDS_CUT),
        (end.missing.records_unknown, RECORDS_UNKNOWN),
    ] {
        lines.extend((count > 0).then(|| format!("{count} {}", filled(message, count))));
    }
    if end.processes.failed > 0 {
        let processes = if end.processes.failed == 1 { "process" } else { "processes" };
        lines.push(format!(
            "{} {processes} could not write to the run directory (disk full, file size limit, no free descriptor, \
             another user?): nothing of them was recorded",
            end.processes.failed
        ));
    }
}

/// The names may have been in a damaged block, which has a message of its command.
fn is_damaged(end: &End) -> bool {
    end.recording.as_ref().is_some_and(|r| r.damaged > 0 || r.cut.why == Why::Damaged)
}

/// Files whose symbols could not be read.
fn absent(end: &End, lines: &mut Vec<String>) {
    if end.absent.is_empty() {
        return;
    }
    lines.push(match end.absent.len() {
        1 => "1 file that stacks lead through cannot be read as it was: its frames are addresses".to_owned(),
        n => format!("{n} files that stacks lead through cannot be read as they were: their frames are addresses"),
    });
    let one = |a: &Absent| format!("  {} ({})", a.path, if a.changed { "changed since" } else { "not here" });
    lines.extend(end.absent.iter().take(LISTED).map(one));
    if end.absent.len() > LISTED {
        lines.push(format!("  and {} more", end.absent.len() - LISTED));
    }
}

fn running(end: &End, lines: &mut Vec<String>) {
    for process in &end.processes.running {
        lines.push(format!("process {} ({}) is still running", process.pid, printable(&process.exe)));
    }
}

/// What a filter could not find.
fn filter_lines(end: &End, lines: &mut Vec<String>) {
    let Some(filtered) = &end.filtered else { return };
    lines.extend(filtered.unrecorded.iter().map(|layer| {
        let name = layer.name();
        format!("the layer {name} was not recorded in this run; cutap record -e {name} records it")
    }));
    lines.extend(nothing_matched(filtered, end));
}

/// Functions that were called and that have no parameter of a condition's name, with those that they have.
fn lacking(functions: &[MissingParameter]) -> impl Iterator<Item = String> {
    functions.chunk_by(|a, b| a.parameter == b.parameter).map(|same| {
        let of = |f: &MissingParameter| format!("{} ({})", f.function, f.params.join(", "));
        let more = match same.len().saturating_sub(FEW) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let named = same.iter().take(FEW).map(of).collect::<Vec<_>>().join(", ");
        let first = same.first().map_or("", |f| &f.parameter);
        format!("; there is no parameter {first} in {named}{more}")
    })
}

/// A filter without a match is most likely a mistake.
fn nothing_matched(filtered: &FilterOutcome, end: &End) -> Option<String> {
    if filtered.shown_calls > 0 {
        return None;
    }
    let text = &filtered.text;
    let linked = end.processes.instances.iter().find(|of| !of.shared && text.contains("libcudart"));
    let linked = linked.map(|of| format!("; the runtime is linked into {0}: write cudart, or {0}:*", of.library));
    let near = filtered.near.iter().map(|(word, near)| format!("; {word}: did you mean {}?", near.join(", ")));
    let mut near: String = near.chain(linked).chain(lacking(&filtered.missing_parameters)).collect();
    if filtered.is_intersection {
        near += "; all of -e A -e B must hold, as of A & B: a comma means or, as in -e A,B";
    }
    if names_library(text) {
        near += "; LIBRARY:FUNCTION means the library that has the function: cutap report --callers FUNCTION shows who \
                 calls it";
    }
    Some(match filtered.filtered_out {
        0 => format!("nothing matched the filter {text}: no such call was reached{near}"),
        1 => format!("nothing matched the filter {text}; 1 call was seen and left out{near}"),
        n => format!("nothing matched the filter {text}; {n} calls were seen and left out{near}"),
    })
}

/// Whether a term of a filter is a function of a library; users also write the library that calls.
fn names_library(filter: &str) -> bool {
    let terms = filter.split(|c: char| ",&! ".contains(c));
    let is_hidden = |name: &str| name == "hidden" || name.contains('[');
    terms.filter_map(|term| term.split_once(':')).any(|(library, name)| library.starts_with("lib") && !is_hidden(name))
}

/// The runtimes that were seen.
fn runtimes(end: &End, lines: &mut Vec<String>) {
    let mut listed: Vec<String> = Vec::new();
    for instance in &end.processes.instances {
        let version = instance.version.as_deref().unwrap_or("of unknown version");
        let text = format!("{version} in {} ({})", instance.library, instance.linkage());
        if !listed.contains(&text) {
            listed.push(text);
        }
    }
    if !listed.is_empty() {
        lines.push(format!("runtimes seen: {}", listed.join(", ")));
    }
}

/// The functions that static runtimes do not report.
fn linked_in(end: &End, lines: &mut Vec<String>) {
    let linked = end.linked_in();
    if !linked.is_empty() {
        // A framework has a dozen. JSON has all of them.
        let more = match linked.len() {
            n if n > FEW => format!(" and {} more (--json lists all)", n - FEW),
            _ => String::new(),
        };
        lines.push(format!(
            "not seen in {}{more}: __cudaRegister*, __cudaPushCallConfiguration, __cudaPopCallConfiguration (a runtime \
             that is linked in reports no call of them), nor what is called before it is initialised (often \
             cudaRuntimeGetVersion, cudaDriverGetVersion, cudaGetErrorString)",
            linked[..linked.len().min(FEW)].join(", ")
        ));
    }
}
