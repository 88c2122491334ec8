//! The order of folders inside a crate. A file may import from its own folder and from folders below it, never from a
//! folder above. Each folder states its rule in the header of its `mod.rs`.

use super::imports::{Files, crates};
use anyhow::Result;
use std::path::Path;

/// A crate, and its top-level modules from top to bottom. A file at the top level counts as a folder of one file.
const ORDER: &[(&str, &[&str])] = &[
    (
        "sim/cuda",
        &["stub", "report", "default", "api", "tables", "driver", "state", "image", "host", "counts", "export", "abi"],
    ),
    ("sim/nvml", &["stub", "default", "api", "device", "abi", "lifecycle", "fault"]),
];

pub(super) fn check(root: &Path, wrong: &mut Vec<String>) -> Result<()> {
    for (name, path) in crates(root)? {
        if let Some((_, order)) = ORDER.iter().find(|(of, _)| *of == name) {
            wrong.extend(complaints(&name, order, &Files::read(&path.join("src"))?));
        }
    }
    Ok(())
}

fn complaints(name: &str, order: &[&str], files: &Files) -> Vec<String> {
    let rank = |module: &[String]| order.iter().position(|folder| module.first().is_some_and(|first| first == folder));
    let mut wrong = Vec::new();
    for (module, source) in &files.0 {
        if module.is_empty() {
            continue;
        }
        let shown = module.join("::");
        let Some(own) = rank(module) else {
            wrong.push(format!("crate {name}: {shown} has no place in the order of xtask/src/tidy/folders.rs"));
            continue;
        };
        for to in files.imports(module, source) {
            if rank(to).is_some_and(|other| other < own) {
                wrong.push(format!("crate {name}: {shown} imports {}, which is above it", to.join("::")));
            }
        }
    }
    let missing = order.iter().filter(|folder| !files.0.keys().any(|m| m.first().is_some_and(|f| f == *folder)));
    wrong.extend(missing.map(|folder| format!("crate {name} has no {folder}: remove it from tidy/folders.rs")));
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn import_from_above() {
        let files = Files::parse(&[
            ("", "mod top; mod low;"),
            ("top", "pub mod a;"),
            ("top::a", "use crate::low::b;"),
            ("low", "pub mod b;"),
            ("low::b", ""),
        ]);
        assert_eq!(complaints("x", &["top", "low"], &files), Vec::<String>::new());
        assert_eq!(complaints("x", &["low", "top"], &files), ["crate x: top::a imports low::b, which is above it"]);
    }

    #[test]
    fn list_without_and_with_too_many_folders() {
        let files = Files::parse(&[("", "mod top;"), ("top", "")]);
        assert_eq!(complaints("x", &[], &files).len(), 1);
        assert_eq!(complaints("x", &["top", "gone"], &files).len(), 1);
    }
}
