//! The file of the run directory: rules as the target reads them.

use super::classes::classes;
use super::function_names::FunctionName;
use super::injection::{DRIVER_FUNCTIONS, Injection};
use super::rule_text::InjectRule;
use crate::base::error::{Error, Result};
use cutap_calls::{Role, function_with};
use cutap_wire::injected::{
    Armed, CONDITIONS, COUNTERS, Condition, Counter, Head, MAGIC, MODULE, PARAMETER, ROWS, Row, TEXT, action,
    comparison, part,
};
use std::mem::offset_of;

/// The file's bytes.
pub fn file_bytes(injection: &Injection) -> Result<Vec<u8>> {
    let patterns = injection.patterns();
    let rows = rows_of(&injection.rules, 0)?;
    if patterns.len() > ROWS {
        return Err(too_many(patterns.len()));
    }
    let (classes, surveys) = (classes(), injection.sites.is_some());
    let mut bytes = vec![0; part::bytes(classes.len(), surveys)];
    let mut put = |at: usize, from: &[u8]| {
        if let Some(to) = bytes.get_mut(at..at + from.len()) {
            to.copy_from_slice(from);
        }
    };
    let has_faults =
        patterns.iter().any(|name| name.pattern == DRIVER_FUNCTIONS.0 && name.layers & DRIVER_FUNCTIONS.1 != 0);
    let halves = [
        (offset_of!(Head, version), cutap_wire::VERSION),
        (offset_of!(Head, armed), patterns.len() as u32),
        (offset_of!(Head, next_counter), injection.rules.len() as u32),
        (offset_of!(Head, classes), classes.len() as u32),
        (offset_of!(Head, surveys), surveys.into()),
        (offset_of!(Head, has_faults), has_faults.into()),
        (offset_of!(Head, rows), rows.len() as u32),
    ];
    put(offset_of!(Head, magic), &MAGIC.to_ne_bytes());
    put(offset_of!(Head, seed), &injection.seed.to_ne_bytes());
    halves.iter().for_each(|(at, half)| put(*at, &half.to_ne_bytes()));
    for (n, role) in [Role::AsksCurrentContext, Role::DeviceOfContext].into_iter().enumerate() {
        put(offset_of!(Head, asking) + n * PARAMETER, function_with(role).as_bytes());
    }
    for (n, name) in patterns.iter().enumerate() {
        let at = part::ARMED + n * size_of::<Armed>();
        put(at + offset_of!(Armed, name), name.pattern.as_bytes());
        put(at + offset_of!(Armed, layers), &name.layers.to_ne_bytes());
    }
    rows.iter().enumerate().for_each(|(n, row)| put(part::BANKS + n * size_of::<Row>(), &row_bytes(row)));
    for (n, class) in classes.iter().enumerate() {
        let at = part::CLASSES + n * size_of::<cutap_wire::injected::Class>();
        put(at, &class.hash.to_ne_bytes());
        put(at + 8, &class.bits.to_ne_bytes());
    }
    Ok(bytes)
}

fn too_many(names: usize) -> Error {
    Error::own(format!("the rules name {names} functions, and {ROWS} fit; use patterns, as cudaMemcpy*"))
}

/// The rows of all rules, whose counters begin at this one.
pub fn rows_of(rules: &[InjectRule], first_counter: u32) -> Result<Vec<Row>> {
    let rows: Vec<Row> = rules
        .iter()
        .zip(first_counter..)
        .flat_map(|(rule, counter)| rule.functions.iter().map(move |name| row(rule, name, counter % COUNTERS as u32)))
        .collect();
    if rows.len() > ROWS { Err(too_many(rows.len())) } else { Ok(rows) }
}

fn row(rule: &InjectRule, name: &FunctionName, counter: u32) -> Row {
    let none = Condition { parameter: [0; PARAMETER], value: 0, comparison: comparison::NONE, reserved: 0 };
    let mut conditions = [none; CONDITIONS];
    for (to, from) in conditions.iter_mut().zip(&rule.conditions) {
        *to = Condition { parameter: padded(&from.parameter), value: from.value, comparison: from.comparison, ..none };
    }
    let (first, last, step) = rule.when;
    let delays_after = rule.byte_delay.as_ref().is_some_and(|delay| delay.is_after);
    let bits = [
        (rule.result.is_some(), action::RESULT),
        (rule.is_after, action::AFTER),
        (rule.set.is_some(), action::SET),
        (rule.is_fault, action::FAULT),
        (delays_after, action::BYTES_AFTER),
        (rule.is_of_statuses, action::STATUS_ONLY),
        (rule.site.is_some(), action::SITE),
    ];
    let (changed, value) = rule.set.as_ref().map_or(("", 0), |(name, value)| (name.as_str(), *value));
    let (module, offset) = rule.site.as_ref().map_or(("", 0), |(module, offset)| (module.as_str(), *offset));
    let delay = rule.byte_delay.as_ref().map_or(("", 0), |delay| (delay.parameter.as_str(), delay.bytes_a_second));
    Row {
        name: padded(&name.pattern),
        conditions,
        changed: padded(changed),
        delaying: padded(delay.0),
        module: padded::<MODULE>(module),
        text: padded::<TEXT>(&rule.text),
        value,
        result: rule.result.unwrap_or(0),
        delay_enter: rule.delay_enter,
        delay_exit: rule.delay_exit,
        bytes_a_second: delay.1,
        offset,
        first,
        last,
        step,
        chance: rule.chance,
        layers: name.layers,
        actions: bits.iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum(),
        signal: rule.signal,
        counter,
    }
}

/// Text, filled up with zeros; cut off where it is longer than its place.
fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    let mut end = text.len().min(N - 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    bytes.iter_mut().zip(text.as_bytes().get(..end).unwrap_or_default()).for_each(|(to, from)| *to = *from);
    bytes
}

/// The bytes of a row as it lies in memory.
pub fn row_bytes(row: &Row) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size_of::<Row>());
    bytes.extend_from_slice(&row.name);
    for condition in &row.conditions {
        bytes.extend_from_slice(&condition.parameter);
        bytes.extend_from_slice(&condition.value.to_ne_bytes());
        bytes.extend_from_slice(&condition.comparison.to_ne_bytes());
        bytes.extend_from_slice(&condition.reserved.to_ne_bytes());
    }
    let texts: [&[u8]; 4] = [&row.changed, &row.delaying, &row.module, &row.text];
    texts.iter().for_each(|text| bytes.extend_from_slice(text));
    let (delays, counts) = ([row.delay_enter, row.delay_exit], [row.first, row.last, row.step, row.chance]);
    let words = [row.value, row.result].into_iter().chain(delays).chain([row.bytes_a_second, row.offset]).chain(counts);
    words.for_each(|word| bytes.extend_from_slice(&word.to_ne_bytes()));
    let halves = [row.layers, row.actions, row.signal, row.counter];
    halves.iter().for_each(|half| bytes.extend_from_slice(&half.to_ne_bytes()));
    bytes
}

const _: () = assert!(size_of::<Counter>() == 24);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_the_struct() {
        let rule = InjectRule::parse("cuLaunchKernel[gridDimX>7]:set=gridDimY=9:error=701:when=2..5+2:signal=9");
        let injection = Injection { rules: vec![rule.expect("a rule")], seed: 42, ..Injection::default() };
        let bytes = file_bytes(&injection).expect("a file");
        let word = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let half = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        assert_eq!((word(0), half(offset_of!(Head, armed)), word(offset_of!(Head, seed))), (MAGIC, 1, 42));
        assert_eq!((half(offset_of!(Head, rows)), half(offset_of!(Head, rows) + 4)), (1, 0));
        let at = |offset: usize| part::BANKS + offset;
        assert_eq!(word(at(offset_of!(Row, value))), 9);
        assert_eq!((word(at(offset_of!(Row, result))), word(at(offset_of!(Row, first)))), (701, 2));
        assert_eq!((word(at(offset_of!(Row, last))), word(at(offset_of!(Row, step)))), (5, 2));
        assert_eq!(half(at(offset_of!(Row, actions))), action::RESULT | action::SET);
        assert_eq!(half(at(offset_of!(Row, signal))), 9);
        let condition = at(offset_of!(Row, conditions));
        assert_eq!(word(condition + offset_of!(Condition, value)), 7);
        assert_eq!(half(condition + offset_of!(Condition, comparison)), comparison::GREATER);
        assert_eq!(&bytes[at(offset_of!(Row, text))..][..14], b"cuLaunchKernel");
    }

    #[test]
    fn a_fault_arms_the_driver() {
        let rule = InjectRule::parse("cuMemAlloc:error=CUDA_ERROR_ILLEGAL_ADDRESS").expect("a rule");
        let injection = Injection { rules: vec![rule], ..Injection::default() };
        let patterns: Vec<String> = injection.patterns().into_iter().map(|name| name.pattern).collect();
        assert_eq!(patterns, ["cuMemAlloc", "cu*"]);
    }
}
