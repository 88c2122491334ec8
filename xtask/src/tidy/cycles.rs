//! Import cycles between the files of a crate. A file in a cycle cannot be read, tested or moved alone.
//! Each crate has a limit for its largest cycle; the limit may be lowered and never raised.

use anyhow::{Context, Result};
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};

/// Files in the largest import cycle of a crate. A crate that is not listed has no cycle (1).
const LIMITS: &[(&str, usize)] =
    &[("collect", 2), ("import", 2), ("nvml", 2), ("preload", 57), ("sim", 25), ("trace", 20), ("wire", 3)];

pub(super) fn check(root: &Path, wrong: &mut Vec<String>) -> Result<()> {
    let folder = root.join("crates");
    let entries = std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
    let mut crates = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    crates.sort();
    for path in crates.iter().filter(|path| path.join("src").is_dir()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let cycle = largest(&Files::read(&path.join("src"))?);
        let limit = LIMITS.iter().find(|(of, _)| *of == name).map_or(1, |(_, limit)| *limit);
        wrong.extend(complaint(&name, &cycle, limit));
    }
    Ok(())
}

fn complaint(name: &str, cycle: &[String], limit: usize) -> Option<String> {
    let files = cycle.len();
    if files > limit {
        let members = cycle.join(", ");
        return Some(format!("crate {name} has an import cycle of {files} files, {limit} are allowed: {members}"));
    }
    (files < limit).then(|| {
        format!("crate {name} has an import cycle of {files} files: lower its limit of {limit} in tidy/cycles.rs")
    })
}

/// The path of a module within its crate, such as `["ring", "reader"]`; empty for the crate's root.
type Module = Vec<String>;

/// The modules of a crate, and which other modules each one imports.
#[derive(Default)]
struct Files(BTreeMap<Module, Source>);

struct Source {
    /// `mod.rs`, `lib.rs` or `main.rs`. What such a file re-exports from its own folder is no import.
    is_folder: bool,
    syntax: syn::File,
}

impl Files {
    fn read(folder: &Path) -> Result<Files> {
        let mut files = Files::default();
        files.add_folder(folder, &[])?;
        Ok(files)
    }

    fn add_folder(&mut self, folder: &Path, parent: &[String]) -> Result<()> {
        let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
        for entry in entries {
            let path = entry?.path();
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let mut module = parent.to_vec();
            if path.is_dir() {
                // Generated tables import only the types that they are made of.
                if stem != "generated" {
                    module.push(stem);
                    self.add_folder(&path, &module)?;
                }
            } else if path.extension().is_some_and(|e| e == "rs") {
                let is_folder = matches!(stem.as_str(), "mod" | "lib" | "main");
                if !is_folder {
                    module.push(stem);
                }
                let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
                let syntax = syn::parse_file(&text).with_context(|| path.display().to_string())?;
                self.0.insert(module, Source { is_folder, syntax });
            }
        }
        Ok(())
    }

    /// The modules of this crate that `module` imports.
    fn imports(&self, module: &Module, source: &Source) -> Vec<&Module> {
        let mut paths = Paths::default();
        paths.visit_file(&source.syntax);
        let resolved = paths.found.iter().filter_map(|path| self.resolve(module, path));
        resolved.filter(|to| !(to.starts_with(module) && (source.is_folder || to.len() > module.len()))).collect()
    }

    /// The module that a path leads to; none when it leaves the crate.
    fn resolve(&self, from: &Module, path: &[String]) -> Option<&Module> {
        let mut full: Vec<&str> = match path.first()?.as_str() {
            "crate" => Vec::new(),
            "self" | "super" => from.iter().map(String::as_str).collect(),
            _ => return self.resolve(from, &[&["self".to_owned()], path].concat()).filter(|to| to.len() > from.len()),
        };
        for step in path {
            match step.as_str() {
                "crate" | "self" => {}
                "super" => {
                    full.pop();
                }
                name => full.push(name),
            }
        }
        // The longest prefix that names a module; what follows is an item in it.
        (1..=full.len()).rev().find_map(|len| {
            let name: Module = full.iter().take(len).map(|&s| s.to_owned()).collect();
            self.0.get_key_value(&name).map(|(module, _)| module)
        })
    }
}

/// Collects the paths of a file that may lead to another module, without those of its unit tests.
#[derive(Default)]
struct Paths {
    found: Vec<Vec<String>>,
}

impl<'a> Visit<'a> for Paths {
    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        let test = item.attrs.iter().any(|a| {
            a.path().is_ident("cfg") && a.parse_args::<syn::Path>().is_ok_and(|condition| condition.is_ident("test"))
        });
        if !test {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        self.add_use(&item.tree, &mut Vec::new());
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        if matches!(names.first().map(String::as_str), Some("crate" | "super")) {
            self.found.push(names);
        }
        visit::visit_path(self, path);
    }
}

impl Paths {
    fn add_use(&mut self, tree: &syn::UseTree, prefix: &mut Vec<String>) {
        let mut leaf = |prefix: &[String], name: Option<String>| {
            self.found.push(prefix.iter().cloned().chain(name).collect());
        };
        match tree {
            syn::UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.add_use(&path.tree, prefix);
                prefix.pop();
            }
            syn::UseTree::Group(group) => group.items.iter().for_each(|item| self.add_use(item, prefix)),
            syn::UseTree::Name(name) if name.ident == "self" => leaf(prefix, None),
            syn::UseTree::Name(name) => leaf(prefix, Some(name.ident.to_string())),
            syn::UseTree::Rename(rename) => leaf(prefix, Some(rename.ident.to_string())),
            syn::UseTree::Glob(_) => leaf(prefix, None),
        }
    }
}

/// The files of the largest cycle; a single file when there is no cycle.
fn largest(files: &Files) -> Vec<String> {
    let modules: Vec<&Module> = files.0.keys().collect();
    let number = |module: &Module| modules.binary_search(&module).unwrap_or_default();
    let mut graph = DiGraphMap::<usize, ()>::new();
    for (module, source) in &files.0 {
        graph.add_node(number(module));
        for to in files.imports(module, source) {
            graph.add_edge(number(module), number(to), ());
        }
    }
    let cycle = tarjan_scc(&graph).into_iter().max_by_key(Vec::len).unwrap_or_default();
    let mut names: Vec<String> = cycle.into_iter().filter_map(|n| modules.get(n)).map(|m| m.join("::")).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(sources: &[(&str, &str)]) -> Files {
        let parse = |&(name, text): &(&str, &str)| {
            let module = name.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
            (module, Source { is_folder: name.is_empty(), syntax: syn::parse_file(text).unwrap() })
        };
        Files(sources.iter().map(parse).collect())
    }

    #[test]
    fn cycle_by_use_and_by_path() {
        let cycle = files(&[
            ("", "mod a; mod b; mod c; pub use a::A;"),
            ("a", "use crate::{b::{B, C as D}, c};"),
            ("b", "fn f() { super::c::g() }"),
            ("c", "fn g() { let _: crate::a::A; }"),
        ]);
        assert_eq!(largest(&cycle), ["a", "b", "c"]);
    }

    #[test]
    fn imports_of_unit_tests_do_not_count() {
        let tested = files(&[("a", "use super::b::B;"), ("b", "#[cfg(test)] mod tests { use crate::a::A; }")]);
        assert_eq!(largest(&tested).len(), 1);
    }

    #[test]
    fn limit_is_exact() {
        let cycle = ["a".to_owned(), "b".to_owned()];
        assert_eq!(complaint("x", &cycle, 2), None);
        assert!(complaint("x", &cycle, 1).is_some_and(|text| text.ends_with("a, b")));
        assert!(complaint("x", &cycle, 3).is_some_and(|text| text.contains("lower its limit")));
    }
}
