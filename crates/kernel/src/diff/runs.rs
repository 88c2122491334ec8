//! Two runs: which calls only one of them has, and in which fields calls of both differ.

use super::align::pairs;
use super::normal::{Normal, Normalizer};
use crate::call::Run;
use crate::decode::Decoder;
use crate::error::{Error, Result};
use cutap_printable::printable;
use serde_json::json;
use std::fmt::Write;

/// The most differing fields of one pair that are listed.
const MOST_FIELDS: usize = 8;

/// A difference. Places are those of the calls in their runs, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// Only the first run has the call.
    OnlyFirst(usize, String),
    /// Only the second run has the call.
    OnlySecond(usize, String),
    /// Both have it, and these fields differ: name, first value, second value.
    Fields(usize, usize, String, Vec<(String, String, String)>),
}

/// The comparison of two runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Comparison {
    /// Calls of the first and of the second run.
    pub calls: [usize; 2],
    /// Pairs without a difference.
    pub equal: usize,
    /// All else, in order.
    pub differences: Vec<Difference>,
}

/// Compares two runs. Close, dup and munmap are left out.
///
/// # Errors
/// They have too little in common.
pub fn compare(first: (&Run, &Decoder), second: (&Run, &Decoder)) -> Result<Comparison> {
    let normal = |(run, decoder): (&Run, &Decoder)| -> Vec<(usize, Normal)> {
        let mut normalizer = Normalizer::new(decoder);
        let all = run.calls.iter().enumerate();
        all.filter_map(|(n, call)| Some((n + 1, normalizer.call(call)?))).collect()
    };
    let (a, b) = (normal(first), normal(second));
    let keys = |all: &[(usize, Normal)]| all.iter().map(|(_, n)| n.key.clone()).collect::<Vec<_>>();
    let pairs = pairs(&keys(&a), &keys(&b))
        .ok_or_else(|| Error::new("the runs differ in more than 2000 calls; compare shorter runs"))?;
    let mut comparison = Comparison { calls: [a.len(), b.len()], ..Comparison::default() };
    let (mut x, mut y) = (0, 0);
    let end = (a.len(), b.len());
    for (to_x, to_y) in pairs.into_iter().chain([end]) {
        let only = |all: &[(usize, Normal)], range: std::ops::Range<usize>| {
            all.get(range).unwrap_or_default().iter().map(|(n, call)| (*n, call.key.clone())).collect::<Vec<_>>()
        };
        let out = &mut comparison.differences;
        out.extend(only(&a, x..to_x).into_iter().map(|(n, key)| Difference::OnlyFirst(n, key)));
        out.extend(only(&b, y..to_y).into_iter().map(|(n, key)| Difference::OnlySecond(n, key)));
        if let (Some((n, one)), Some((m, other))) = (a.get(to_x), b.get(to_y)) {
            match fields(one, other) {
                none if none.is_empty() => comparison.equal += 1,
                some => comparison.differences.push(Difference::Fields(*n, *m, one.key.clone(), some)),
            }
        }
        (x, y) = (to_x + 1, to_y + 1);
    }
    Ok(comparison)
}

fn fields(one: &Normal, other: &Normal) -> Vec<(String, String, String)> {
    let absent = || "(absent)".to_owned();
    let mut all = Vec::new();
    for (name, value) in &one.fields {
        let theirs = other.fields.get(name);
        if theirs != Some(value) {
            all.push((name.clone(), value.clone(), theirs.cloned().unwrap_or_else(absent)));
        }
    }
    for (name, value) in other.fields.iter().filter(|(name, _)| !one.fields.contains_key(*name)) {
        all.push((name.clone(), absent(), value.clone()));
    }
    all
}

/// The comparison as text.
#[must_use]
pub fn text(comparison: &Comparison) -> String {
    let [first, second] = comparison.calls;
    let count = |test: fn(&Difference) -> bool| comparison.differences.iter().filter(|d| test(d)).count();
    let mut out = format!(
        "{first} calls and {second} calls: {} equal, {} with other fields, {} only in the first, {} only in \
             the second\n",
        comparison.equal,
        count(|d| matches!(d, Difference::Fields(..))),
        count(|d| matches!(d, Difference::OnlyFirst(..))),
        count(|d| matches!(d, Difference::OnlySecond(..))),
    );
    for difference in &comparison.differences {
        let _ = match difference {
            Difference::OnlyFirst(n, key) => writeln!(out, "- {n}: {}", printable(key)),
            Difference::OnlySecond(n, key) => writeln!(out, "+ {n}: {}", printable(key)),
            Difference::Fields(n, m, key, fields) => {
                let _ = writeln!(out, "~ {n}/{m}: {}", printable(key));
                for (name, one, other) in fields.iter().take(MOST_FIELDS) {
                    let _ = writeln!(out, "      {}: {} | {}", printable(name), short(one), short(other));
                }
                match fields.len().checked_sub(MOST_FIELDS) {
                    Some(more @ 1..) => writeln!(out, "      and {more} more fields"),
                    _ => Ok(()),
                }
            }
        };
    }
    out
}

/// The comparison as JSON, one object a line.
#[must_use]
pub fn json(comparison: &Comparison) -> String {
    let [first, second] = comparison.calls;
    let mut out = json!({"first": first, "second": second, "equal": comparison.equal}).to_string() + "\n";
    for difference in &comparison.differences {
        let line = match difference {
            Difference::OnlyFirst(n, key) => json!({"only": "first", "place": n, "call": key}),
            Difference::OnlySecond(n, key) => json!({"only": "second", "place": n, "call": key}),
            Difference::Fields(n, m, key, fields) => {
                let fields: Vec<_> =
                    fields.iter().map(|(f, a, b)| json!({"field": f, "first": a, "second": b})).collect();
                json!({"places": [n, m], "call": key, "fields": fields})
            }
        };
        out += &(cutap_printable::json(&line.to_string()).into_owned() + "\n");
    }
    out
}

fn short(text: &str) -> String {
    let text = printable(text);
    match text.char_indices().nth(64) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.into_owned(),
    }
}
