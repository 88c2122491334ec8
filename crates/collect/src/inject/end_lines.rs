//! What rules did in a run: a line for each that did nothing, or that a function did not allow.

use super::rule_text::InjectRule;
use super::run_file::{Counts, RunFile};
use std::path::Path;

/// A line for each rule that did nothing, or not what it says. After `cutap ctl` these are the rules of the end.
pub fn end_lines(run: &Path, rules: &[InjectRule]) -> Vec<String> {
    let Some(file) = RunFile::read(run) else { return Vec::new() };
    let name = |n: usize, text: &str| match rules.get(n).filter(|rule| rule.text.starts_with(text)) {
        Some(rule) => rule.to_string(),
        None => format!("the rule '{text}'"),
    };
    file.rules().iter().enumerate().filter_map(|(n, rule)| line(&name(n, &rule.text), &rule.counts)).collect()
}

fn line(rule: &str, Counts { matched, acted, refused }: &Counts) -> Option<String> {
    match (*matched, *acted, *refused) {
        (0, ..) => Some(format!("{rule} did nothing: no such call was made")),
        (matched, 0, _) => Some(format!("{rule} did nothing: {} matched, and none was its turn", calls(matched))),
        (_, _, 0) => None,
        (_, acted, refused) => Some(format!(
            "{rule} was to change {}, and {} did not allow it; name the driver's function instead",
            calls(acted),
            calls(refused)
        )),
    }
}

/// `1 call`, `2 calls`.
pub fn calls(number: u64) -> String {
    if number == 1 { "1 call".to_owned() } else { format!("{number} calls") }
}
