//! Each flag that the command line declares, and each topic of `cutap help`, has a place in the reference.

use anyhow::{Context, Result};
use std::path::Path;

const PAGE: &str = "docs/reference/command-line.md";

pub(super) fn check(root: &Path, wrong: &mut Vec<String>) -> Result<()> {
    let page = std::fs::read_to_string(root.join(PAGE)).context(PAGE)?;
    let mut sources = Vec::new();
    list(&root.join("crates/cli/src"), &mut sources)?;
    let flags = sources.iter().flat_map(|source| flags(source));
    let lost = flags.filter(|flag| !has_flag(&page, flag)).map(|flag| format!("--{flag}"));
    let mut topics = Vec::new();
    for entry in std::fs::read_dir(root.join("crates/cli/help"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        topics.extend(name.strip_suffix(".txt").filter(|topic| !topic.ends_with("_short")).map(str::to_owned));
    }
    let unknown = topics.into_iter().filter(|topic| !page.contains(&format!("\n### {topic}\n")));
    wrong.extend(lost.chain(unknown).map(|word| format!("{word} has no place in {PAGE}: run `cargo xtask codegen`")));
    Ok(())
}

/// A row of a table names it: `-e, --filter <FILTER>`.
fn has_flag(page: &str, flag: &str) -> bool {
    let ends = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '-');
    let mut rows = page.lines().filter(|line| line.starts_with("| `"));
    rows.any(|row| row.match_indices(&format!("--{flag}")).any(|(at, all)| ends(row[at + all.len()..].chars().next())))
}

fn list(folder: &Path, sources: &mut Vec<String>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, sources)?;
        } else {
            sources.push(std::fs::read_to_string(&path).with_context(|| path.display().to_string())?);
        }
    }
    Ok(())
}

/// The long flags of clap's attributes in a source: `long = "name"`, or the name of the field after `long`.
fn flags(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut waits = false;
    let mut attribute = String::new();
    for line in source.lines().map(str::trim) {
        if line.starts_with("#[arg(") || !attribute.is_empty() {
            attribute.push_str(line);
            if !line.ends_with(']') {
                continue;
            }
            let words = std::mem::take(&mut attribute);
            let hidden = words.contains("hide = true") || words.contains("hide(true)");
            let named = words.split("long = \"").nth(1).and_then(|rest| rest.split_once('"'));
            waits = false;
            match named {
                _ if hidden => {}
                Some((name, _)) => found.push(name.to_owned()),
                None => waits = words.split(['(', ',', ')']).any(|word| word.trim() == "long"),
            }
        } else if waits && !line.starts_with("#[") && !line.starts_with("//") {
            waits = false;
            let name = line.trim_start_matches("pub ").split(':').next().unwrap_or_default();
            found.push(name.trim().replace('_', "-"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_attributes() {
        let source = "#[arg(short = 'e', long, value_name = \"F\")]\n/// Text.\npub no_record: bool,\n\
                      #[arg(long = \"csv\")]\ncsv: bool,\n#[arg(long, hide = true)]\nsecret: bool,\n\
                      #[arg(short = 'q')]\nquiet: bool,\n";
        assert_eq!(flags(source), ["no-record", "csv"]);
    }

    #[test]
    fn rows_of_the_page() {
        let page = "| `-e, --filter <FILTER>` | x |\n--other\n| `--stack[=<F>]` | y |\n";
        assert!(has_flag(page, "filter") && has_flag(page, "stack"));
        assert!(!has_flag(page, "other") && !has_flag(page, "fil"));
    }
}
