//! All families of `api/`, and the lookup of a type name as the header of one family sees it.

use super::about_file::{self, About};
use super::family::{self, Family};
use super::overlay_file::TypeText;
use super::types_file::Def;
use crate::error::{Error, Source};
use std::path::Path;

/// All families: driver, runtime, then the libraries by name.
pub(crate) struct ApiFiles {
    pub(crate) families: Vec<Family>,
    /// What functions of driver and runtime do.
    pub(crate) about: About,
}

/// What a name is, and in which family.
#[derive(Clone, Copy)]
pub(crate) enum Found<'a> {
    Overlay(usize, &'a TypeText),
    /// An enum made of defines.
    Flags(usize),
    Def(usize, &'a Def),
}

impl ApiFiles {
    pub(crate) fn read(api: &Path) -> Result<ApiFiles, Error> {
        let mut families = Vec::new();
        for name in ["driver", "runtime"] {
            families.push(family::read(&api.join(name), name)?);
        }
        let libraries = api.join("libraries");
        let mut folders: Vec<_> = match std::fs::read_dir(&libraries) {
            Ok(entries) => entries.flatten().map(|e| e.path()).filter(|p| p.is_dir()).collect(),
            Err(error) => return Err(Error::Read { path: libraries, error }),
        };
        folders.sort();
        for folder in folders {
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            families.push(family::read(&folder, &name)?);
        }
        let about = about_file::read(&Source::read(&api.join("about.toml"))?, &families)?;
        Ok(ApiFiles { families, about })
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
        let own_definition = [family].into_iter().chain(shared).find_map(|n| written(&n).or_else(|| flags(&n)));
        if let Some(own) = own_definition.or_else(|| imported(&family)) {
            return Some(own);
        }
        let definition = order.iter().find_map(written).or_else(|| order.iter().find_map(flags));
        definition.or_else(|| order.iter().find_map(imported))
    }
}
