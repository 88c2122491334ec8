//! Which files of a crate import which others, read from their `use` lines and paths, and from the link names by which
//! assembler and Rust call each other. Unit tests do not count.

use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};

/// The crates under `crates/`, by their folder there (`wire`, `sim/nvml`), with the path of that folder.
pub(super) fn crates(root: &Path) -> Result<Vec<(String, PathBuf)>> {
    let top = root.join("crates");
    let mut found = Vec::new();
    for folder in folders(&top)? {
        let nested = if folder.join("src").is_dir() { vec![folder] } else { folders(&folder)? };
        found.extend(nested.into_iter().filter(|path| path.join("src").is_dir()));
    }
    found.sort();
    let name = |path: &PathBuf| path.strip_prefix(&top).unwrap_or(path).to_string_lossy().into_owned();
    Ok(found.into_iter().map(|path| (name(&path), path)).collect())
}

fn folders(path: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(path).with_context(|| path.display().to_string())?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    Ok(paths.into_iter().filter(|path| path.is_dir()).collect())
}

/// The path of a module within its crate, such as `["ring", "reader"]`; empty for the crate's root.
pub(super) type Module = Vec<String>;

/// The modules of a crate, and which other modules each one imports.
#[derive(Default)]
pub(super) struct Files {
    pub all: BTreeMap<Module, Source>,
    /// The module that defines a link name.
    links: BTreeMap<String, Module>,
}

pub(super) struct Source {
    /// `mod.rs`, `lib.rs` or `main.rs`. What such a file re-exports from its own folder is no import.
    pub is_folder: bool,
    pub syntax: syn::File,
    links: LinkNames,
}

impl Files {
    pub fn read(folder: &Path) -> Result<Files> {
        let mut files = Files::default();
        files.add_folder(folder, &[])?;
        files.remove_tests();
        files.connect_links();
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
                let links = LinkNames::of(&syntax);
                self.all.insert(module, Source { is_folder, syntax, links });
            }
        }
        Ok(())
    }

    /// Removes files that are compiled only for unit tests.
    fn remove_tests(&mut self) {
        let mut tests: Vec<Module> = Vec::new();
        for (module, source) in &self.all {
            for item in &source.syntax.items {
                if let syn::Item::Mod(item) = item
                    && item.content.is_none()
                    && is_test(item)
                {
                    tests.push([module.as_slice(), &[item.ident.to_string()]].concat());
                }
            }
        }
        self.all.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
    }

    fn connect_links(&mut self) {
        for (module, source) in &self.all {
            self.links.extend(source.links.defined.iter().map(|name| (name.clone(), module.clone())));
        }
    }

    /// The modules of this crate that `module` imports, or names by link names.
    pub fn imports(&self, module: &Module, source: &Source) -> Vec<&Module> {
        let paths = paths(source);
        let resolved = paths.iter().filter_map(|path| self.resolve(module, path));
        let linked = source.links.named.iter().filter_map(|name| self.links.get(name)).filter(|to| *to != module);
        let is_own = |to: &Module| to.starts_with(module) && (source.is_folder || to.len() > module.len());
        resolved.chain(linked).filter(|to| !is_own(to)).collect()
    }

    /// The module that a path leads to; none when it leaves the crate.
    pub fn resolve(&self, from: &Module, path: &[String]) -> Option<&Module> {
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
            self.all.get_key_value(&name).map(|(module, _)| module)
        })
    }
}

/// The paths of a file that may lead to another module.
pub(super) fn paths(source: &Source) -> Vec<Vec<String>> {
    let mut paths = Paths::default();
    paths.visit_file(&source.syntax);
    let through = paths.others.iter().filter_map(|path| {
        let (first, rest) = path.split_first()?;
        Some([paths.used.get(first)?.as_slice(), rest].concat())
    });
    let through: Vec<Vec<String>> = through.collect();
    paths.found.extend(through);
    paths.found
}

/// The prefixes of link names.
const LINK_NAMES: [&str; 2] = ["cutap_", "CUTAP_"];

/// The link names that a file defines, and all that are in it.
#[derive(Default)]
struct LinkNames {
    defined: BTreeSet<String>,
    named: BTreeSet<String>,
}

impl LinkNames {
    fn of(file: &syn::File) -> LinkNames {
        let mut names = LinkNames::default();
        names.visit_file(file);
        names
    }

    fn define(&mut self, attributes: &[syn::Attribute], name: &syn::Ident) {
        let is_exported = attributes.iter().any(|attribute| match &attribute.meta {
            syn::Meta::List(list) => list.path.is_ident("unsafe") && list.tokens.to_string() == "no_mangle",
            meta => meta.path().is_ident("no_mangle"),
        });
        if is_exported {
            self.defined.insert(name.to_string());
        }
    }
}

/// The link names in a text.
fn link_names(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| LINK_NAMES.iter().any(|prefix| word.starts_with(prefix)))
}

impl<'a> Visit<'a> for LinkNames {
    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        if !is_test(item) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.define(&item.attrs, &item.sig.ident);
        visit::visit_item_fn(self, item);
    }

    fn visit_item_static(&mut self, item: &'a syn::ItemStatic) {
        self.define(&item.attrs, &item.ident);
        visit::visit_item_static(self, item);
    }

    fn visit_ident(&mut self, name: &'a syn::Ident) {
        self.named.extend(link_names(&name.to_string()).map(str::to_owned));
    }

    fn visit_macro(&mut self, called: &'a syn::Macro) {
        let text = called.tokens.to_string();
        for line in text.split('"').filter_map(|line| line.trim_start().strip_prefix(".globl ")) {
            self.defined.extend(link_names(line).map(str::to_owned));
        }
        self.named.extend(link_names(&text).map(str::to_owned));
    }

    /// A macro that makes functions: their link names are in its call.
    fn visit_item_macro(&mut self, item: &'a syn::ItemMacro) {
        let is_assembler = item.mac.path.segments.last().is_some_and(|s| s.ident == "global_asm");
        if item.ident.is_none() && !is_assembler {
            let text = item.mac.tokens.to_string();
            self.defined.extend(link_names(&text.replace(char::is_whitespace, " ")).map(str::to_owned));
        }
        visit::visit_item_macro(self, item);
    }
}

/// Whether a module is compiled for unit tests alone.
pub(super) fn is_test(item: &syn::ItemMod) -> bool {
    item.attrs.iter().any(|a| {
        a.path().is_ident("cfg") && a.parse_args::<syn::Path>().is_ok_and(|condition| condition.is_ident("test"))
    })
}

/// Collects the paths of a file that may lead to another module, without those of its unit tests.
#[derive(Default)]
struct Paths {
    found: Vec<Vec<String>>,
    /// What `use` lines import, by its name here.
    used: BTreeMap<String, Vec<String>>,
    /// Paths that begin with another word: what a `use` line imports (`use crate::a; a::b::f()`), or another crate.
    others: Vec<Vec<String>>,
}

impl<'a> Visit<'a> for Paths {
    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        if !is_test(item) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        self.add_use(&item.tree, &mut Vec::new());
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        match names.first().map(String::as_str) {
            Some("crate" | "super") => self.found.push(names),
            _ if names.len() > 1 => self.others.push(names),
            _ => {}
        }
        visit::visit_path(self, path);
    }

    /// `pub(super)` imports nothing.
    fn visit_visibility(&mut self, _: &'a syn::Visibility) {}
}

impl Paths {
    fn add_use(&mut self, tree: &syn::UseTree, prefix: &mut Vec<String>) {
        let mut leaf = |prefix: &[String], name: Option<String>, here: Option<String>| {
            let path: Vec<String> = prefix.iter().cloned().chain(name).collect();
            if let Some(here) = here.or_else(|| path.last().cloned()) {
                self.used.insert(here, path.clone());
            }
            self.found.push(path);
        };
        match tree {
            syn::UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.add_use(&path.tree, prefix);
                prefix.pop();
            }
            syn::UseTree::Group(group) => group.items.iter().for_each(|item| self.add_use(item, prefix)),
            syn::UseTree::Name(name) if name.ident == "self" => leaf(prefix, None, None),
            syn::UseTree::Name(name) => leaf(prefix, Some(name.ident.to_string()), None),
            syn::UseTree::Rename(rename) => {
                leaf(prefix, Some(rename.ident.to_string()), Some(rename.rename.to_string()));
            }
            syn::UseTree::Glob(_) => leaf(prefix, None, None),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A crate of these files: the path of a module (a folder's ends in `mod`), and its text.
    pub fn files(sources: &[(&str, &str)]) -> Files {
        let parse = |&(name, text): &(&str, &str)| {
            let mut module: Module = name.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
            let is_folder = module.is_empty() || module.pop_if(|last| last == "mod").is_some();
            let syntax = syn::parse_file(text).unwrap();
            (module, Source { is_folder, links: LinkNames::of(&syntax), syntax })
        };
        let mut files = Files { all: sources.iter().map(parse).collect(), links: BTreeMap::new() };
        files.remove_tests();
        files.connect_links();
        files
    }

    #[test]
    fn files_of_unit_tests() {
        let files = files(&[("", "mod a; #[cfg(test)] mod fuzz;"), ("a", ""), ("fuzz", "use crate::a::A;")]);
        assert_eq!(files.all.len(), 2);
    }
}
