//! All families of `api/` as they were read, and where a name of a type leads.

use super::about_file::{self, About};
use super::functions_file::{self, Functions};
use super::overlay_file::{self, Overlay, TypeText};
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

/// All families: driver, runtime, then the libraries by name.
pub(crate) struct World {
    pub(crate) families: Vec<Family>,
    /// What functions of driver and runtime do.
    pub(crate) about: About,
}

/// Where something stands, for errors about it.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) source: &'a Source,
    pub(crate) at: usize,
}

impl Place<'_> {
    pub(crate) fn error(self, message: String) -> Error {
        self.source.error(self.at, message)
    }
}

/// What a name is, and in which family.
#[derive(Clone, Copy)]
pub(crate) enum Found<'a> {
    Overlay(usize, &'a TypeText),
    /// An enum made of defines.
    Flags(usize),
    Def(usize, &'a Def),
}

impl World {
    pub(crate) fn read(api: &Path) -> Result<World, Error> {
        let mut families = Vec::new();
        for name in ["driver", "runtime"] {
            families.push(family(&api.join(name), name)?);
        }
        let libraries = api.join("libraries");
        let mut folders: Vec<_> = match std::fs::read_dir(&libraries) {
            Ok(entries) => entries.flatten().map(|e| e.path()).filter(|p| p.is_dir()).collect(),
            Err(error) => return Err(Error::Read { path: libraries, error }),
        };
        folders.sort();
        for folder in folders {
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            families.push(family(&folder, &name)?);
        }
        let about = about_file::read(&Source::read(&api.join("about.toml"))?, &families)?;
        Ok(World { families, about })
    }

    /// A name as one family's header means it: its own first, then the runtime's, the driver's, all others'.
    /// What people wrote of another library's type is not said of one of this family with the same name.
    pub(crate) fn find(&self, family: usize, name: &str) -> Option<Found<'_>> {
        let shared = self.families.iter().position(|f| f.name == "runtime");
        let order: Vec<usize> = [family].into_iter().chain(shared).chain(0..self.families.len()).collect();
        // What people wrote wins over what was imported.
        let written = |n: &usize| self.families[*n].overlay.types.get(name).map(|t| Found::Overlay(*n, t));
        let flags = |n: &usize| self.families[*n].overlay.flags.contains_key(name).then_some(Found::Flags(*n));
        let imported = |n: &usize| self.families[*n].types.defs.get(name).map(|d| Found::Def(*n, d));
        let shared = ["driver", "runtime"].iter().filter_map(|n| self.families.iter().position(|f| f.name == *n));
        let said = [family].into_iter().chain(shared).find_map(|n| written(&n).or_else(|| flags(&n)));
        if let Some(own) = said.or_else(|| imported(&family)) {
            return Some(own);
        }
        let found = order.iter().find_map(written).or_else(|| order.iter().find_map(flags));
        found.or_else(|| order.iter().find_map(imported))
    }
}

/// Reads a family. All three files are there or it is an error: tables that silently lack what one of them
/// says would be worse than none.
fn family(folder: &Path, name: &str) -> Result<Family, Error> {
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
