//! Short source files, each of which starts with its purpose.

use anyhow::{Context, Result};
use std::path::Path;

/// Lines above which a file gets a warning, and above which it is an error.
const LONG: usize = 400;
const TOO_LONG: usize = 500;

pub(super) fn check(root: &Path, wrong: &mut Vec<String>) -> Result<()> {
    for folder in ["crates", "xtask", "tests"] {
        walk(&root.join(folder), root, wrong)?;
    }
    Ok(())
}

fn walk(folder: &Path, root: &Path, wrong: &mut Vec<String>) -> Result<()> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry?.path());
    }
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() && name != "target" {
            walk(&path, root, wrong)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            wrong.extend(complaint(&shown, &text));
        }
    }
    Ok(())
}

fn complaint(path: &str, text: &str) -> Option<String> {
    let generated = path.contains("/generated/") && !path.ends_with("/generated/mod.rs");
    let lines = text.lines().count();
    if !text.starts_with("//!") && path.contains("/src/") {
        return Some(format!("{path} does not open with //!: say what it is for and what it must never do"));
    }
    if lines > LONG && !generated {
        let said = format!("{path} has {lines} lines");
        if lines > TOO_LONG {
            return Some(format!("{said}, more than {TOO_LONG}: split it"));
        }
        eprintln!("tidy: warning: {said}, more than {LONG}");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::complaint;

    #[test]
    fn opening_and_length() {
        assert_eq!(complaint("crates/a/src/a.rs", "//! It.\n"), None);
        assert!(complaint("crates/a/src/a.rs", "use b;\n").is_some());
        let long = format!("//! It.\n{}", "x();\n".repeat(500));
        assert!(complaint("crates/a/src/a.rs", &long).is_some());
        assert_eq!(complaint("crates/a/src/generated/a.rs", &long), None);
    }
}
