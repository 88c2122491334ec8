//! Arguments that were not decoded, by function: in short at the end of a trace, in full in `cutap report
//! --undecoded`. A function of several processes has one line.

use cutap_trace::{End, Layer};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The largest number of functions in the short form.
const NAMED: usize = 3;

/// A function and its undecoded arguments.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    /// Library and name; the driver's need no library.
    library: String,
    name: String,
    calls: u64,
    /// Parameters with their counts; empty if the function has no description.
    params: BTreeMap<&'static str, u64>,
}

impl Row {
    fn count(&self) -> u64 {
        if self.params.is_empty() { self.calls } else { self.params.values().sum() }
    }
}

/// Functions with undecoded arguments, and functions without a description, the most frequent first.
fn rows(end: &End) -> (Vec<Row>, Vec<Row>) {
    let mut merged: BTreeMap<(bool, String, String), Row> = BTreeMap::new();
    // What a ring got is shown in another form.
    for raw in end.functions.undecoded.iter().filter(|raw| ![Layer::SUBMIT, Layer::NVTX].contains(&raw.function.layer))
    {
        let f = &raw.function;
        // A static runtime would have the name of its program.
        let library = match f.layer {
            Layer::RUNTIME => "runtime".to_owned(),
            _ => f.library.to_string(),
        };
        let key = (f.described.is_some(), library.clone(), f.display_name().to_owned());
        let row = merged.entry(key).or_insert_with(|| {
            let name = f.display_name().to_owned();
            Row { library, name, calls: 0, params: BTreeMap::new() }
        });
        row.calls += raw.calls;
        for (name, count) in raw.raw() {
            *row.params.entry(name).or_default() += count;
        }
    }
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for ((described, ..), row) in merged {
        if described { known.push(row) } else { unknown.push(row) }
    }
    for rows in [&mut known, &mut unknown] {
        rows.sort_by(|a, b| b.count().cmp(&a.count()).then_with(|| (&a.name, &a.library).cmp(&(&b.name, &b.library))));
    }
    (known, unknown)
}

/// The lines of the short form.
pub fn raw_lines(end: &End) -> Vec<String> {
    let (known, unknown) = rows(end);
    let functions = |rows: &[Row]| {
        let names: Vec<&str> = rows.iter().take(NAMED).map(|r| r.name.as_str()).collect();
        let more = if rows.len() > NAMED { ", ..." } else { "" };
        let functions = if rows.len() == 1 { "function" } else { "functions" };
        format!("of {} {functions} ({}{more})", rows.len(), names.join(", "))
    };
    let count = |rows: &[Row]| rows.iter().map(Row::count).sum::<u64>();
    let known_line = (!known.is_empty()).then(|| {
        let (count, of) = (count(&known), functions(&known));
        format!("arguments shown as plain addresses: {count} {of}; cutap report --undecoded DIR lists all")
    });
    let unknown = (!unknown.is_empty()).then(|| {
        let (count, of) = (count(&unknown), functions(&unknown));
        let calls = if count == 1 { "call" } else { "calls" };
        format!("arguments shown as plain words, for nothing is known of them: {count} {calls} {of}")
    });
    known_line.into_iter().chain(unknown).collect()
}

/// The full list.
pub fn undecoded_report(end: &End) -> String {
    let (known, unknown) = rows(end);
    let mut text = String::new();
    let mut list = |title: &str, none: &str, rows: &[Row]| {
        text.push_str(if rows.is_empty() { none } else { title });
        text.push('\n');
        for row in rows {
            let params: Vec<String> = row.params.iter().map(|(name, n)| format!("{name} {n}")).collect();
            let params = if params.is_empty() { String::new() } else { format!(": {}", params.join(", ")) };
            text.push_str(&format!("{:>9}  {} [{}]{params}\n", row.count(), row.name, row.library));
        }
    };
    list("raw arguments, by function and parameter:", "no raw arguments", &known);
    list("calls of functions without a description:", "no calls of functions without a description", &unknown);
    if end.missing.chunks_taken + end.missing.chunks_unknown > 0 {
        let why = if end.missing.chunks_taken > 0 {
            "a collector has read them for its own output"
        } else {
            "nor is the control page, which says why"
        };
        text.push_str(&format!(
            "parts of the trace are not here ({why}), and with them the allocations: \
             addresses of memory are not listed; trace without --run-dir, or record, for the whole list\n",
        ));
    }
    text
}

/// The full list as JSON: `raw` and `undescribed` of the end line.
pub fn raw_json(end: &End) -> (Value, Value) {
    let (known, unknown) = rows(end);
    let known_rows =
        known.iter().map(|r| json!({"library": r.library, "name": r.name, "calls": r.calls, "params": r.params}));
    let unknown = unknown.iter().map(|r| json!({"library": r.library, "name": r.name, "calls": r.calls}));
    (known_rows.collect(), unknown.collect())
}
