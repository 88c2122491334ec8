//! One release of the kernel driver as `api/kernel/RELEASE/` has it: rows of numbers, and the layouts of structs.
//! A release is complete, or the difference from another one. `crates/import` compiles this file too, and has what
//! writes these files. Nothing here knows what a row means.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// The sections of `numbers.toml`, in the order of the file, with the words of a row.
pub(crate) const SECTIONS: [(&str, &str); 9] = [
    ("escapes", "number name"),
    ("controls", "number name parameters bytes privilege properties..."),
    ("classes", "number name parameters bytes need privilege properties..."),
    ("uvm", "number name parameters bytes handler"),
    ("statuses", "number name"),
    ("modeset", "number name"),
    ("pointers", "struct.field element count direction"),
    ("scalars", "name form"),
    ("enums", "name bytes NAME=value..."),
];

/// The rows of one section: what follows the first word, by the first word.
pub(crate) type Rows = BTreeMap<String, String>;

/// A struct or union.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    /// Other names that it has.
    pub(crate) also: Vec<String>,
    pub(crate) union: bool,
    pub(crate) size: u64,
    /// `OFFSET TYPE NAME`, with the array's counts after the name, or `:BIT:BITS`.
    pub(crate) fields: Vec<String>,
}

/// A release, complete.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Release {
    pub(crate) version: String,
    pub(crate) rows: BTreeMap<String, Rows>,
    pub(crate) records: BTreeMap<String, Record>,
}

// No field is unknown here: each further key is a section, and `complete` knows those.
#[derive(Deserialize)]
struct Numbers {
    release: String,
    base: Option<String>,
    #[serde(default)]
    removed: BTreeMap<String, Vec<String>>,
    #[serde(flatten)]
    rows: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Structs {
    release: String,
    base: Option<String>,
    #[serde(default)]
    removed: Vec<String>,
    #[serde(default, rename = "struct")]
    structs: Vec<Text>,
    #[serde(default, rename = "union")]
    unions: Vec<Text>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    name: String,
    #[serde(default)]
    also: Vec<String>,
    size: u64,
    fields: Vec<String>,
}

/// Reads all releases under `api/kernel`; each is complete in the result.
pub(crate) fn read_all(folder: &Path) -> Result<Vec<Release>, String> {
    let mut waiting = Vec::new();
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|e| format!("{}: {e}", folder.display()))?.path();
        if path.join("numbers.toml").is_file() {
            let numbers: Numbers = parse(&path.join("numbers.toml"))?;
            let structs: Structs = parse(&path.join("structs.toml"))?;
            if (&numbers.release, &numbers.base) != (&structs.release, &structs.base) {
                return Err(format!("{}: the two files name different releases or bases", path.display()));
            }
            waiting.push((numbers, structs));
        }
    }
    let mut resolved: Vec<Release> = Vec::new();
    while !waiting.is_empty() {
        let ready =
            waiting.iter().position(|(n, _)| n.base.as_ref().is_none_or(|b| resolved.iter().any(|d| d.version == *b)));
        let Some(at) = ready else {
            let names: Vec<&str> = waiting.iter().map(|(n, _)| n.release.as_str()).collect();
            return Err(format!("{}: the base of {} is missing", folder.display(), names.join(", ")));
        };
        let (numbers, structs) = waiting.swap_remove(at);
        let base = numbers.base.as_ref().and_then(|b| resolved.iter().find(|d| d.version == *b)).cloned();
        resolved.push(complete(base.unwrap_or_default(), numbers, structs)?);
    }
    resolved.sort_by_key(|r| order(&r.version));
    Ok(resolved)
}

/// The numbers of a version, to sort by.
pub(crate) fn order(version: &str) -> Vec<u32> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

fn parse<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
}

fn complete(mut base: Release, numbers: Numbers, structs: Structs) -> Result<Release, String> {
    let is_section = |section: &str| SECTIONS.iter().any(|(name, _)| *name == section);
    let wrong = |what: &str| format!("api/kernel/{}: {what}", numbers.release);
    for (section, keys) in &numbers.removed {
        let rows = base.rows.get_mut(section).ok_or_else(|| wrong(&format!("{section} is no section of the base")))?;
        for key in keys {
            rows.remove(key).ok_or_else(|| wrong(&format!("{section}: the base has no {key}")))?;
        }
    }
    for (section, rows) in &numbers.rows {
        if !is_section(section) {
            return Err(wrong(&format!("{section} is no section")));
        }
        let all = base.rows.entry(section.clone()).or_default();
        for row in rows {
            let (key, rest) = row.split_once(' ').unwrap_or((row, ""));
            all.insert(key.to_owned(), rest.to_owned());
        }
    }
    for name in &structs.removed {
        base.records.remove(name).ok_or_else(|| wrong(&format!("the base has no struct {name}")))?;
    }
    for (union, texts) in [(false, structs.structs), (true, structs.unions)] {
        for Text { name, also, size, fields } in texts {
            base.records.insert(name, Record { also, union, size, fields });
        }
    }
    base.version = numbers.release;
    Ok(base)
}
