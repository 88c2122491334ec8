//! The folders of a crate have an order too: an upper folder may import from a lower one, never the other way round.

use super::imports::{Files, Module, paths};
use anyhow::Result;
use std::path::Path;

/// A crate, a folder in its `src` (empty: `src` itself), and the folders in that one with the lowest first. Each
/// imports only from itself and from those before it. Files beside these folders may import from all of them.
const ORDER: &[(&str, &str, &[&str])] = &[
    (
        "trace",
        "",
        &[
            "event",
            "io",
            "ring",
            "run",
            "kernels",
            "filter",
            "decode",
            "symbols",
            "pair",
            "gpu_time",
            "summary",
            "aggregate",
            "merge",
            "synthetic",
        ],
    ),
    ("trace", "decode", &["state", "values", "effects"]),
    (
        "collect",
        "",
        &["base", "options", "run_dir", "output", "record", "start", "hooks", "inject", "limit", "collector", "front"],
    ),
    (
        "preload",
        "",
        &[
            "sys",
            "process",
            "loader",
            "ring",
            "exec",
            "slots",
            "capture",
            "python",
            "runtime",
            "nvtx",
            "rewrite",
            "routes",
            "interceptors",
            "hook_libraries",
            "submit",
            "arch",
            "entry",
        ],
    ),
    (
        "cudest",
        "",
        &["base", "encode", "cubin", "kernel_driver", "memory", "submission", "context", "streams", "machine"],
    ),
    (
        "report",
        "",
        &[
            "format",
            "nesting",
            "call",
            "statistics",
            "resources",
            "notes",
            "call_text",
            "outputs",
            "export",
            "explain",
            "collectives",
            "hang",
            "diff",
            "reports",
            "tables",
            "api",
        ],
    ),
    ("driver", "", &["abi", "export", "counts", "host", "engine", "image", "state", "driver", "tables", "api"]),
];

/// Crates whose modules name the file that they import, never a folder that re-exports it.
const NO_REEXPORTS: &[&str] = &["trace"];

pub(super) fn check(root: &Path, wrong: &mut Vec<String>) -> Result<()> {
    for (name, within, order) in ORDER {
        let within: Module = within.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let files = Files::read(&root.join("crates").join(name).join("src"))?;
        let complaints = complaints(&files, &within, order, NO_REEXPORTS.contains(name));
        wrong.extend(complaints.into_iter().map(|complaint| format!("crate {name}: {complaint}")));
    }
    Ok(())
}

fn complaints(files: &Files, within: &[String], order: &[&str], no_reexports: bool) -> Vec<String> {
    // The place of a module's folder in the order; none for what is elsewhere.
    let folder = |module: &Module| module.strip_prefix(within)?.first().cloned();
    let is_folder =
        |name: &String| files.all.keys().any(|m| m.len() > within.len() + 1 && folder(m).as_ref() == Some(name));
    let rank = |name: &str| order.iter().position(|listed| *listed == name);
    let mut wrong = Vec::new();
    for (module, source) in files.all.iter().filter(|(module, _)| module.starts_with(within)) {
        let shown = module.join("::");
        let Some(own) = folder(module).filter(is_folder) else { continue };
        let Some(own_rank) = rank(&own) else {
            wrong.push(format!("folder {own} has no place in the order of xtask/src/tidy/folders.rs"));
            continue;
        };
        for to in files.imports(module, source) {
            let Some(other) = folder(to) else { continue };
            // A file beside the folders is above all of them.
            if rank(&other).unwrap_or(order.len()) > own_rank {
                wrong.push(format!(
                    "{shown} imports {}, which is above it: see xtask/src/tidy/folders.rs",
                    to.join("::")
                ));
            }
        }
        for path in paths(source).iter().filter(|path| no_reexports && path.len() > 1) {
            let to = files.resolve(module, path);
            // Re-exports would hide what imports what.
            let through_folder =
                to.is_some_and(|to| module.len() > to.len() && module.starts_with(to) && files.all[to].is_folder);
            let through_root = to.is_none() && path.first().is_some_and(|first| first == "crate");
            if through_folder || through_root {
                wrong.push(format!("{shown} imports {} through a re-export: name its file", path.join("::")));
            }
        }
    }
    wrong.dedup();
    wrong
}

#[cfg(test)]
mod tests {
    use super::super::imports::tests::files;
    use super::*;

    fn of(sources: &[(&str, &str)]) -> Vec<String> {
        complaints(&files(sources), &[], &["low", "high"], true)
    }

    #[test]
    fn upper_folders_import_lower_ones() {
        let (low, high) = (("low::a", "fn a() {}"), ("high::b", "use crate::low::a::a;"));
        assert_eq!(of(&[("", "mod low; mod high;"), low, high, ("top", "use crate::high::b;")]), [""; 0]);
        let up = of(&[("low::a", "use crate::high::b::b;"), ("high::b", "")]);
        assert!(up[0].starts_with("low::a imports high::b, which is above it"), "{up:?}");
        assert_eq!(of(&[("low::a", "fn a() { crate::top::t() }"), ("top", "")]).len(), 1);
        assert_eq!(of(&[("other::a", "")]).len(), 1);
    }

    #[test]
    fn order_within_a_folder() {
        let files = files(&[("x::low::a", "use crate::x::high::b;"), ("x::high::b", "use crate::y::c;"), ("y::c", "")]);
        let within = ["x".to_owned()];
        assert_eq!(complaints(&files, &within, &["low", "high"], true).len(), 1);
    }

    #[test]
    fn re_exports_hide_nothing() {
        let wrong = of(&[("low::mod", "pub use a::A;"), ("low::a", "use super::B;"), ("high::b", "use crate::C;")]);
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert_eq!(of(&[("low::mod", "pub use a::A;"), ("low::a", ""), ("high::b", "use crate::low::A;")]), [""; 0]);
    }
}
