//! Plain prose: short sentences, lines that fit a screen, no words of the list in `phrases.rs`. The tree does not hold
//! these rules everywhere yet. So `prose.toml` has the number of findings of each rule in each crate or folder.

use super::phrases::avoided;
use super::ratchet::{self, Counts, add, number};
use super::text::Text;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The allowed numbers, under the root.
const LIMITS: &str = "xtask/src/tidy/prose.toml";
/// Words of the longest sentence.
const LONGEST: usize = 30;
/// Findings that a complaint lists.
const LISTED: usize = 20;

const SENTENCES: &str = "sentences";
const COLUMNS: &str = "columns";
const PHRASES: &str = "phrases";

struct Finding {
    rule: &'static str,
    /// The crate or folder.
    place: String,
    changed: SystemTime,
    text: String,
}

pub(super) fn check(root: &Path, wrong: &mut Vec<String>) -> Result<()> {
    let found = findings(root)?;
    wrong.extend(complaints(found, &ratchet::read(root, LIMITS)?));
    Ok(())
}

/// Lowers the allowed numbers to the present ones.
pub(super) fn shrink(root: &Path) -> Result<()> {
    ratchet::shrink(root, LIMITS, "Findings of tidy's prose rules", &counts(&findings(root)?))
}

fn counts(findings: &[Finding]) -> Counts {
    let mut counts = Counts::new();
    findings.iter().for_each(|finding| add(&mut counts, finding.rule, &finding.place));
    counts
}

fn complaints(mut findings: Vec<Finding>, allowed: &Counts) -> Vec<String> {
    // A new finding is most likely in a file that changed last.
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.changed));
    let present = counts(&findings);
    let mut wrong = Vec::new();
    for (rule, places) in &present {
        for (place, count) in places {
            let limit = number(allowed, rule, place);
            if *count > limit {
                let all = findings.iter().filter(|f| f.rule == rule && f.place == *place).take(LISTED);
                let list: String = all.map(|f| format!("\n    {}", f.text)).collect();
                wrong.push(format!("{place}: {count} findings of prose ({rule}), {limit} are allowed; latest:{list}"));
            }
        }
    }
    wrong
}

fn findings(root: &Path) -> Result<Vec<Finding>> {
    let mut files = Vec::new();
    list(root, &mut files)?;
    let mut found = Vec::new();
    for path in files {
        let shown = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
        let changed = path.metadata().and_then(|m| m.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
        let place = place(&shown);
        let add = |(rule, text)| Finding { rule, place: place.clone(), changed, text };
        found.extend(findings_in(&shown, &read(&path)?).into_iter().map(add));
    }
    Ok(found)
}

/// Rust sources and documents. Generated files, build folders and hidden folders are left out, and so are results:
/// they are records of their day.
fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_symlink() || name.starts_with('.') {
            continue;
        }
        if path.is_dir() {
            if !matches!(name.as_str(), "target" | "generated" | "shared" | "results") {
                list(&path, files)?;
            }
        } else if path.extension().is_some_and(|e| e == "rs" || e == "md") {
            files.push(path);
        }
    }
    files.sort();
    Ok(())
}

/// The crate or folder of a path: `crates/wire`, `crates/sim/nvml`, `tests/e2e`, `docs`. A document at the root is
/// counted alone.
fn place(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    let depth = match parts[..] {
        ["crates", "sim", _, ..] => 3,
        ["crates" | "tests", _, _, ..] => 2,
        _ => 1,
    };
    parts.get(..depth).unwrap_or(&parts).join("/")
}

fn findings_in(path: &str, source: &str) -> Vec<(&'static str, String)> {
    let text = if path.ends_with(".rs") { Text::of_rust(source) } else { Text::of_markdown(source) };
    let mut found = Vec::new();
    for (line, sentence) in text.sentences {
        let words = sentence.split(' ').count();
        if words > LONGEST {
            found.push((SENTENCES, format!("{path}:{line}: a sentence of {words} words: {sentence}")));
        }
        for (phrase, plain) in avoided(&sentence) {
            found.push((PHRASES, format!("{path}:{line}: '{phrase}' ({plain}): {sentence}")));
        }
    }
    found.extend(text.wide.into_iter().map(|(line, text)| (COLUMNS, format!("{path}:{line}: too wide: {text}"))));
    found
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(rule: &'static str, place: &str) -> Finding {
        Finding { rule, place: place.to_owned(), changed: SystemTime::UNIX_EPOCH, text: format!("{place}: text") }
    }

    fn limits(text: &str) -> Counts {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn three_rules() {
        let long = format!("//! {}end.\n", "word ".repeat(30));
        let rules = |source: &str| findings_in("a.rs", source).into_iter().map(|(rule, _)| rule).collect::<Vec<_>>();
        assert_eq!(rules(&long), [SENTENCES, COLUMNS]);
        assert_eq!(rules("/// Nobody reads it.\n"), [PHRASES]);
        assert_eq!(rules("/// It is unused.\nlet s = \"nobody\";\n"), Vec::<&str>::new());
    }

    #[test]
    fn number_may_only_shrink() {
        let two = || vec![finding(PHRASES, "docs"), finding(PHRASES, "docs")];
        assert_eq!(complaints(two(), &limits("phrases.docs = 2")), Vec::<String>::new());
        let more = complaints(two(), &limits("phrases.docs = 1"));
        assert!(more.len() == 1 && more[0].contains("2 findings") && more[0].contains("docs: text"), "{more:?}");
        assert_eq!(complaints(two(), &limits("columns.docs = 2")).len(), 1);
        assert_eq!(complaints(two(), &limits("phrases.docs = 3")), Vec::<String>::new());
    }

    #[test]
    fn place_of_a_path() {
        let places = ["crates/sim/nvml/src/lib.rs", "crates/wire/src/a/b.rs", "tests/e2e/src/lib.rs", "docs/a/b.txt"];
        assert_eq!(places.map(place), ["crates/sim/nvml", "crates/wire", "tests/e2e", "docs"]);
        assert_eq!(place("README.md"), "README.md");
    }
}
