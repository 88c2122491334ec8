//! What is committed under `api/`, without clang or headers: every name that a real driver or runtime
//! exports has a prototype, or stands in a list here with the reason.

use std::collections::BTreeSet;
use std::path::Path;

fn table(path: &str) -> toml::Table {
    let at = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../api").join(path);
    std::fs::read_to_string(&at).unwrap().parse().unwrap()
}

fn rows<'a>(table: &'a toml::Table, key: &str) -> impl Iterator<Item = &'a toml::Value> {
    table.get(key).and_then(toml::Value::as_array).into_iter().flatten()
}

fn word<'a>(row: &'a toml::Value, key: &str) -> &'a str {
    row.get(key).and_then(toml::Value::as_str).unwrap_or("")
}

fn check(family: &str, without: &[&str]) {
    let functions = table(&format!("{family}/functions.toml"));
    let mut known = BTreeSet::new();
    for function in rows(&functions, "function") {
        let name = word(function, "name");
        known.insert(name.to_owned());
        for form in function.get("forms").and_then(toml::Value::as_array).into_iter().flatten() {
            known.insert(format!("{name}{}", form.as_str().unwrap()));
        }
    }
    let exports = table(&format!("{family}/exports.toml"));
    let exported: BTreeSet<String> = rows(&exports, "exports").map(|e| word(e, "name").to_owned()).collect();
    assert!(exported.len() > 400, "{family}/exports.toml is not all of it");
    let missing: Vec<&str> = exported.iter().map(String::as_str).filter(|n| !known.contains(*n)).collect();
    assert_eq!(missing, without, "{family}: exported, and without a prototype");
}

#[test]
fn every_driver_export_has_a_prototype() {
    // No header declares them. cudbg* are the debugger's side; the rest is undocumented.
    let without = [
        "cuEGLApiInit",
        "cuMemGetAttribute",
        "cuMemGetAttribute_v2",
        "cudbgApiAttach",
        "cudbgApiDetach",
        "cudbgApiInit",
        "cudbgGetAPI",
        "cudbgGetAPIVersion",
        "cudbgMain",
        "cudbgReportDriverApiError",
        "cudbgReportDriverInternalError",
    ];
    check("driver", &without);
}

#[test]
fn every_runtime_export_has_a_prototype() {
    // No header declares them: the runtime's own, and an interface that was never published.
    let without = [
        "__cudaGetProcAddress",
        "__cudaRegisterUnifiedTable",
        "cudaSubgridCreate",
        "cudaSubgridWorkerGridCreate",
        "cudaSubgridWorksetCreate",
    ];
    check("runtime", &without);
}
