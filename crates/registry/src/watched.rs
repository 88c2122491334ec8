//! `api/libraries/watched.toml`: watched libraries, name families, profilers, parts of the driver.

use crate::error::{Error, Source};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Watched {
    pub(crate) library: Vec<Library>,
    pub(crate) family: Vec<Family>,
    pub(crate) profiler: Vec<Profiler>,
    #[serde(default)]
    pub(crate) part: Vec<Profiler>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Library {
    pub(crate) soname: Spanned<String>,
    pub(crate) layer: Spanned<String>,
    source: Spanned<String>,
    /// Its functions work without a driver.
    #[serde(default)]
    pub(crate) without_driver: bool,
    /// These alone are watched; none: all that it exports.
    #[serde(default)]
    pub(crate) functions: Vec<Listed>,
}

/// A function that is known by another name than its symbol.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Listed {
    pub(crate) symbol: Spanned<String>,
    pub(crate) name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Family {
    pub(crate) prefix: Spanned<String>,
    /// Longer beginnings in any case, where other libraries' names begin with the prefix too.
    #[serde(default)]
    pub(crate) stems: Vec<String>,
    why: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profiler {
    pub(crate) soname: Spanned<String>,
    source: Spanned<String>,
}

/// Reads it; `layers` are the names of layers.
pub(crate) fn read(path: &Path, layers: &[&str]) -> Result<Watched, Error> {
    let source = Source::read(path)?;
    let watched: Watched = source.parse()?;
    check_layers(&source, &watched, layers)?;
    check(&source, &watched)?;
    Ok(watched)
}

fn check_layers(source: &Source, watched: &Watched, layers: &[&str]) -> Result<(), Error> {
    for library in &watched.library {
        if !layers.contains(&library.layer.get_ref().as_str()) {
            let message = format!("unknown layer {}, expected one of {}", library.layer.get_ref(), layers.join(", "));
            return Err(source.error(library.layer.span().start, message));
        }
    }
    Ok(())
}

fn check(source: &Source, watched: &Watched) -> Result<(), Error> {
    let mut listed_sonames = BTreeMap::new();
    let sonames = watched.library.iter().map(|l| (&l.soname, &l.source));
    for (soname, from) in sonames.chain(watched.profiler.iter().chain(&watched.part).map(|p| (&p.soname, &p.source))) {
        let (name, at) = (soname.get_ref(), soname.span().start);
        if !name.starts_with("lib") || !name.contains(".so") {
            return Err(source.error(at, format!("soname is \"{name}\", expected something like \"libfoo.so.*\"")));
        }
        if listed_sonames.insert(name, at).is_some() {
            return Err(source.error(at, format!("soname \"{name}\" stands here a second time")));
        }
        if from.get_ref().is_empty() {
            return Err(source.error(from.span().start, "source is empty, expected where the fact comes from".into()));
        }
    }
    let mut symbols = BTreeMap::new();
    for listed in watched.library.iter().flat_map(|library| &library.functions) {
        let (symbol, at) = (listed.symbol.get_ref(), listed.symbol.span().start);
        if symbols.insert(symbol, at).is_some() {
            return Err(source.error(at, format!("symbol \"{symbol}\" stands here a second time")));
        }
        let mangled = format!("{}{}", listed.name.len(), listed.name);
        if listed.name.is_empty() || !symbol.contains(&mangled) {
            let message = format!("name is \"{}\", which is no part of symbol \"{symbol}\"", listed.name);
            return Err(source.error(at, message));
        }
    }
    for family in &watched.family {
        let (prefix, at) = (family.prefix.get_ref(), family.prefix.span().start);
        if prefix.len() < 2 || !prefix.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            let message = format!("prefix is \"{prefix}\", expected two or more letters, digits or underscores");
            return Err(source.error(at, message));
        }
        if family.why.get_ref().is_empty() {
            return Err(source.error(family.why.span().start, "why is empty, expected the libraries it is for".into()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(text: &str) -> String {
        let source = Source { path: "w.toml".into(), text: text.into() };
        let outcome =
            source.parse().and_then(|w: Watched| check_layers(&source, &w, &["library"]).and(check(&source, &w)));
        outcome.expect_err("must be refused").to_string()
    }

    const REST: &str =
        "\n[[family]]\nprefix = \"cu\"\nwhy = \"x\"\n[[profiler]]\nsoname = \"libp.so\"\nsource = \"x\"\n";

    #[test]
    fn errors_name_file_and_line() {
        let unknown = "[[library]]\nsoname = \"liba.so\"\nlayer = \"kernel\"\nsource = \"x\"\n";
        let said = complaint(&format!("{unknown}{REST}"));
        assert!(said.starts_with("w.toml:3: unknown layer kernel, expected one of library"), "{said}");

        let twice = "[[library]]\nsoname = \"liba.so\"\nlayer = \"library\"\nsource = \"x\"\n".repeat(2);
        assert_eq!(complaint(&format!("{twice}{REST}")), "w.toml:6: soname \"liba.so\" stands here a second time");

        let misspelt = "[[library]]\nsoname = \"liba.so\"\nlayer = \"library\"\nsource = \"x\"\n\
                        functions = [{ symbol = \"_ZN1a4taleEv\", name = \"tell\" }]\n";
        let said = complaint(&format!("{misspelt}{REST}"));
        assert_eq!(said, "w.toml:5: name is \"tell\", which is no part of symbol \"_ZN1a4taleEv\"");

        let bad = "[[library]]\nsoname = \"a\"\nlayer = \"library\"\nsource = \"x\"\n";
        let said = complaint(&format!("{bad}{REST}"));
        assert_eq!(said, "w.toml:2: soname is \"a\", expected something like \"libfoo.so.*\"");
    }
}
