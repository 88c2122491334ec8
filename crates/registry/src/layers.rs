//! `api/layers.toml`: the layers that functions belong to.

use crate::error::{Error, Source};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    layer: Vec<Layer>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Layer {
    number: Spanned<u8>,
    name: Spanned<String>,
    letter: Spanned<String>,
    /// Recorded only where a rule names the layer.
    #[serde(default)]
    pub(crate) opt_in: bool,
    pub(crate) about: String,
}

impl Layer {
    pub(crate) fn number(&self) -> u8 {
        *self.number.get_ref()
    }
    pub(crate) fn name(&self) -> &str {
        self.name.get_ref()
    }
    pub(crate) fn letter(&self) -> char {
        self.letter.get_ref().chars().next().unwrap_or('?')
    }
}

pub(crate) fn read(path: &Path) -> Result<Vec<Layer>, Error> {
    let source = Source::read(path)?;
    let Raw { layer: layers } = source.parse()?;
    let (mut names, mut letters) = (BTreeSet::new(), BTreeSet::new());
    for (n, layer) in layers.iter().enumerate() {
        let wrong = |at: usize, what: &str| Err(source.error(at, what.to_owned()));
        if usize::from(layer.number()) != n + 1 {
            return wrong(layer.number.span().start, "numbers go up from 1 without a gap: recordings hold them");
        }
        if layer.name().is_empty() || !layer.name().bytes().all(|b| b.is_ascii_lowercase()) {
            return wrong(layer.name.span().start, "a name is one lowercase word");
        }
        let letter = layer.letter.get_ref();
        if letter.len() != 1 || !letter.bytes().all(|b| b.is_ascii_lowercase()) {
            return wrong(layer.letter.span().start, "a letter is one lowercase letter");
        }
        if !names.insert(layer.name().to_owned()) || !letters.insert(layer.letter()) {
            return wrong(layer.name.span().start, "another layer has this name or letter");
        }
    }
    Ok(layers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_layers_are_errors() {
        let file = std::env::temp_dir().join(format!("cutap-layers-{}.toml", std::process::id()));
        let layer = |number: u8, name: &str, letter: &str| {
            format!("[[layer]]\nnumber = {number}\nname = \"{name}\"\nletter = \"{letter}\"\nabout = \"\"\n")
        };
        for (text, wrong) in [
            (layer(1, "library", "l") + &layer(2, "runtime", "r"), None),
            (layer(2, "library", "l"), Some(":2: numbers go up")),
            (layer(1, "Library", "l"), Some(":3: a name is")),
            (layer(1, "library", "li"), Some(":4: a letter is")),
            (layer(1, "library", "l") + &layer(2, "local", "l"), Some(":8: another layer")),
        ] {
            std::fs::write(&file, &text).unwrap();
            let said = read(&file).err().map(|e| e.to_string());
            assert!(
                match (&said, wrong) {
                    (Some(said), Some(wrong)) => said.contains(wrong),
                    (said, wrong) => said.is_none() == wrong.is_none(),
                },
                "{said:?}"
            );
        }
        std::fs::remove_file(&file).unwrap();
    }
}
