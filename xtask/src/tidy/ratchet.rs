//! Numbers of findings that are still allowed, by rule and by crate or folder, in a TOML file. A number may only
//! shrink: `cargo xtask tidy --shrink` lowers it, and nothing raises it.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::Path;

/// Findings by rule and by crate or folder.
pub(super) type Counts = BTreeMap<String, BTreeMap<String, usize>>;

/// Reads the allowed numbers.
pub(super) fn read(root: &Path, file: &str) -> Result<Counts> {
    let text = std::fs::read_to_string(root.join(file)).with_context(|| file.to_owned())?;
    toml::from_str(&text).with_context(|| file.to_owned())
}

/// Lowers the allowed numbers to the present ones. Numbers that would rise stay. `what` is what is counted.
pub(super) fn shrink(root: &Path, file: &str, what: &str, present: &Counts) -> Result<()> {
    let counts = lowered(&read(root, file)?, present);
    std::fs::write(root.join(file), written(&counts, what)).with_context(|| file.to_owned())
}

/// The number of a rule in a place.
pub(super) fn number(counts: &Counts, rule: &str, place: &str) -> usize {
    counts.get(rule).and_then(|places| places.get(place)).copied().unwrap_or(0)
}

/// Adds one finding.
pub(super) fn add(counts: &mut Counts, rule: &str, place: &str) {
    *counts.entry(rule.to_owned()).or_default().entry(place.to_owned()).or_default() += 1;
}

fn lowered(allowed: &Counts, present: &Counts) -> Counts {
    let mut lowered = allowed.clone();
    for (rule, places) in &mut lowered {
        for (place, count) in places.iter_mut() {
            *count = (*count).min(number(present, rule, place));
        }
        places.retain(|_, count| *count > 0);
    }
    lowered
}

fn written(counts: &Counts, what: &str) -> String {
    let mut out = format!(
        "# {what} that are still allowed, by crate or folder. Numbers may only shrink:\n\
         # `cargo xtask tidy --shrink` writes this file.\n"
    );
    for (rule, places) in counts {
        out.push_str(&format!("\n[{rule}]\n"));
        out.extend(places.iter().map(|(place, count)| format!("{place:?} = {count}\n")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(text: &str) -> Counts {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn shrinking_never_raises() {
        let present = limits("phrases = { docs = 2, tests = 9 }");
        let lower = lowered(&limits("phrases = { docs = 5, tests = 1, gone = 3 }"), &present);
        assert_eq!(lower, limits("phrases = { docs = 2, tests = 1 }"));
        assert_eq!(limits(&written(&lower, "Findings")), lower);
    }
}
