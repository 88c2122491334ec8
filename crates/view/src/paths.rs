//! Calls by path, for the picture of who calls what: labels, and for each path its labels, calls and times.

use cutap_report::{CallTree, Chain, Label};
use serde_json::{Value, json};

/// Paths on the page at most, those with the most time. The page says how many it leaves out.
const MOST: usize = 20_000;

/// The paths of a tree.
pub fn paths(tree: &CallTree) -> Value {
    let mut paths = tree.chains();
    let all = paths.chains.len();
    paths.chains.sort_by(|a, b| (b.sums.total_ns, &a.labels).cmp(&(a.sums.total_ns, &b.labels)));
    let label = |label: &Label| json!([&*label.name, label.layer.name(), &*label.library, label.runtime.as_deref()]);
    let chain = |of: &Chain| json!([of.labels, of.sums.calls, of.sums.errors, of.sums.total_ns, of.sums.self_ns]);
    json!({
        "labels": paths.labels.iter().map(label).collect::<Vec<_>>(),
        "paths": paths.chains.iter().take(MOST).map(chain).collect::<Vec<_>>(),
        "left_out": all.saturating_sub(MOST),
    })
}
