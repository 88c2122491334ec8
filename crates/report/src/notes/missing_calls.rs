//! Which calls recordings lack, in a few words: an answer without a problem holds only for those that they have.

use cutap_trace::{End, ProgramEnd, Why};

/// The calls that these runs lack, with commas between the reasons. None if none is known to be missing.
pub fn missing_calls(ends: &[&End]) -> Option<String> {
    let mut filters: Vec<&str> = ends.iter().filter_map(|end| end.coverage.filter.as_deref()).collect();
    filters.sort_unstable();
    filters.dedup();
    missing(ends, &filters)
}

/// The calls that a run lacks of those before its end.
pub fn missing_earlier_calls(end: &End) -> Option<String> {
    let mut earlier = end.clone();
    earlier.processes.running.clear();
    if let Some(recording) = earlier.recording.as_mut().filter(|recording| recording.cut.why == Why::Open) {
        recording.cut.why = Why::Ended;
    }
    let read_before = (end.missing.chunks_taken > 0).then(|| "those that another reader has taken".to_owned());
    let missing: Vec<String> = missing_calls(&[&earlier]).into_iter().chain(read_before).collect();
    (!missing.is_empty()).then(|| missing.join(", "))
}

/// The collectives that a run may lack. A filter that selects functions leaves out the same ones on all ranks.
pub fn missing_collectives(end: &End) -> Option<String> {
    let mut end = end.clone();
    let has_condition = |text: &str| text.contains(['<', '>', '=', ':']) || text.contains("error");
    end.coverage.filter = end.coverage.filter.take().filter(|text| has_condition(text));
    missing_earlier_calls(&end)
}

/// The calls that a run lacks and that another run may have. Two runs with one filter lack the same ones by it.
pub fn missing_against(end: &End, other: &End) -> Option<String> {
    let filter = end.coverage.filter.as_deref().filter(|filter| other.coverage.filter.as_deref() != Some(*filter));
    missing(&[end], filter.as_slice())
}

fn missing(ends: &[&End], filters: &[&str]) -> Option<String> {
    let sum = |of: &dyn Fn(&End) -> u64| ends.iter().map(|end| of(end)).fold(0, u64::saturating_add);
    let any = |of: &dyn Fn(&End) -> bool| ends.iter().any(|end| of(end));
    let calls = |count: u64| if count == 1 { "1 call".to_owned() } else { format!("{count} calls") };
    let overwritten = sum(&|end| end.missing.overwritten);
    let lost = sum(&|end| end.diagnostics.counts.iter().filter(|count| count.is_loss()).map(|count| count.count).sum());
    let mut missing: Vec<String> = Vec::new();
    missing.extend((overwritten > 0).then(|| format!("{} overwritten by newer ones", calls(overwritten))));
    missing.extend(filters.iter().map(|text| format!("those that the filter {text} left out")));
    missing.extend((lost > 0).then(|| format!("{} not recorded", calls(lost))));
    for (is_so, text) in [
        (any(&has_lost_parts), "those in parts that are lost or cannot be read"),
        (any(&|end| end.processes.failed > 0), "those of processes that could not write"),
        (any(&is_switched), "those while recording was off or had another filter"),
        (any(&|end| end.settings.has_range), "those outside the capture range"),
        (any(&is_running), "those that it will still make, for it runs"),
        (any(&has_no_end), "those after its end, for it is being written or its writer was killed"),
    ] {
        missing.extend(is_so.then(|| text.to_owned()));
    }
    (!missing.is_empty()).then(|| missing.join(", "))
}

/// The signal's sentence, if one ended a program: it did not come to the calls that free.
pub fn ended_early(ends: &[&End]) -> Option<String> {
    let by_signal = |end: &&&End| matches!(end.coverage.program_end, Some(ProgramEnd::Signal(_)));
    let program_end = ends.iter().find(by_signal)?.coverage.program_end?;
    Some(format!("the program {program_end} and did not come to its last calls"))
}

/// Whether calls that free may be among the missing ones. What a flight recorder wrote over is older than what it has.
pub fn may_lack_frees(ends: &[&End]) -> bool {
    let lacks = |end: &&&End| {
        end.coverage.filter.is_some()
            || is_switched(end)
            || end.settings.has_range
            || has_no_end(end)
            || is_running(end)
    };
    ends.iter().any(|end| lacks(&end))
}

/// Recording was off for a while, or other calls were recorded than the filter says.
fn is_switched(end: &End) -> bool {
    !end.settings.switched.0.is_empty() || end.settings.switched.1 > 0 || end.coverage.is_off
}

/// It is the run directory of a program that runs.
fn is_running(end: &End) -> bool {
    !end.processes.running.is_empty()
}

/// The recording has no end in order: it is being written, or its writer was killed.
fn has_no_end(end: &End) -> bool {
    end.recording.as_ref().is_some_and(|recording| matches!(recording.cut.why, Why::Open))
}

/// Parts of the run were lost, or cannot be read.
fn has_lost_parts(end: &End) -> bool {
    let is_damaged = |why| !matches!(why, Why::Ended | Why::Open);
    let recording = end.recording.as_ref();
    recording.is_some_and(|r| r.damaged > 0 || r.holes > 0 || is_damaged(r.cut.why))
        || [
            end.missing.damaged_chunks,
            end.missing.chunks_taken,
            end.missing.chunks_unknown,
            end.missing.chunks_lost,
            end.missing.records_cut,
        ]
        .iter()
        .any(|n| *n > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_trace::MissingRecords;

    #[test]
    fn reasons_are_named() {
        let whole = End::default();
        assert_eq!(missing_calls(&[&whole]), None);
        let mut end = End { missing: MissingRecords { overwritten: 7, ..MissingRecords::default() }, ..End::default() };
        end.coverage.by_filter = true;
        assert_eq!(missing_calls(&[&whole, &end]).unwrap(), "7 calls overwritten by newer ones");
        end.coverage.filter = Some("cuMemcpy*".to_owned());
        assert_eq!(
            missing_calls(&[&end, &end]).unwrap(),
            "14 calls overwritten by newer ones, those that the filter cuMemcpy* left out"
        );
        assert_eq!(missing_against(&end, &end).unwrap(), "7 calls overwritten by newer ones");
        assert!(missing_against(&end, &whole).unwrap().contains("the filter cuMemcpy* left out"));
        assert!(
            missing_calls(&[&End {
                missing: MissingRecords { damaged_chunks: 1, ..MissingRecords::default() },
                ..End::default()
            }])
            .unwrap()
            .contains("cannot be read")
        );
    }
}
