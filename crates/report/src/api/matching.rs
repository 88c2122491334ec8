//! The list of functions whose names match a pattern. A line has the name, the versions and what the function does.

use super::meaning::meaning;
use super::{Unknown, all_names, near, undeclared, words};
use cutap_calls::generated::known::TABLES;
use cutap_calls::glob;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The largest padding of a name.
const WIDEST: usize = 44;

/// All functions that match. Per-thread forms are listed only if nothing else matches. With `json`, one object each.
pub fn matching(pattern: &str, json: bool) -> Result<String, Unknown> {
    let matches = |name: &str| glob(pattern.as_bytes(), name.as_bytes());
    let mut functions: BTreeMap<&str, (&str, String, String)> = BTreeMap::new();
    for family in TABLES.families {
        // The newest of several forms is the last one.
        for function in family.functions.iter().filter(|f| matches(f.name)) {
            let row = (family.name, words::span(family, function), meaning(&TABLES, function));
            functions.insert(function.name, row);
        }
    }
    for name in all_names().filter(|n| matches(n)) {
        if let Some(family) = undeclared(name) {
            functions
                .entry(name)
                .or_insert_with(|| (family, String::new(), "No public header declares it.".to_owned()));
        }
    }
    let form = |name: &str| name.ends_with("_ptsz") || name.ends_with("_ptds");
    if functions.keys().any(|name| !form(name)) {
        functions.retain(|name, _| !form(name));
    }
    if functions.is_empty() {
        return Err(Unknown::near(near::nearest(&pattern.replace('*', ""), all_names())));
    }
    let width = functions.keys().map(|name| name.len()).max().unwrap_or(0).min(WIDEST);
    let mut out = String::new();
    for (name, (family, span, about)) in &functions {
        let line = match json {
            true => {
                let about = (!about.is_empty()).then_some(about);
                json!({ "type": "function", "family": family, "name": name, "about": about }).to_string()
            }
            false => format!("{name:width$}  {span:24}  {about}").trim_end().to_owned(),
        };
        writeln!(out, "{line}").unwrap_or_default();
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_a_line() {
        let said = matching("cuMemAlloc*", false).unwrap();
        let line = said.lines().find(|l| l.starts_with("cuMemAlloc_v2 ")).unwrap();
        assert!(line.contains("CUDA: since 3.2") && line.ends_with("  Allocates device memory."), "{said}");
        assert!(said.lines().is_sorted() && !said.contains("_ptsz"), "{said}");
        assert!(matching("cuMemAllocAsync_pt*", false).unwrap().starts_with("cuMemAllocAsync_ptsz "));
        assert!(matching("cuEGLApi*", false).unwrap().contains("No public header declares it."));
        let object: serde_json::Value = serde_json::from_str(matching("cudaMallo?", true).unwrap().trim()).unwrap();
        assert_eq!(object["name"], "cudaMalloc");
        assert!(matching("cuNothingLikeIt*", false).is_err());
    }
}
