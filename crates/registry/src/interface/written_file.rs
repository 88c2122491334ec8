//! `written.toml` of a family: which export a header makes of a name that programs write, in which versions.
//! There is none where headers rename nothing.

use super::functions_file::Functions;
use super::version;
use crate::error::{Error, Source};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use toml::Spanned;

/// A name, and what it is from a version on and up to one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Written {
    pub(crate) name: String,
    pub(crate) export: String,
    pub(crate) since: u32,
    pub(crate) until: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    export: Spanned<String>,
    first: Option<String>,
    last: Option<String>,
}

pub(crate) fn read(folder: &Path, functions: &Functions) -> Result<Vec<Written>, Error> {
    let path = folder.join("written.toml");
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let source = Source::read(&path)?;
    let raw: BTreeMap<String, Vec<Raw>> = source.parse()?;
    let mut all = Vec::new();
    for (name, rows) in raw {
        for row in rows {
            let at = row.export.span().start;
            let export = row.export.into_inner();
            if !functions.prototypes.iter().any(|p| p.name == export) {
                return Err(source.error(at, format!("functions.toml has no {export}")));
            }
            let wrong = || source.error(at, format!("{name}: first and last are versions like \"12.9\""));
            let number =
                |text: Option<String>, none| text.map_or(Ok(none), |text| version::parse(&text).ok_or_else(wrong));
            let (since, until) = (number(row.first, 0)?, number(row.last, u32::MAX)?);
            all.push(Written { name: name.clone(), export, since, until });
        }
    }
    all.sort();
    Ok(all)
}
