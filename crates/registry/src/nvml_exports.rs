//! Tables of `crates/sim/nvml` from `api/libraries/nvml` and `api/devices/h200-nvml.toml`: the exports of libnvidia-ml,
//! and the answers of an H200 to queries.
//!
//! As in `sim_exports.rs`, a function in `crates/sim/nvml/src/api/` with the name of an export is its implementation.

use crate::driver_exports::head;
use crate::error::{Error, Source};
use crate::sim_exports::written_by_hand;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use toml::Spanned;

#[derive(Deserialize)]
struct Functions {
    function: Vec<Function>,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    params: Vec<Param>,
}

#[derive(Deserialize)]
struct Param {
    #[serde(rename = "type")]
    ty: String,
    #[serde(default)]
    dir: String,
}

#[derive(Deserialize)]
struct Types {
    #[serde(rename = "struct")]
    structs: Vec<Struct>,
}

#[derive(Deserialize)]
struct Struct {
    name: String,
    #[serde(default)]
    also: Vec<String>,
    fields: Vec<Field>,
}

#[derive(Deserialize)]
struct Field {
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Recorded {
    fields: Vec<(u32, u32, u32, u64)>,
    answers: Vec<Answer>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    name: Spanned<String>,
    #[serde(default, rename = "in")]
    numbers: Vec<u32>,
    #[serde(default)]
    result: u32,
    #[serde(default)]
    out: Vec<String>,
}

/// The generated files of `crates/sim/nvml`.
pub fn generate(root: &Path) -> Result<Vec<crate::File>, Error> {
    let api = root.join("api/libraries/nvml");
    let functions = Source::read(&api.join("functions.toml"))?.parse::<Functions>()?.function;
    let types = Source::read(&api.join("types.toml"))?.parse::<Types>()?;
    let source = Source::read(&root.join("api/devices/h200-nvml.toml"))?;
    let recorded = source.parse::<Recorded>()?;
    let folder = Path::new("crates/sim/nvml/src/generated");
    let written = written_by_hand(&root.join("crates/sim/nvml/src/api"))?;
    Ok(vec![
        (folder.join("exports.rs"), exports(&source, &functions, &types, &recorded.answers, &written)?),
        (folder.join("fields.rs"), fields(&recorded.fields)),
    ])
}

/// A letter for each parameter: see `crates/sim/nvml/src/default.rs`.
fn kinds(function: &Function, versioned: &BTreeSet<&str>) -> String {
    let mut kinds = String::new();
    for param in &function.params {
        let to = param.ty.trim_end_matches('*').trim();
        kinds.push(match param.ty.as_str() {
            "nvmlDevice_t" => 'd',
            "char *" => 't',
            _ if kinds.ends_with('t') => 'l',
            ty if ty.ends_with('*') && param.dir != "out" && param.dir != "inout" => 'i',
            ty if ty.ends_with('*') && versioned.contains(to) => 'v',
            ty if ty.ends_with('*') => 'o',
            "nvmlEventSet_t" | "nvmlUnit_t" | "nvmlGpuInstance_t" | "nvmlComputeInstance_t" => 'i',
            _ => 'n',
        });
    }
    kinds
}

fn exports(
    source: &Source,
    functions: &[Function],
    types: &Types,
    answers: &[Answer],
    written: &BTreeMap<String, String>,
) -> Result<String, Error> {
    let names: BTreeSet<&str> = functions.iter().map(|f| f.name.as_str()).collect();
    if let Some(name) = written.keys().find(|name| !names.contains(name.as_str())) {
        return Err(
            source.error(0, format!("crates/sim/nvml has a function `{name}` that NVML's header does not declare"))
        );
    }
    let mut by_name: BTreeMap<&str, Vec<&Answer>> = BTreeMap::new();
    for answer in answers {
        let (at, name) = (answer.name.span().start, answer.name.get_ref().as_str());
        if !names.contains(name) {
            return Err(source.error(at, format!("`{name}` is no function of NVML's header")));
        }
        if written.contains_key(name) {
            return Err(
                source.error(at, format!("`{name}` is written by hand in crates/sim/nvml: leave its answer out"))
            );
        }
        by_name.entry(name).or_default().push(answer);
    }
    let with_version = |s: &&Struct| s.fields.first().is_some_and(|f| f.name == "version");
    let versioned: BTreeSet<&str> = types
        .structs
        .iter()
        .filter(with_version)
        .flat_map(|s| std::iter::once(s.name.as_str()).chain(s.also.iter().map(String::as_str)))
        .collect();
    let mut out =
        head("Every function that libnvidia-ml.so.1 exports.", "api/libraries/nvml, api/devices/h200-nvml.toml");
    out.push_str("use crate::default::{Answer, Function};\nuse crate::stub::{by_default, default, written};\n\n");
    let mut defaults = String::new();
    let mut count = 0;
    for function in functions {
        let name = &function.name;
        if let Some(module) = written.get(name) {
            writeln!(out, "written!({name}, crate::api::{module}::{name});").unwrap();
            continue;
        }
        writeln!(out, "default!({name}, {count});").unwrap();
        count += 1;
        let kinds = kinds(function, &versioned);
        write!(defaults, "Function {{ name: {name:?}, kinds: {kinds:?}, answers: &[").unwrap();
        for answer in by_name.get(name.as_str()).into_iter().flatten() {
            let at = answer.name.span().start;
            let outs = kinds.chars().filter(|k| matches!(k, 'o' | 'v' | 't')).count();
            if !answer.out.is_empty() && answer.out.len() != outs {
                return Err(source.error(at, format!("`{name}` has {outs} outputs, and {} are here", answer.out.len())));
            }
            write!(defaults, "Answer {{ numbers: &{:?}, result: {}, out: &[", answer.numbers, answer.result).unwrap();
            for hex in &answer.out {
                let bytes = bytes(hex).ok_or_else(|| source.error(at, format!("`{hex}` is no hexadecimal text")))?;
                write!(defaults, "b\"{}\",", bytes.escape_ascii()).unwrap();
            }
            defaults.push_str("] },");
        }
        defaults.push_str("] },\n");
    }
    out.push_str("\n/// What is answered by default, by its number.\n");
    writeln!(out, "pub static DEFAULTS: [Function; {count}] = [\n{defaults}];").unwrap();
    Ok(out)
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.as_bytes().chunks(2);
    digits.map(|two| u8::from_str_radix(std::str::from_utf8(two).ok().filter(|t| t.len() == 2)?, 16).ok()).collect()
}

fn fields(all: &[(u32, u32, u32, u64)]) -> String {
    let mut out = head("What an H200 said of fields.", "api/devices/h200-nvml.toml");
    out.push_str(
        "/// Number, result, type of the value, value; sorted.\npub static FIELDS: &[(u32, u32, u32, u64)] = &[\n",
    );
    let mut all = all.to_vec();
    all.sort_unstable();
    for row in all {
        writeln!(out, "{row:?},").unwrap();
    }
    out.push_str("];\n");
    out
}
