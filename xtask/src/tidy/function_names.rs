//! Functions of NVIDIA's interfaces are named in `api/` alone. Other code asks for the role of a function
//! (`cutap_calls::Role`), so a literal that is the name of a function is an error. Tests, examples and generated files
//! are left out, and so are the functions that the simulated driver and NVML implement.

use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Literals that are allowed: the file, the name, and why.
const ALLOWED: &[(&str, &str, &str)] = &[];

/// Folders that implement functions of NVIDIA's, or make runs for tests.
const LEFT_OUT: &[&str] =
    &["crates/driver/src/api/", "crates/driver/src/tables/", "crates/sim/nvml/src/api/", "crates/trace/src/synthetic/"];

pub(super) fn check(root: &Path, wrong: &mut Vec<String>) -> Result<()> {
    let names = cutap_registry::function_names(&root.join("api"))?;
    let mut files = Vec::new();
    list(&root.join("crates"), &mut files)?;
    let mut used = BTreeSet::new();
    for path in files {
        let shown = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).with_context(|| shown.clone())?;
        if is_test(&path) || LEFT_OUT.iter().any(|folder| shown.starts_with(folder)) {
            continue;
        }
        for (line, literal) in literals(without_tests(&text)) {
            if !names.contains(literal) {
                continue;
            }
            match ALLOWED.iter().find(|(file, name, _)| *file == shown && *name == literal) {
                Some((file, name, _)) => drop(used.insert((*file, *name))),
                None => wrong.push(format!(
                    "{shown}:{line}: the literal \"{literal}\" names a function: give it a role in api/behaviour.toml"
                )),
            }
        }
    }
    for (file, name, _) in ALLOWED.iter().filter(|(file, name, _)| !used.contains(&(*file, *name))) {
        wrong.push(format!("{file} has no literal \"{name}\": remove it from xtask/src/tidy/function_names.rs"));
    }
    Ok(())
}

/// Rust sources of crates. Tests, examples and generated files are left out.
fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !matches!(name.as_str(), "target" | "generated" | "tests" | "examples") {
                list(&path, files)?;
            }
        } else if name.ends_with(".rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(())
}

/// Whether the file is a module that its parent, or the parent's parent, declares for tests alone.
fn is_test(path: &Path) -> bool {
    let (Some(folder), Some(stem)) = (path.parent(), path.file_stem().and_then(|stem| stem.to_str())) else {
        return false;
    };
    let stem = if stem == "mod" { folder.file_name().and_then(|n| n.to_str()).unwrap_or(stem) } else { stem };
    let folder = if path.ends_with("mod.rs") { folder.parent().unwrap_or(folder) } else { folder };
    let declares = |parent: &Path| {
        let text = std::fs::read_to_string(parent).unwrap_or_default();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let declaration = |line: &str| {
            let name = line.strip_prefix("pub ").or(line.strip_prefix("pub(crate) ")).unwrap_or(line);
            name.strip_prefix("mod ").and_then(|name| name.strip_suffix(';')) == Some(stem)
        };
        lines.windows(2).any(|pair| matches!(pair, ["#[cfg(test)]", line] if declaration(line)))
    };
    let parents = [folder.join("mod.rs"), folder.join("lib.rs"), folder.join("main.rs"), folder.with_extension("rs")];
    if let Some(parent) = parents.iter().find(|parent| parent.is_file()) {
        return declares(parent)
            || !matches!(parent.file_name().and_then(|n| n.to_str()), Some("lib.rs" | "main.rs")) && is_test(parent);
    }
    false
}

/// The text before the tests of the file.
fn without_tests(text: &str) -> &str {
    let tests = ["\n#[cfg(test)]\nmod ", "\n#[cfg(test)]\n#[allow"].iter().filter_map(|start| text.find(start));
    let inline = tests.filter(|at| text.get(*at..).unwrap_or("").lines().nth(2).is_some_and(|l| !l.ends_with(';')));
    inline.min().and_then(|at| text.get(..at)).unwrap_or(text)
}

/// The text literals of a source without escapes, each with its line. Comments are left out.
fn literals(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_start();
        if line.starts_with("//") {
            continue;
        }
        found.extend(line.split('"').skip(1).step_by(2).map(|literal| (number, literal)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_of_a_line() {
        let text = "// \"a\"\nf(\"b\", b\"c\");\n    \"d\" => 1,\n";
        assert_eq!(literals(text), [(2, "b"), (2, "c"), (3, "d")]);
    }

    #[test]
    fn tests_are_cut_off() {
        assert_eq!(without_tests("a\n#[cfg(test)]\nmod b;\nc\n"), "a\n#[cfg(test)]\nmod b;\nc\n");
        assert_eq!(without_tests("a\n\n#[cfg(test)]\nmod tests {\n\"cuInit\"\n}\n"), "a\n");
    }
}
