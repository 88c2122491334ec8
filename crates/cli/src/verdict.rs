//! Whether runs have problems. An error says why that is not known: calls that are missing may have problems, or may
//! have freed what seems to be left.

use cutap_collect::{Error, Result};
use cutap_report::{ended_early, may_lack_frees, missing_calls};
use cutap_trace::{End, FinishedRun};

/// Whether there are problems. Without a problem in runs that lack calls it is not known. Nor is it without a call,
/// unless a filter left calls out.
pub fn of_problems(problems: u64, has_calls: bool, run_ends: &[FinishedRun]) -> Result<bool> {
    if problems > 0 {
        return Ok(true);
    }
    let end_refs: Vec<&End> = run_ends.iter().map(|of| &of.end).collect();
    match missing_calls(&end_refs) {
        None if run_ends.len() > 1 && run_ends.iter().any(|of| of.end.rings == 0) => {
            let empty = run_ends.iter().filter(|of| of.end.rings == 0).map(|of| of.path.display().to_string());
            Err(Error::own(format!(
                "no call is in {}, so whether there is a problem is not known",
                empty.collect::<Vec<_>>().join(" and ")
            )))
        }
        None if !has_calls && !left_out_calls(run_ends) => Err(Error::own(
            "no call was recorded, so whether there is a problem is not known; cutap report --notes says what the run \
             lacks",
        )),
        None => Ok(false),
        Some(missing) => Err(Error::own(format!(
            "no problem was found, but the recording lacks calls ({missing}): record all calls to know whether there \
             is one"
        ))),
    }
}

/// Whether something is left. If calls that free may be missing, a list of what is left proves nothing.
pub fn of_leaks(leaks: u64, has_calls: bool, run_ends: &[FinishedRun]) -> Result<bool> {
    let end_refs: Vec<&End> = run_ends.iter().map(|of| &of.end).collect();
    lacks_later_calls("what is left may have been freed", leaks, run_ends)?;
    match ended_early(&end_refs) {
        Some(sentence) => Err(Error::own(format!(
            "what is left is no leak for certain: {sentence}; let the program end by itself to know it"
        ))),
        None => of_problems(leaks, has_calls, run_ends),
    }
}

/// Fails if calls may be missing that clear these problems.
pub fn lacks_later_calls(doubt: &str, problems: u64, run_ends: &[FinishedRun]) -> Result<()> {
    let end_refs: Vec<&End> = run_ends.iter().map(|of| &of.end).collect();
    let lacks = problems > 0 && may_lack_frees(&end_refs);
    match missing_calls(&end_refs).filter(|_| lacks) {
        Some(missing) => {
            Err(Error::own(format!("{doubt}: the recording lacks calls ({missing}); record all calls to know it")))
        }
        None => Ok(()),
    }
}

/// Whether the filter of the reader left out calls.
fn left_out_calls(run_ends: &[FinishedRun]) -> bool {
    run_ends.iter().any(|of| of.end.filtered.as_ref().is_some_and(|filtered| filtered.filtered_out > 0))
}
