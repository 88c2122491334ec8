//! The names of all functions that the driver and the runtimes are known to export, from
//! `api/driver/exports.toml` and `api/runtime/exports.toml`. For people's typing mistakes only: what is
//! traced is decided by address, so a function that is missing here is traced all the same.

use crate::error::{Error, Source};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;
use toml::Spanned;

/// The functions of a family, without their prototypes.
#[derive(Deserialize)]
struct Declared {
    #[serde(default)]
    function: Vec<DeclaredFunction>,
    #[serde(default)]
    prototype: Vec<Prototype>,
}

#[derive(Deserialize)]
struct DeclaredFunction {
    name: String,
    /// A number, or one for each of some versions.
    callback: Option<toml::Value>,
}

/// Exports of a library that no header declares.
#[derive(Deserialize)]
struct Undeclared {
    #[serde(default)]
    undeclared: Vec<String>,
}

/// Number of the callback by which the runtime reports a function; `None`: it has none.
pub(crate) fn callback(functions: &Path, name: &str) -> Result<Option<u32>, Error> {
    let declared: Declared = Source::read(functions)?.parse()?;
    let function = declared.function.into_iter().find(|f| f.name == name);
    let number = function.and_then(|f| f.callback?.as_integer());
    Ok(number.and_then(|number| number.try_into().ok()))
}

/// Functions that share a prototype.
#[derive(Deserialize)]
struct Prototype {
    functions: Vec<String>,
}

/// Of the driver's exports only the name is of use here; `sim_exports` reads and checks the rest.
#[derive(Deserialize)]
struct Driver {
    exports: Vec<DriverExport>,
}

#[derive(Deserialize)]
struct DriverExport {
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Runtime {
    exports: Vec<RuntimeExport>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuntimeExport {
    name: Spanned<String>,
    first: Option<String>,
    last: Option<String>,
}

/// The names of all functions of NVIDIA's families: those that headers declare and those that libraries export. The
/// family `syscall` has functions of libc.
pub fn function_names(api: &Path) -> Result<BTreeSet<String>, Error> {
    let mut names = read(api)?;
    let folders =
        std::fs::read_dir(api.join("libraries")).map_err(|error| Error::Read { path: api.join("libraries"), error })?;
    let libraries =
        folders.flatten().map(|entry| entry.path()).filter(|path| path.is_dir() && !path.ends_with("syscall"));
    for folder in libraries.chain(["driver", "runtime"].map(|family| api.join(family))) {
        let declared: Declared = Source::read(&folder.join("functions.toml"))?.parse()?;
        names.extend(declared.function.into_iter().map(|f| f.name));
        names.extend(declared.prototype.into_iter().flat_map(|p| p.functions));
        let exports = folder.join("exports.toml");
        if exports.is_file() {
            let exports: Undeclared = Source::read(&exports)?.parse()?;
            names.extend(exports.undeclared);
        }
    }
    Ok(names)
}

pub(crate) fn read(api: &Path) -> Result<BTreeSet<String>, Error> {
    let driver: Driver = Source::read(&api.join("driver/exports.toml"))?.parse()?;
    let source = Source::read(&api.join("runtime/exports.toml"))?;
    let mut names: BTreeSet<String> = driver.exports.into_iter().map(|e| e.name).collect();
    names.extend(runtime(&source)?);
    Ok(names)
}

fn runtime(source: &Source) -> Result<BTreeSet<String>, Error> {
    let raw: Runtime = source.parse()?;
    let mut names = BTreeSet::new();
    for export in raw.exports {
        let (name, at) = (export.name.get_ref(), export.name.span().start);
        if !name.trim_start_matches('_').starts_with("cuda") {
            return Err(source.error(at, format!("name is \"{name}\", expected cuda... or __cuda...")));
        }
        for version in [export.first, export.last].into_iter().flatten() {
            if !version.split_once('.').is_some_and(|(a, b)| a.parse::<u8>().is_ok() && b.parse::<u8>().is_ok()) {
                return Err(source.error(at, format!("{name}: version \"{version}\", expected one like \"12.9\"")));
            }
        }
        if !names.insert(name.clone()) {
            return Err(source.error(at, format!("{name} stands here a second time")));
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_file_and_line() {
        let said = |text: &str| {
            let source = Source { path: "e.toml".into(), text: format!("exports = [\n{text}\n]\n") };
            runtime(&source).unwrap_err().to_string()
        };
        assert_eq!(said("{ name = \"cuInit\" }"), "e.toml:2: name is \"cuInit\", expected cuda... or __cuda...");
        let twice = "{ name = \"cudaFree\" },\n{ name = \"cudaFree\" }";
        assert_eq!(said(twice), "e.toml:3: cudaFree stands here a second time");
        let version = said("{ name = \"cudaFree\", last = \"12\" }");
        assert_eq!(version, "e.toml:2: cudaFree: version \"12\", expected one like \"12.9\"");
    }
}
