//! Links of documents: the file is there, and so is the heading. Each page below `docs/` is in `SUMMARY.md`. A path
//! `docs/NAME.md` in sources, help texts and data is a file too.

use super::text::markdown_lines;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

pub(super) fn check(root: &Path, wrong: &mut Vec<String>) -> Result<()> {
    let files = tracked(root)?;
    let read = |path: &str| std::fs::read_to_string(root.join(path)).ok();
    for path in &files {
        // Files that are not text mention nothing.
        let Some(text) = read(path) else { continue };
        if path.ends_with(".md") {
            for link in links(&text) {
                if let Some(problem) = broken(path, &link, &files, read) {
                    wrong.push(format!("{path}: link {link}: {problem}"));
                }
            }
        }
        if !is_record(path) {
            let gone = mentions(&text).into_iter().filter(|page| !files.contains(page.as_str()));
            wrong.extend(gone.map(|page| format!("{path}: {page} is not there")));
        }
    }
    let summary = read("docs/SUMMARY.md").context("docs/SUMMARY.md is the table of contents")?;
    wrong.extend(absent(&files, &summary).map(|page| format!("{page} is not in docs/SUMMARY.md")));
    Ok(())
}

/// Results name the pages of their time.
fn is_record(path: &str) -> bool {
    path.contains("/results/") || path == "CHANGELOG.md" || path == file!()
}

/// The files of the repository: those in the index, and new ones that are not ignored.
fn tracked(root: &Path) -> Result<BTreeSet<String>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard"]).current_dir(root);
    let listed = String::from_utf8(git.output().context("git lists the files")?.stdout)?;
    Ok(listed.lines().filter(|path| root.join(path).exists()).map(str::to_owned).collect())
}

/// The targets of a document's links and pictures, outside of code.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in markdown_lines(text) {
        // Parts between backquotes are code.
        let plain: Vec<&str> = line.split('`').step_by(2).collect();
        let plain = plain.join("CODE");
        let targets = plain.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        found.extend(targets.map(|(target, _)| target.to_owned()));
    }
    found
}

/// Why a link leads nowhere.
fn broken(
    from: &str,
    link: &str,
    files: &BTreeSet<String>,
    read: impl Fn(&str) -> Option<String>,
) -> Option<&'static str> {
    if link.contains("://") {
        return None;
    }
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let target = if path.is_empty() { from.to_owned() } else { resolved(from, path) };
    let is_folder = || files.iter().any(|file| file.starts_with(&format!("{}/", target.trim_end_matches('/'))));
    if !files.contains(&target) && !is_folder() {
        return Some("no such file");
    }
    let anchor = anchor?;
    let text = read(&target).unwrap_or_default();
    (!anchors(&text).contains(anchor)).then_some("no such heading")
}

/// The path of a link in the repository.
fn resolved(from: &str, link: &str) -> String {
    let mut path = PathBuf::from(from);
    path.pop();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::Normal(name) => path.push(name),
            _ => {}
        }
    }
    path.to_string_lossy().into_owned()
}

/// The anchors that GitHub and mdBook give to the headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = markdown_lines(text).filter(|line| line.starts_with('#'));
    let titles = headings.map(|line| line.trim_start_matches('#').trim().to_lowercase());
    titles
        .map(|title| {
            let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

/// Pages that a text names by their path from the root: `docs/reference/json.md`.
fn mentions(text: &str) -> BTreeSet<String> {
    let is_path = |c: char| c.is_ascii_alphanumeric() || "/-_.".contains(c);
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices("docs/") {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let path: String = text.get(at..).unwrap_or_default().chars().take_while(|c| is_path(*c)).collect();
        if let Some((page, _)) = path.rsplit_once(".md")
            && before.is_none_or(|c| !is_path(c))
        {
            found.insert(format!("{page}.md"));
        }
    }
    found
}

/// Pages below `docs/` that the table of contents lacks.
fn absent<'a>(files: &'a BTreeSet<String>, summary: &str) -> impl Iterator<Item = &'a String> {
    let listed: BTreeSet<String> = links(summary).iter().map(|link| resolved("docs/SUMMARY.md", link)).collect();
    let pages = files.iter().filter(|path| path.starts_with("docs/") && path.ends_with(".md"));
    pages.filter(move |path| *path != "docs/SUMMARY.md" && !listed.contains(*path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(paths: &[&str]) -> BTreeSet<String> {
        paths.iter().map(|path| (*path).to_owned()).collect()
    }

    #[test]
    fn links_outside_of_code() {
        let text = "[a](b.md#c) `[x](y)` [d](e)\n```\n[x](y)\n```\n![p](q.svg)\n";
        assert_eq!(links(text), ["b.md#c", "e", "q.svg"]);
    }

    #[test]
    fn broken_links() {
        let all = files(&["docs/a/x.md", "docs/b.md", "api/one.toml"]);
        let read = |path: &str| (path == "docs/b.md").then(|| "# Title\n\n## What `it` is: a, b\n".to_owned());
        let problem = |link: &str| broken("docs/a/x.md", link, &all, read);
        for good in ["../b.md", "../b.md#what-it-is-a-b", "../../api", "https://x.y/z", "x.md"] {
            assert_eq!(problem(good), None, "{good}");
        }
        assert_eq!(problem("b.md"), Some("no such file"));
        assert_eq!(problem("../b.md#gone"), Some("no such heading"));
    }

    #[test]
    fn pages_by_path() {
        let found = mentions("see docs/limits.md. `../docs/x.md` (docs/a-b/c.md#d) docs/a docs/results.mdx");
        assert_eq!(found, files(&["docs/a-b/c.md", "docs/limits.md", "docs/results.md"]));
    }

    #[test]
    fn pages_without_a_place() {
        let all = files(&["docs/SUMMARY.md", "docs/a/x.md", "docs/b.md", "README.md"]);
        let lacking: Vec<&String> = absent(&all, "- [X](a/x.md)\n").collect();
        assert_eq!(lacking, ["docs/b.md"]);
    }
}
