//! What rules did in a run: a line for each that did nothing, or that a function did not allow.

use super::rule_text::InjectRule;
use cutap_trace::RunPath;
use cutap_wire::injected::{FILE, HEAD, ROW, ROWS, Row};
use std::mem::offset_of;
use std::path::Path;

/// The counts of a rule.
struct Counts {
    matched: u64,
    acted: u64,
    refused: u64,
}

fn counts(file: &[u8], row: usize) -> Option<Counts> {
    let word = |offset: usize| {
        let at = HEAD + row * ROW + offset;
        Some(u64::from_ne_bytes(file.get(at..at + 8)?.try_into().ok()?))
    };
    Some(Counts {
        matched: word(offset_of!(Row, matched))?,
        acted: word(offset_of!(Row, acted))?,
        refused: word(offset_of!(Row, refused))?,
    })
}

/// A line for each rule that did nothing, or not what it says.
pub fn end_lines(run: &Path, rules: &[InjectRule]) -> Vec<String> {
    let file = RunPath::open(run).and_then(|run| run.join(FILE).read(HEAD + ROWS * ROW)).unwrap_or_default();
    let (mut row, mut lines) = (0, Vec::new());
    for rule in rules {
        if let Some(counts) = counts(&file, row) {
            lines.extend(line(rule, &counts));
        }
        row += rule.functions.len();
    }
    lines
}

fn line(rule: &InjectRule, Counts { matched, acted, refused }: &Counts) -> Option<String> {
    let calls = |number: u64| if number == 1 { "1 call".to_owned() } else { format!("{number} calls") };
    match (*matched, *acted, *refused) {
        (0, _, 0) => Some(format!("--inject '{rule}' did nothing: no such call was made")),
        (0, ..) => Some(format!("--inject '{rule}' did nothing: there is no place for more functions; name fewer")),
        (matched, 0, _) => {
            Some(format!("--inject '{rule}' did nothing: {} matched, and none was its turn", calls(matched)))
        }
        (_, _, 0) => None,
        (_, acted, refused) => Some(format!(
            "--inject '{rule}' was to change {}, and {} did not allow it; name the driver's function instead",
            calls(acted),
            calls(refused)
        )),
    }
}
