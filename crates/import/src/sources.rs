//! `api/sources.toml`: which wheels are read for which family and version, and which of their headers.
//! Must not look at the headers.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::path::Path;

/// One family of functions: one folder under `api/`.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Family {
    /// `driver`, `runtime` or the name of a library.
    pub(crate) name: String,
    /// The headers to include, in order; one that a version lacks is left out and told.
    pub(crate) headers: Vec<String>,
    /// Exported names begin with one of these.
    pub(crate) prefixes: Vec<String>,
    /// Headers whose declarations are this family's; absent: all of the first wheel.
    #[serde(default)]
    pub(crate) own: Vec<String>,
    /// Headers of further wheels whose declarations are this family's as well.
    #[serde(default)]
    pub(crate) also_own: Vec<String>,
    /// Headers whose declarations are another family's.
    #[serde(default)]
    pub(crate) not_own: Vec<String>,
    /// `-D` words for every pass.
    #[serde(default)]
    pub(crate) defines: Vec<String>,
    /// Further passes, which add functions that the first did not show.
    #[serde(default)]
    pub(crate) more: Vec<Pass>,
    /// Read as C++ (some functions are only declared there).
    #[serde(default)]
    pub(crate) cxx: bool,
    /// Numbers behind non-const pointers are memory rather than one result.
    #[serde(default)]
    pub(crate) arrays: bool,
    /// The macro with the toolkit's number (12090 is 12.9): a wheel of another one is refused.
    #[serde(default)]
    pub(crate) version_macro: Option<String>,
    /// Functions with the same prototype are written as one `[[prototype]]` with a list of their names.
    #[serde(default)]
    pub(crate) shared: bool,
    /// Functions that headers declare and the library does not export (device code), with `*`.
    #[serde(default)]
    pub(crate) leave_out: Vec<String>,
    /// Findings of `--check` that are understood.
    #[serde(default)]
    pub(crate) explained: Vec<Explained>,
    /// From the oldest to the newest; the same version may have several wheels, one after the other.
    pub(crate) versions: Vec<Version>,
}

/// A finding that is understood.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Explained {
    /// How the finding begins.
    pub(crate) prefix: String,
    /// Why it is no fault.
    pub(crate) why: String,
}

/// A further reading of a family's headers.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pass {
    /// `-D` words.
    #[serde(default)]
    pub(crate) defines: Vec<String>,
    /// Other headers than the first pass.
    #[serde(default)]
    pub(crate) headers: Vec<String>,
}

/// One version of a family.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Version {
    /// As in `api/`.
    pub(crate) version: String,
    /// `package==version`; the first has the family's headers.
    pub(crate) wheels: Vec<String>,
    /// The wheel with the callback ids.
    pub(crate) cupti: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    family: Vec<Family>,
}

impl Family {
    /// Its folder under `api/`.
    pub(crate) fn folder(&self) -> String {
        match self.name.as_str() {
            "driver" | "runtime" => self.name.clone(),
            name => format!("libraries/{name}"),
        }
    }

    /// The names of all versions, each once.
    pub(crate) fn version_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.versions.iter().map(|v| v.version.clone()).collect();
        names.dedup();
        names
    }
}

pub(crate) fn read(path: &Path) -> Result<Vec<Family>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let file: File = toml::from_str(&text).with_context(|| path.display().to_string())?;
    for family in &file.family {
        let at = path.display();
        ensure!(!family.versions.is_empty(), "{at}: family {} has no version; name at least one", family.name);
        for version in &family.versions {
            let complete = version.wheels.iter().chain(&version.cupti).all(|w| w.split_once("==").is_some());
            let name = &family.name;
            ensure!(complete, "{at}: family {name}, version {}: a wheel is written package==version", version.version);
            ensure!(!version.wheels.is_empty(), "{at}: family {name}, version {} names no wheel", version.version);
        }
    }
    Ok(file.family)
}
