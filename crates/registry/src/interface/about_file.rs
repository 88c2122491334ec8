//! `api/about.toml`: what each function of driver and runtime does, in a sentence of cutap. A sentence that
//! no function has is an error: it would be about something else than its writer thought.

use super::family::Family;
use crate::error::{Error, Source};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct About {
    both: BTreeMap<Spanned<String>, String>,
    driver: BTreeMap<Spanned<String>, String>,
    runtime: BTreeMap<Spanned<String>, String>,
}

/// How names of both begin.
const PREFIXES: [(&str, &str); 2] = [("driver", "cu"), ("runtime", "cuda")];

pub(crate) fn read(source: &Source, families: &[Family]) -> Result<About, Error> {
    let about: About = source.parse()?;
    let parts = [("driver", &about.driver), ("runtime", &about.runtime), ("", &about.both)];
    for (family, texts) in parts {
        for key in texts.keys() {
            let of = PREFIXES.iter().filter(|(name, _)| family.is_empty() || *name == family);
            let mut names = of.flat_map(|(name, prefix)| {
                let prefix = if family.is_empty() { prefix } else { "" };
                let functions = families.iter().find(|f| f.name == *name).map(|f| &f.functions.prototypes);
                functions.into_iter().flatten().map(move |p| (prefix, p.name.as_str()))
            });
            let is_about = |(prefix, name): (&str, &str)| {
                let rest = |name: &str| name.strip_prefix(prefix) == Some(key.get_ref());
                rest(name) || rest(stem(name))
            };
            if !names.any(is_about) {
                return Err(source.error(key.span().start, format!("no functions.toml has {}", key.get_ref())));
            }
        }
    }
    Ok(about)
}

impl About {
    /// The sentence on a function: what is said of its whole name, of it without its version, of driver and
    /// runtime alike.
    pub(crate) fn of(&self, family: &str, name: &str) -> Option<&str> {
        let (_, prefix) = PREFIXES.iter().find(|(of, _)| *of == family)?;
        let own = if family == "driver" { &self.driver } else { &self.runtime };
        let stem = stem(name);
        find_text(own, name)
            .or_else(|| find_text(own, stem))
            .or_else(|| find_text(&self.both, stem.strip_prefix(prefix)?))
    }
}

fn find_text<'a>(texts: &'a BTreeMap<Spanned<String>, String>, name: &str) -> Option<&'a str> {
    texts.iter().find(|(key, _)| key.get_ref() == name).map(|(_, text)| text.as_str())
}

/// A name without its version.
fn stem(name: &str) -> &str {
    match name.rsplit_once("_v") {
        Some((stem, digits)) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => stem,
        _ => name,
    }
}
