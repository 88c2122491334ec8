//! `api/libraries/static.toml`: by which words a statically linked toolkit library is recognised.

use crate::error::{Error, Source};
use serde::Deserialize;
use std::path::Path;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    toolkit: Vec<Toolkit>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Toolkit {
    pub(crate) name: Spanned<String>,
    pub(crate) library: Vec<String>,
    #[serde(default)]
    pub(crate) words: Vec<String>,
    #[serde(default)]
    pub(crate) kernel: String,
    source: Spanned<String>,
}

pub(crate) fn read(path: &Path) -> Result<Vec<Toolkit>, Error> {
    let source = Source::read(path)?;
    let raw: Raw = source.parse()?;
    for toolkit in &raw.toolkit {
        let (name, at) = (toolkit.name.get_ref(), toolkit.name.span().start);
        if toolkit.words.iter().any(|w| w.len() < 8) {
            return Err(source.error(at, format!("{name}: a word of less than 8 letters is no sign of a library")));
        }
        if toolkit.words.is_empty() == toolkit.kernel.is_empty() {
            return Err(source.error(at, format!("{name}: expected either words or kernel")));
        }
        if toolkit.library.is_empty() || toolkit.source.get_ref().is_empty() {
            return Err(source.error(at, format!("{name}: expected at least one library, and a source")));
        }
    }
    Ok(raw.toolkit)
}
