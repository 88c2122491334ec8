//! The file of the run directory: rules as the target reads them.

use super::rule_text::InjectRule;
use crate::base::error::{Error, Result};
use cutap_wire::injected::{
    CONDITIONS, Condition, HEAD, Head, MAGIC, NAME, PARAMETER, ROW, ROWS, Row, action, comparison,
};
use std::sync::atomic::AtomicU64;

/// The file's bytes.
pub fn file_bytes(rules: &[InjectRule], seed: u64) -> Result<Vec<u8>> {
    let mut rows = Vec::new();
    for rule in rules {
        let counter = rows.len() as u32;
        rows.extend(rule.functions.iter().map(|function| row(rule, &function.pattern, function.layers, counter)));
    }
    if rows.len() > ROWS {
        return Err(Error::own(format!(
            "--inject names {} functions, and {ROWS} fit; use patterns, as cudaMemcpy*",
            rows.len()
        )));
    }
    let head = Head { magic: MAGIC, version: cutap_wire::VERSION, rows: rows.len() as u32, seed };
    let mut bytes = Vec::with_capacity(HEAD + rows.len() * ROW);
    bytes.extend_from_slice(&head.magic.to_ne_bytes());
    bytes.extend_from_slice(&head.version.to_ne_bytes());
    bytes.extend_from_slice(&head.rows.to_ne_bytes());
    bytes.extend_from_slice(&head.seed.to_ne_bytes());
    rows.iter().for_each(|row| put(row, &mut bytes));
    Ok(bytes)
}

fn row(rule: &InjectRule, pattern: &str, layers: u32, counter: u32) -> Row {
    let none = Condition { parameter: [0; PARAMETER], value: 0, comparison: comparison::NONE, reserved: 0 };
    let mut conditions = [none; CONDITIONS];
    for (to, from) in conditions.iter_mut().zip(&rule.conditions) {
        *to = Condition { parameter: padded(&from.parameter), value: from.value, comparison: from.comparison, ..none };
    }
    let (first, last, step) = rule.when;
    let bits =
        [(rule.result.is_some(), action::RESULT), (rule.is_after, action::AFTER), (rule.set.is_some(), action::SET)];
    let (changed, value) = rule.set.as_ref().map_or(("", 0), |(name, value)| (name.as_str(), *value));
    Row {
        name: padded::<NAME>(pattern),
        conditions,
        changed: padded(changed),
        value,
        result: rule.result.unwrap_or(0),
        delay_enter: rule.delay_enter,
        delay_exit: rule.delay_exit,
        first,
        last,
        step,
        chance: rule.chance,
        layers,
        actions: bits.iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum(),
        signal: rule.signal,
        counter,
        matched: AtomicU64::new(0),
        acted: AtomicU64::new(0),
        refused: AtomicU64::new(0),
    }
}

/// Text that is shorter than its place, filled up with zeros.
fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.iter_mut().zip(text.bytes().take(N - 1)).for_each(|(to, from)| *to = from);
    bytes
}

/// The bytes of a row, field by field, as `repr(C)` has them.
fn put(row: &Row, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&row.name);
    for condition in &row.conditions {
        bytes.extend_from_slice(&condition.parameter);
        bytes.extend_from_slice(&condition.value.to_ne_bytes());
        bytes.extend_from_slice(&condition.comparison.to_ne_bytes());
        bytes.extend_from_slice(&condition.reserved.to_ne_bytes());
    }
    bytes.extend_from_slice(&row.changed);
    let words = [row.value, row.result, row.delay_enter, row.delay_exit, row.first, row.last, row.step, row.chance];
    words.iter().for_each(|word| bytes.extend_from_slice(&word.to_ne_bytes()));
    let halves = [row.layers, row.actions, row.signal, row.counter];
    halves.iter().for_each(|half| bytes.extend_from_slice(&half.to_ne_bytes()));
    bytes.extend_from_slice(&[0; 3 * size_of::<AtomicU64>()]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn bytes_are_those_of_the_struct() {
        let rule = InjectRule::parse("cuLaunchKernel[gridDimX>7]:set=gridDimY=9:error=700:when=2..5+2:signal=9");
        let bytes = file_bytes(&[rule.expect("a rule")], 42).expect("a file");
        assert_eq!(bytes.len(), HEAD + ROW);
        let word = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let half = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        assert_eq!((word(0), half(offset_of!(Head, rows)), word(offset_of!(Head, seed))), (MAGIC, 1, 42));
        let at = |offset: usize| HEAD + offset;
        assert_eq!(word(at(offset_of!(Row, value))), 9);
        assert_eq!((word(at(offset_of!(Row, result))), word(at(offset_of!(Row, first)))), (700, 2));
        assert_eq!((word(at(offset_of!(Row, last))), word(at(offset_of!(Row, step)))), (5, 2));
        assert_eq!(half(at(offset_of!(Row, actions))), action::RESULT | action::SET);
        assert_eq!(half(at(offset_of!(Row, signal))), 9);
        let condition = at(offset_of!(Row, conditions));
        assert_eq!(word(condition + offset_of!(Condition, value)), 7);
        assert_eq!(half(condition + offset_of!(Condition, comparison)), comparison::GREATER);
    }
}
