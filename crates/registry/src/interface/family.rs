//! One family of functions (the driver, the runtime or a library): the files of its folder under `api/`.
//!
//! Checks what needs more than one of these files. Must not resolve types; `types` does that.

use super::functions_file::{self, Functions};
use super::overlay_file::{self, Overlay};
use super::types_file::{self, Def, Types};
use super::written_file::{self, Written};
use crate::error::{Error, Source};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use toml::Spanned;

/// A family with its files; the texts stay for errors.
pub(crate) struct Family {
    pub(crate) name: String,
    pub(crate) functions_source: Source,
    pub(crate) types_source: Source,
    pub(crate) overlay_source: Source,
    pub(crate) functions: Functions,
    pub(crate) types: Types,
    pub(crate) overlay: Overlay,
    /// The driver: since which version of CUDA an export answers.
    pub(crate) since: BTreeMap<String, u32>,
    /// A library: exported names that no header declares.
    pub(crate) undeclared: BTreeSet<String>,
    pub(crate) written: Vec<Written>,
}

/// Reads a family. All three files are there or it is an error: tables that silently lack what one of them
/// says would be worse than none.
pub(crate) fn read(folder: &Path, name: &str) -> Result<Family, Error> {
    let functions_source = Source::read(&folder.join("functions.toml"))?;
    let types_source = Source::read(&folder.join("types.toml"))?;
    let overlay_source = Source::read(&folder.join("overlay.toml"))?;
    let functions = functions_file::read(&functions_source)?;
    let types = types_file::read(&types_source)?;
    let overlay = overlay_file::read(&overlay_source)?;
    let since = if name == "driver" { since(folder)? } else { BTreeMap::new() };
    let is_library = !["driver", "runtime"].contains(&name);
    let undeclared = if is_library { undeclared(folder, &functions)? } else { BTreeSet::new() };
    let written = written_file::read(folder, &functions)?;
    let name = name.to_owned();
    check_types(&types, &overlay, &overlay_source)?;
    Ok(Family {
        name,
        functions_source,
        types_source,
        overlay_source,
        functions,
        types,
        overlay,
        since,
        undeclared,
        written,
    })
}

/// Every type that the overlay speaks of must be there; `[type]` may declare what headers do not.
fn check_types(types: &Types, overlay: &Overlay, source: &Source) -> Result<(), Error> {
    for (name, text) in &overlay.handles {
        if !types.defs.contains_key(name) && !overlay.types.contains_key(name) {
            return Err(source.error(text.at, format!("types.toml has no handle {name}")));
        }
    }
    for (name, text) in &overlay.structs {
        if !matches!(types.defs.get(name), Some(Def::Struct(_))) {
            return Err(source.error(text.at, format!("types.toml has no struct or union {name}")));
        }
    }
    for (name, (at, values)) in &overlay.preferred {
        let Some(Def::Enum(n)) = types.defs.get(name) else {
            return Err(source.error(*at, format!("types.toml has no enum {name}")));
        };
        let all = &types.enums[*n].values;
        for value in values {
            let number = all.iter().find(|(n, _)| n == value).map(|(_, v)| v);
            if number.is_none_or(|number| all.iter().filter(|(_, v)| v == number).count() < 2) {
                return Err(source.error(*at, format!("{name} has no second name for the value of {value}")));
            }
        }
    }
    for (name, (at, _)) in &overlay.numbers {
        if !matches!(types.defs.get(name), Some(Def::Enum(_))) && !overlay.flags.contains_key(name) {
            return Err(source.error(*at, format!("types.toml has no enum {name}, nor is it a set of [flags]")));
        }
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Undeclared {
    undeclared: Vec<Spanned<String>>,
}

/// `exports.toml` of a library, where there is one.
fn undeclared(folder: &Path, functions: &Functions) -> Result<BTreeSet<String>, Error> {
    let path = folder.join("exports.toml");
    if !path.is_file() {
        return Ok(BTreeSet::new());
    }
    let source = Source::read(&path)?;
    let raw: Undeclared = source.parse()?;
    let declared: BTreeSet<&str> = functions.prototypes.iter().map(|p| p.name.as_str()).collect();
    let mut names = BTreeSet::new();
    for name in raw.undeclared {
        let at = name.span().start;
        if declared.contains(name.get_ref().as_str()) {
            return Err(source.error(at, format!("functions.toml declares {}", name.get_ref())));
        }
        if !names.insert(name.get_ref().clone()) {
            return Err(source.error(at, format!("{} stands here a second time", name.get_ref())));
        }
    }
    Ok(names)
}

#[derive(Deserialize)]
struct Exports {
    exports: Vec<Export>,
}

/// `sim_exports` reads and checks the rest.
#[derive(Deserialize)]
struct Export {
    name: String,
    since: Option<u32>,
}

fn since(folder: &Path) -> Result<BTreeMap<String, u32>, Error> {
    let all: Exports = Source::read(&folder.join("exports.toml"))?.parse()?;
    Ok(all.exports.into_iter().filter_map(|e| Some((e.name, e.since?))).collect())
}
