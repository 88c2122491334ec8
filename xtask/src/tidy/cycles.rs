//! Import cycles between the files of a crate, link names included. A file in a cycle cannot be read, tested or moved
//! alone.
//! Each crate has a limit for its largest cycle; the limit may be lowered and never raised.

use super::imports::{Files, Module, crates};
use anyhow::Result;
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use std::path::Path;

/// Files in the largest import cycle of a crate. A crate that is not listed has no cycle (1).
const LIMITS: &[(&str, usize)] = &[("collect", 2), ("import", 2), ("trace", 2), ("wire", 3)];

pub(super) fn check(root: &Path, wrong: &mut Vec<String>) -> Result<()> {
    for (name, path) in crates(root)? {
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

/// The files of the largest cycle; a single file when there is no cycle.
fn largest(files: &Files) -> Vec<String> {
    let modules: Vec<&Module> = files.all.keys().collect();
    let number = |module: &Module| modules.binary_search(&module).unwrap_or_default();
    let mut graph = DiGraphMap::<usize, ()>::new();
    for (module, source) in &files.all {
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
    use super::super::imports::tests::files;
    use super::*;

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
    fn cycle_through_an_imported_folder() {
        let cycle = files(&[
            ("", "mod a; mod b;"),
            ("a::mod", "pub mod inner;"),
            ("a::inner", "use crate::b;"),
            ("b", "use crate::a as other; fn f() { other::inner::g() }"),
        ]);
        assert_eq!(largest(&cycle), ["a::inner", "b"]);
    }

    #[test]
    fn cycle_by_link_names() {
        let assembler = ("a", r#"global_asm!(".globl cutap_frame", "cutap_frame:", "  call cutap_before");"#);
        let exported = "#[unsafe(no_mangle)] extern \"C\" fn cutap_before() {}";
        let declared = "unsafe extern \"C\" { fn cutap_frame(); }";
        let cycle = files(&[("", "mod a; mod b;"), assembler, ("b", &format!("{exported} {declared}"))]);
        assert_eq!(largest(&cycle), ["a", "b"]);
        let made = ("b", "made! { cutap_before: Frame => begin; } fn f() { super::a::g() }");
        assert_eq!(largest(&files(&[("", "mod a; mod b;"), assembler, made])), ["a", "b"]);
        let one_way = files(&[("", "mod a; mod b;"), assembler, ("b", exported)]);
        assert_eq!(largest(&one_way).len(), 1);
    }

    #[test]
    fn visibility_is_no_import() {
        let files = files(&[("a::mod", "use crate::c;"), ("c", "use crate::a::b;"), ("a::b", "pub(super) struct B;")]);
        assert_eq!(largest(&files).len(), 1);
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
