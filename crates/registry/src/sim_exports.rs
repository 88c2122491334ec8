//! Tables of `crates/driver` from `api/driver/*.toml` and `api/devices/h200.toml`: the exports of libcuda, the
//! names of results, and the simulated GPU.
//!
//! A function in `crates/driver/src/api/` with the name of an export is its implementation. This file finds it by its
//! first line, so a new function needs no registration. Every other export gets the default answer.

use crate::driver_exports::{Export, Exports, head};
use crate::error::{Error, Source};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Results {
    results: Vec<CallResult>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallResult {
    value: u32,
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Device {
    recorded: bool,
    name: String,
    uuid: Spanned<String>,
    total_memory: u64,
    attributes: Vec<Attribute>,
    clusters: Clusters,
    /// Group and place of each pair of multiprocessors.
    floor_plan: Vec<(u8, u8)>,
}

/// Limits of clusters of blocks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Clusters {
    blocks_of_multiprocessor: u32,
    portable: u32,
    largest: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Attribute {
    id: u32,
    name: String,
    value: i32,
}

/// The generated files of `crates/driver`.
pub fn generate(root: &Path) -> Result<Vec<crate::File>, Error> {
    let folder = Path::new("crates/driver/src/generated");
    let source = Source::read(&root.join("api/driver/exports.toml"))?;
    let all = source.parse::<Exports>()?.exports;
    let written = written_by_hand(&root.join("crates/driver/src/api"))?;
    let mut files = crate::gpu_limits::generate(root, &all, &written)?;
    files.extend([
        (folder.join("exports.rs"), exports(&source, &all, &written)?),
        (folder.join("results.rs"), results(root)?),
        (Path::new("crates/sim/machine/src/generated/device.rs").to_owned(), device(root)?),
        (Path::new("crates/sim/machine/src/generated/attributes.rs").to_owned(), attributes(root)?),
    ]);
    Ok(files)
}

fn exports(source: &Source, all: &[Export], written: &BTreeMap<String, String>) -> Result<String, Error> {
    let mut names = BTreeSet::new();
    for export in all {
        let (at, name) = (export.name.span().start, export.name.get_ref());
        if !names.insert(name.as_str()) {
            return Err(source.error(at, format!("`{name}` stands here for the second time")));
        }
        if export.base.is_some() != export.since.is_some() {
            return Err(source.error(at, format!("`{name}` needs both `base` and `since`, or neither")));
        }
        if export.form.is_some() && export.plain() == name {
            return Err(source.error(at, format!("`{name}` has a form, but its name does not end in that form")));
        }
    }
    if let Some(name) = written.keys().find(|name| !names.contains(name.as_str())) {
        return Err(source.error(0, format!("crates/driver has a function `{name}` that is not an export listed here")));
    }
    let mut out = head("Every function that libcuda.so.1 exports.", "api/driver/exports.toml");
    out.push_str("use crate::export::Proc;\nuse crate::stub::{by_default, default, written};\n\n");
    let mut defaults = Vec::new();
    for export in all {
        let name = export.name.get_ref();
        let (module, function) = match (written.get(name), written.get(export.plain())) {
            (Some(module), _) => (module, name.as_str()),
            (None, Some(module)) => (module, export.plain()),
            (None, None) => {
                writeln!(out, "default!({name}, {});", defaults.len()).unwrap();
                defaults.push(name);
                continue;
            }
        };
        writeln!(out, "written!({name}, crate::api::{module}::{function});").unwrap();
    }
    out.push_str("\n/// The names that are answered by default, by their place in the counters.\n");
    writeln!(out, "pub static DEFAULTS: [&str; {}] = [", defaults.len()).unwrap();
    for name in &defaults {
        writeln!(out, "{name:?},").unwrap();
    }
    out.push_str("];\n\n/// What cuGetProcAddress hands out, by the name asked for, then the version.\n");
    out.push_str("pub static PROCS: &[Proc] = &[\n");
    let mut procs: Vec<_> = all.iter().filter_map(|e| Some((e.base.as_ref()?, e.since?, e))).collect();
    procs.sort_by_key(|(base, since, export)| (*base, *since, export.form.is_some()));
    for (base, since, export) in procs {
        let (thread, name) = (export.form.is_some(), export.name.get_ref());
        writeln!(out, "Proc::new({base:?}, {since}, {thread}, {name}),").unwrap();
    }
    out.push_str("];\n");
    Ok(out)
}

/// The implemented functions of a folder, each with the name of its module.
pub(crate) fn written_by_hand(folder: &Path) -> Result<BTreeMap<String, String>, Error> {
    let read = |path: &Path| std::fs::read_dir(path).map_err(|error| Error::Read { path: path.to_owned(), error });
    let mut modules = BTreeMap::new();
    for entry in read(folder)?.flatten() {
        let path = entry.path();
        let Some(module) = path.file_stem().and_then(|s| s.to_str()) else { continue };
        let source = Source::read(&path)?;
        for line in source.text.lines() {
            let Some(rest) = line.strip_prefix("pub extern \"C\" fn ") else { continue };
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            modules.insert(name, module.to_owned());
        }
    }
    Ok(modules)
}

fn results(root: &Path) -> Result<String, Error> {
    let from = "api/driver/results.toml";
    let source = Source::read(&root.join(from))?;
    let mut out = head("The driver's results: number and name.", from);
    out.push_str("/// Sorted by number.\npub static RESULTS: &[(u32, &core::ffi::CStr)] = &[\n");
    let mut all = source.parse::<Results>()?.results;
    all.sort_by_key(|r| r.value);
    for CallResult { value, name } in all {
        writeln!(out, "({value}, c{name:?}),").unwrap();
    }
    out.push_str("];\n");
    Ok(out)
}

/// Of the types of the driver's interface, only the enums.
#[derive(Deserialize)]
struct Enums {
    #[serde(rename = "enum")]
    all: Vec<Enum>,
}

#[derive(Deserialize)]
struct Enum {
    name: String,
    values: Vec<Vec<toml::Value>>,
}

/// Enums whose numbers the simulated driver has by name: of each the module, and what all names begin with.
const ATTRIBUTES: [(&str, &str, &str); 2] = [
    ("CUfunction_attribute", "function_attribute", "CU_FUNC_ATTRIBUTE_"),
    ("CUpointer_attribute", "pointer_attribute", "CU_POINTER_ATTRIBUTE_"),
];

fn attributes(root: &Path) -> Result<String, Error> {
    let from = "api/driver/types.toml";
    let enums = Source::read(&root.join(from))?.parse::<Enums>()?;
    let mut out = head("The numbers of attributes of functions and pointers.", from);
    for (name, module, prefix) in ATTRIBUTES {
        writeln!(out, "/// {name}\npub mod {module} {{").unwrap();
        for value in enums.all.iter().filter(|of| of.name == name).flat_map(|of| &of.values) {
            let [toml::Value::String(name), toml::Value::Integer(number), ..] = &value[..] else { continue };
            let constant = name.strip_prefix(prefix).unwrap_or(name);
            writeln!(out, "/// {name}\npub const {constant}: u32 = {number};").unwrap();
        }
        out.push_str("}\n\n");
    }
    Ok(out)
}

fn device(root: &Path) -> Result<String, Error> {
    let from = "api/devices/h200.toml";
    let source = Source::read(&root.join(from))?;
    let device = source.parse::<Device>()?;
    let digits: String = device.uuid.get_ref().chars().filter(|c| *c != '-').collect();
    let uuid: Option<Vec<u8>> = (0..16).map(|i| u8::from_str_radix(digits.get(2 * i..2 * i + 2)?, 16).ok()).collect();
    let Some(uuid) = uuid.filter(|_| digits.len() == 32) else {
        let message = format!("`{}` is not a uuid; 32 hexadecimal digits are", device.uuid.get_ref());
        return Err(source.error(device.uuid.span().start, message));
    };
    let mut out = head("The GPU that is simulated.", from);
    let kind = if device.recorded { "recorded on one" } else { "not recorded on one: publicly known values" };
    writeln!(out, "/// Its name; the values are {kind}.\npub const NAME: &core::ffi::CStr = c{:?};", device.name)
        .unwrap();
    writeln!(out, "/// Of the first simulated device.\npub const UUID: [u8; 16] = {uuid:?};").unwrap();
    writeln!(out, "/// In bytes.\npub const TOTAL_MEMORY: u64 = {};\n", device.total_memory).unwrap();
    let mut attributes = device.attributes;
    attributes.sort_by_key(|attribute| attribute.id);
    out.push_str("/// The numbers of attributes: CUdevice_attribute.\npub mod attribute_id {\n");
    for Attribute { id, name, .. } in &attributes {
        writeln!(out, "/// CU_DEVICE_ATTRIBUTE_{name}\npub const {name}: u32 = {id};").unwrap();
    }
    out.push_str("}\n\n/// Number of each attribute (sorted) and its value.\n");
    out.push_str("pub static ATTRIBUTES: &[(u32, i32)] = &[\n");
    for Attribute { name, value, .. } in &attributes {
        writeln!(out, "(attribute_id::{name}, {value}),").unwrap();
    }
    out.push_str("];\n\n");
    let (groups, places): (Vec<u8>, Vec<u8>) = device.floor_plan.into_iter().unzip();
    let pairs = groups.len();
    writeln!(out, "/// The group of each pair of multiprocessors.\npub static GROUPS: [u8; {pairs}] = {groups:?};\n")
        .unwrap();
    writeln!(out, "/// Its number in the group.\npub static PLACES: [u8; {pairs}] = {places:?};\n").unwrap();
    let Clusters { blocks_of_multiprocessor, portable, largest } = device.clusters;
    out.push_str("/// Limits of clusters of blocks.\npub mod cluster {\n");
    writeln!(out, "/// Of one multiprocessor.\npub const BLOCKS: i32 = {blocks_of_multiprocessor};").unwrap();
    writeln!(out, "/// Blocks of the largest portable cluster.\npub const PORTABLE: i32 = {portable};").unwrap();
    writeln!(out, "/// Blocks of the largest cluster.\npub const LARGEST: i32 = {largest};\n}}").unwrap();
    Ok(out)
}
