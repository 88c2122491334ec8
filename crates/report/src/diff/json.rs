//! Differences as lines of JSON, one object a function.

use super::profile::Sums;
use super::{Diff, Row, only_in};
use crate::format::runs::program_end_json;
use serde_json::{Value, json};
use std::io;

impl Diff<'_> {
    /// One JSON object if the programs ended in different ways, and one a function.
    pub fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        if let Some([a, b]) = self.program_ends {
            writeln!(out, "{}", json!({"type": "program_ends", "a": program_end_json(a), "b": program_end_json(b)}))?;
        }
        self.rows.iter().try_for_each(|Row { key, a, b }| {
            let library = a.or(*b).map(|sums| &*sums.library);
            let line = json!({
                "type": "diff", "layer": key.layer.name(), "library": library, "name": &*key.name, "caller": key.caller.as_deref(),
                "a": side(*a, *b), "b": side(*b, *a),
            });
            writeln!(out, "{line}")
        })
    }
}

/// One run's sums; null if it has no call of the function.
fn side(of: Option<&Sums>, other: Option<&Sums>) -> Value {
    let Some(sums) = of else { return Value::Null };
    let only: Vec<Value> =
        only_in(sums, other).into_iter().map(|(text, calls)| json!({"arguments": text, "calls": calls})).collect();
    json!({
        "library": &*sums.library, "runtime": sums.runtime, "calls": sums.calls, "errors": sums.errors,
        "statuses": sums.statuses, "unfinished": sums.open, "total_ns": sums.ns, "start_up_ns": sums.once_ns,
        "bytes": sums.bytes, "only": only, "only_left_out": sums.more,
    })
}
