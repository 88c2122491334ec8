//! `cutap api`: what the generated tables have about a function, in words. It reads no run and no file.

mod c_type;
mod hidden;
mod matching;
mod meaning;
mod near;
mod words;

pub use matching::matching;

use cutap_calls::generated::known::TABLES;
use cutap_calls::known::{Family, Function};
use cutap_calls::{FUNCTIONS, Layer, is_named_as};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;

/// A name that is unknown.
#[derive(Debug, PartialEq, Eq)]
pub struct Unknown {
    /// Similar names, the nearest first.
    pub near: Vec<&'static str>,
    /// What is wrong with it, where more is known than that: a sentence.
    pub why: Option<String>,
}

impl Unknown {
    fn near(near: Vec<&'static str>) -> Unknown {
        Unknown { near, why: None }
    }
}

/// All functions of a family by name, one a line; with `json` an object each.
pub fn list(family: &str, json: bool) -> Result<String, Unknown> {
    if family == hidden::FAMILY {
        return Ok(hidden::list(json));
    }
    let Some((found, of)) = find(family) else {
        let names: Vec<&str> = TABLES.families.iter().map(|f| f.name).chain([hidden::FAMILY]).collect();
        return Err(Unknown::near(names));
    };
    let family = found.name;
    let mut names: BTreeSet<&str> = found.functions.iter().map(|f| f.name).collect();
    names.extend(FUNCTIONS.iter().filter(|name| family_by_name(name) == family));
    names.extend(found.undeclared);
    names.retain(|name| of.is_none_or(|of| name.starts_with(of)));
    let mut out = String::new();
    for name in names {
        match json {
            true => writeln!(out, "{}", json!({ "type": "function", "family": family, "name": name })),
            false => writeln!(out, "{name}"),
        }
        .unwrap_or_default();
    }
    Ok(out)
}

/// The family of a name in any spelling (`cuBLAS`, `libcublas`). For one of its libraries also the prefix of that
/// library's names (`cublasLt`).
fn find(word: &str) -> Option<(&'static Family, Option<&'static str>)> {
    let word = word.strip_prefix("lib").filter(|w| !w.is_empty()).unwrap_or(word);
    if let Some(family) = TABLES.families.iter().find(|f| f.name.eq_ignore_ascii_case(word)) {
        return Some((family, None));
    }
    let stem = |soname: &'static str| Some(soname.strip_prefix("lib")?.split(".so").next()?.trim_end_matches('*'));
    let of =
        |family: &'static Family| family.sonames.iter().filter_map(|s| stem(s)).find(|s| s.eq_ignore_ascii_case(word));
    let (family, found) = TABLES.families.iter().find_map(|f| Some((f, of(f)?)))?;
    let own = family.functions.iter().any(|f| f.name.starts_with(found));
    Some((family, own.then_some(found)))
}

/// The family of an exported name that no header declares.
fn family_by_name(name: &str) -> &'static str {
    let name = name.trim_start_matches('_').as_bytes();
    let of = if is_named_as(Layer::RUNTIME, name) { Layer::RUNTIME } else { Layer::DRIVER };
    of.name()
}

/// The description of a name: all its forms in all libraries. For a name in programs (`cuMemAlloc`) the newer exports
/// follow, to which headers map it (`cuMemAlloc_v2`).
pub fn describe(name: &str, json: bool) -> Result<String, Unknown> {
    if let Some(said) = hidden::describe(name, json) {
        return said;
    }
    let is_known = |name: &str| all_names().any(|n| n == name || is_newer(n, name));
    let same = if is_known(name) { None } else { all_names().find(|n| n.eq_ignore_ascii_case(name)) };
    let name = same.unwrap_or(name);
    let mut out = String::new();
    let mut has_match = false;
    for family in TABLES.families {
        let exact = family.functions.iter().filter(|f| f.name == name);
        let newer = family.functions.iter().filter(|f| is_newer(f.name, name));
        for function in exact.chain(newer) {
            let gap = if has_match && !json { "\n" } else { "" };
            let text = if json { format!("{}\n", object(family, function)) } else { text(family, function) };
            write!(out, "{gap}{text}").unwrap_or_default();
            has_match = true;
        }
    }
    if let Some(family) = undeclared(name).filter(|_| !has_match) {
        out = match json {
            true => format!("{}\n", json!({ "type": "function", "family": family, "name": name, "declared": false })),
            false => format!("{name} ({family})\n  exported; no public header declares it\n"),
        };
        has_match = true;
    }
    if has_match { Ok(out) } else { Err(Unknown::near(near::nearest(name, all_names()))) }
}

/// The family of an exported name that no header declares.
fn undeclared(name: &str) -> Option<&'static str> {
    let of_library = || TABLES.families.iter().find(|f| f.undeclared.binary_search(&name).is_ok()).map(|f| f.name);
    if FUNCTIONS.contains(&name) { Some(family_by_name(name)) } else { of_library() }
}

/// The names of all functions of all libraries; some occur several times.
pub fn all_names() -> impl Iterator<Item = &'static str> + Clone {
    let functions = TABLES.families.iter().flat_map(|f| f.functions.iter().map(|f| f.name));
    let undeclared = TABLES.families.iter().flat_map(|f| f.undeclared.iter().copied());
    functions.chain(undeclared).chain(FUNCTIONS.iter().copied())
}

/// Other exports of the same function: `cuMemAlloc_v2` and `cuMemAlloc`.
fn aliases(family: &Family, name: &str) -> Vec<&'static str> {
    let mut all: Vec<&str> =
        family.functions.iter().map(|f| f.name).filter(|n| *n != name && stem(n) == stem(name)).collect();
    all.dedup();
    all
}

/// Whether an export is a newer version of the name that programs write.
fn is_newer(export: &str, name: &str) -> bool {
    export != name && stem(export) == name && !export.ends_with("_ptsz") && !export.ends_with("_ptds")
}

/// The name without its version and its per-thread form.
fn stem(name: &str) -> &str {
    let name = name.strip_suffix("_ptsz").or_else(|| name.strip_suffix("_ptds")).unwrap_or(name);
    match name.rsplit_once("_v") {
        Some((stem, digits)) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => stem,
        _ => name,
    }
}

fn prototype(function: &Function) -> String {
    let declared: Vec<String> = function.params.iter().map(|p| c_type::declared(&TABLES, p.ty, p.name)).collect();
    let returns = c_type::declared(&TABLES, function.returns, "");
    let params = if declared.is_empty() { "void".to_owned() } else { declared.join(", ") };
    format!("{returns} {}({params})", function.name)
}

fn text(family: &'static Family, function: &Function) -> String {
    let mut out = format!("{} ({})\n  {}\n", function.name, family.name, prototype(function));
    let mut line = |text: String| writeln!(out, "  {text}").unwrap_or_default();
    let about = meaning::meaning(&TABLES, function);
    if !about.is_empty() {
        line(about);
    }
    line(words::span(family, function));
    words::written(family, function.name).into_iter().for_each(&mut line);
    let aliases = aliases(family, function.name);
    if !aliases.is_empty() {
        line(format!("also exported: {}", aliases.join(", ")));
    }
    for effect in function.effects {
        line(words::effect(function.params, *effect));
    }
    let width = function.params.iter().map(|p| p.name.len()).max().unwrap_or(0);
    for param in function.params {
        let rule = words::rule(&TABLES, function.params, param);
        let dir = if rule.is_some() { words::direction(param.dir) } else { "" };
        let more = words::unit(param.unit, rule.is_some()).into_iter().chain(words::writes(param.written));
        let notes: Vec<String> = rule.into_iter().chain(more.map(str::to_owned)).collect();
        let text = format!("{:width$}  {dir:5}  {}", param.name, notes.join(", "));
        line(format!("  {}", text.trim_end()));
    }
    out
}

fn object(family: &'static Family, function: &Function) -> Value {
    let about = meaning::meaning(&TABLES, function);
    let version = |n: u32| (n != 0 && n != u32::MAX).then(|| words::version(family, n));
    let params: Vec<Value> = function
        .params
        .iter()
        .map(|p| {
            let rule = words::rule(&TABLES, function.params, p);
            json!({
                "name": p.name,
                "type": c_type::declared(&TABLES, p.ty, ""),
                "direction": rule.as_ref().map(|_| words::direction(p.dir)),
                "rule": rule,
                "unit": words::unit(p.unit, rule.is_some()),
            })
        })
        .collect();
    json!({
        "type": "function",
        "family": family.name,
        "name": function.name,
        "declared": true,
        "prototype": prototype(function),
        "about": (!about.is_empty()).then_some(about),
        "since": version(function.since),
        "until": version(function.until),
        "aliases": aliases(family, function.name),
        "headers": words::of_headers(family, function.name).map(|w| json!({
            "written": w.name,
            "export": w.export,
            "since": version(w.span.0),
            "until": version(w.span.1),
        })).collect::<Vec<_>>(),
        "effects": function.effects.iter().map(|e| words::effect(function.params, *e)).collect::<Vec<_>>(),
        "params": params,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems() {
        for (name, without) in [
            ("cuMemAlloc_v2", "cuMemAlloc"),
            ("cuMemcpyHtoD_v2_ptds", "cuMemcpyHtoD"),
            ("cudaMemcpyAsync_ptsz", "cudaMemcpyAsync"),
            ("cuda_vx", "cuda_vx"),
            ("cuInit", "cuInit"),
        ] {
            assert_eq!(stem(name), without);
        }
    }

    #[test]
    fn names_in_other_letters() {
        assert!(describe("CUDAMALLOC", false).unwrap().starts_with("cudaMalloc (runtime)"));
        assert_eq!(list("cuBLAS", false), list("cublas", false));
        assert_eq!(list("libNPP", false), list("npp", false));
        let lt = list("cublaslt", false).unwrap();
        assert!(lt.lines().all(|l| l.starts_with("cublasLt")) && lt.contains("cublasLtMatmul\n"), "{lt}");
        assert!(list("CUSOLVERMG", false).unwrap().contains("cusolverMgCreate\n"));
        assert!(list("nope", false).unwrap_err().near.contains(&"cublas"));
        assert!(list("lib", false).is_err() && list("", false).is_err());
    }

    #[test]
    fn a_prototype_reads_like_c() {
        let said = describe("cuMemAlloc_v2", false).unwrap();
        assert!(said.contains("\n  CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)\n"), "{said}");
        assert!(said.contains("allocates device memory at *dptr, bytesize bytes"), "{said}");
    }

    #[test]
    fn functions_that_share_a_prototype() {
        let said = describe("nppiAdd_8u_C1RSfs_Ctx", false).unwrap();
        let prototype = "NppStatus nppiAdd_8u_C1RSfs_Ctx(const uint8_t *pSrc1, int nSrc1Step, const uint8_t *pSrc2, \
            int nSrc2Step, uint8_t *pDst, int nDstStep, NppiSize oSizeROI, int nScaleFactor, NppStreamContext nppStreamCtx)";
        assert!(said.contains(prototype) && said.contains("npp: all versions looked at"), "{said}");
        // In 12 a length became a size_t. 13 has only the forms with a stream.
        let said = describe("nppsSumGetBufferSize_32f", false).unwrap();
        assert!(said.contains("npp: to 11\n") && said.contains("npp: 12 to 12\n"), "{said}");
        let names = list("npp", false).unwrap();
        assert_eq!(names.lines().count(), 12614 + 1132);
        assert!(names.lines().is_sorted(), "{names}");
        let said = describe("nppGetPointerMemoryType", false).unwrap();
        assert_eq!(said, "nppGetPointerMemoryType (npp)\n  exported; no public header declares it\n");
    }
}
