//! What changed in a family from one version to another, as the committed files say it. Needs neither
//! clang nor headers.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Deserialize)]
struct Functions {
    versions: Vec<String>,
    #[serde(default)]
    function: Vec<Entry>,
    #[serde(default)]
    prototype: Vec<Shared>,
}

/// A prototype with the names of the functions that have it.
#[derive(Deserialize)]
struct Shared {
    first: Option<String>,
    last: Option<String>,
    returns: String,
    params: Vec<String>,
    functions: Vec<String>,
}

#[derive(Deserialize, Default)]
struct Types {
    #[serde(default, rename = "enum")]
    enums: Vec<Enum>,
    #[serde(default, rename = "struct")]
    structs: Vec<Entry>,
    #[serde(default, rename = "union")]
    unions: Vec<Entry>,
}

/// A function, struct or union in one span; what it says is `rest`.
#[derive(Deserialize)]
struct Entry {
    name: String,
    first: Option<String>,
    last: Option<String>,
    returns: Option<String>,
    params: Option<Vec<toml::Table>>,
    size: Option<u64>,
    fields: Option<Vec<toml::Table>>,
    /// Parameters as declarations.
    #[serde(skip)]
    declared: String,
}

#[derive(Deserialize)]
struct Enum {
    name: String,
    values: Vec<toml::Value>,
}

/// The lines that tell it.
pub(crate) fn between(folder: &Path, from: &str, to: &str) -> Result<Vec<String>> {
    let mut functions: Functions = read(&folder.join("functions.toml"))?;
    let shared = std::mem::take(&mut functions.prototype);
    functions.function.extend(shared.iter().flat_map(Shared::entries));
    let types: Types = read(&folder.join("types.toml"))?;
    let versions = &functions.versions;
    let place = |v: &str| {
        let position = versions.iter().position(|known| known == v);
        position.with_context(|| format!("{v} was not imported; {} has {}", folder.display(), versions.join(", ")))
    };
    let (from, to) = (place(from)?, place(to)?);
    ensure!(from < to, "the first version must be the older one");
    let mut lines = Vec::new();
    entries("function", versions, &functions.function, (from, to), &mut lines);
    entries("struct", versions, &types.structs, (from, to), &mut lines);
    entries("union", versions, &types.unions, (from, to), &mut lines);
    for found in &types.enums {
        for value in &found.values {
            let word = |n| value.get(n).and_then(toml::Value::as_str);
            let Some(since) = word(2).and_then(|v| versions.iter().position(|known| known == v)) else { continue };
            if since > from && since <= to {
                lines.push(format!("+ value {} of {}", word(0).unwrap_or("?"), found.name));
            }
        }
    }
    Ok(lines)
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    toml::from_str(&text).with_context(|| path.display().to_string())
}

fn entries(what: &str, versions: &[String], all: &[Entry], (from, to): (usize, usize), lines: &mut Vec<String>) {
    let at = |version: usize| -> BTreeMap<&str, &Entry> {
        all.iter().filter(|e| e.covers(versions, version)).map(|e| (e.name.as_str(), e)).collect()
    };
    let (old, new) = (at(from), at(to));
    lines.extend(new.keys().filter(|n| !old.contains_key(*n)).map(|n| format!("+ {what} {n}")));
    lines.extend(old.keys().filter(|n| !new.contains_key(*n)).map(|n| format!("- {what} {n}")));
    for (name, entry) in &new {
        if let Some(before) = old.get(name).filter(|b| b.shape() != entry.shape()) {
            lines.push(format!("~ {what} {name}: {} -> {}", before.shape(), entry.shape()));
        }
    }
}

impl Shared {
    fn entries(&self) -> impl Iterator<Item = Entry> {
        self.functions.iter().map(|name| Entry {
            name: name.clone(),
            first: self.first.clone(),
            last: self.last.clone(),
            returns: Some(self.returns.clone()),
            params: None,
            size: None,
            fields: None,
            declared: self.params.join(", "),
        })
    }
}

impl Entry {
    fn covers(&self, versions: &[String], at: usize) -> bool {
        let place = |v: &Option<String>, none: usize| {
            v.as_ref().and_then(|v| versions.iter().position(|known| known == v)).unwrap_or(none)
        };
        (place(&self.first, 0)..=place(&self.last, usize::MAX)).contains(&at)
    }

    fn shape(&self) -> String {
        let rows = self.params.iter().chain(&self.fields).flatten();
        let word = |row: &toml::Table, key: &str| row.get(key).and_then(toml::Value::as_str).unwrap_or("?").to_owned();
        let rows = rows.map(|row| format!("{} {}", word(row, "type"), word(row, "name")));
        let rows = rows.collect::<Vec<_>>().join(", ") + &self.declared;
        match (&self.returns, self.size) {
            (Some(returns), _) => format!("{returns} ({rows})"),
            (None, size) => format!("{{{rows}}} {} bytes", size.unwrap_or(0)),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn from_files() {
        let folder = std::env::temp_dir().join(format!("cutap-import-changes-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let functions = "versions = [\"1\", \"2\"]\n[[function]]\nname = \"old\"\nlast = \"1\"\nreturns = \"int\"\nparams = []\n\
            [[function]]\nname = \"f\"\nlast = \"1\"\nreturns = \"int\"\nparams = []\n\
            [[function]]\nname = \"f\"\nfirst = \"2\"\nreturns = \"int\"\nparams = [{ name = \"a\", type = \"int\" }]\n\
            [[prototype]]\nfirst = \"2\"\nreturns = \"int\"\nparams = [\"int b\"]\nfunctions = [\"g\"]\n";
        let types = "[[enum]]\nname = \"E\"\nvalues = [[\"A\", 0], [\"B\", 1, \"2\"]]\n";
        std::fs::write(folder.join("functions.toml"), functions).unwrap();
        std::fs::write(folder.join("types.toml"), types).unwrap();
        let lines = super::between(&folder, "1", "2").unwrap();
        assert_eq!(lines, ["+ function g", "- function old", "~ function f: int () -> int (int a)", "+ value B of E"]);
        let unknown = super::between(&folder, "1", "3").unwrap_err().to_string();
        assert!(unknown.contains("3 was not imported"), "{unknown}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
