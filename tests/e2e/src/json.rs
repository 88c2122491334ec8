//! The output of `--json`: one object a line.

use serde_json::Value;

/// The lines, in their order. Any line that is no JSON fails the test.
pub fn json_lines(text: &str) -> impl Iterator<Item = Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("not JSON ({e}): {line}")))
}
