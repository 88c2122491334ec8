//! `functions.toml` of a family: prototypes as an import wrote them. Checks what can be checked without
//! the types.

use super::ctype::{self, CType};
use super::known::{Dir, Unit};
use super::version::{self, Span};
use crate::error::{Error, Source};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::Arc;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    versions: Vec<Spanned<String>>,
    #[allow(dead_code, reason = "for people; read so that a wrong word beside it is an error")]
    source: String,
    #[serde(default)]
    function: Vec<RawFunction>,
    #[serde(default)]
    prototype: Vec<RawShared>,
}

/// A prototype, and all functions that have it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawShared {
    first: Option<Spanned<String>>,
    last: Option<Spanned<String>>,
    returns: Spanned<String>,
    /// Declarations, with direction and unit in front.
    params: Vec<Spanned<String>>,
    functions: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFunction {
    name: Spanned<String>,
    #[allow(dead_code, reason = "for people: what a program writes")]
    base: Option<String>,
    first: Option<Spanned<String>>,
    last: Option<Spanned<String>>,
    returns: Spanned<String>,
    #[serde(default)]
    params: Vec<RawParam>,
    callback: Option<Callback>,
    callback_ptsz: Option<Callback>,
    callback_ptds: Option<Callback>,
    /// Suffixes of the per-thread forms that are exported beside the plain name.
    #[serde(default)]
    forms: Vec<Spanned<String>>,
}

/// Callback ids by version, or one that never changed.
#[derive(Deserialize)]
#[serde(untagged)]
#[allow(dead_code, reason = "that there is one is all that the tables need")]
enum Callback {
    Same(u32),
    By(std::collections::BTreeMap<String, u32>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawParam {
    name: Spanned<String>,
    #[serde(rename = "type")]
    ty: Spanned<String>,
    dir: Option<Spanned<String>>,
    unit: Option<Spanned<String>>,
}

pub(crate) fn direction(text: &str) -> Option<Dir> {
    match text {
        "in" => Some(Dir::In),
        "out" => Some(Dir::Out),
        "inout" => Some(Dir::InOut),
        _ => None,
    }
}

/// Units that a file may name.
pub(crate) const UNITS: [&str; 9] =
    ["none", "bytes", "hex", "version", "release", "long_release", "zero", "one_of", "by_mode"];

pub(crate) fn unit(text: &str) -> Unit {
    match text {
        "bytes" => Unit::Bytes,
        "hex" => Unit::Hex,
        "version" => Unit::Version,
        "release" => Unit::Release,
        "long_release" => Unit::LongRelease,
        "zero" => Unit::Zero,
        "by_mode" => Unit::ByMode,
        _ => Unit::None,
    }
}

/// A parameter as imported.
#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    /// Byte in the file.
    pub(crate) at: usize,
    pub(crate) ty: CType,
    pub(crate) dir: Option<Dir>,
    pub(crate) unit: Option<String>,
}

/// A form of a function as imported.
#[derive(Debug)]
pub(crate) struct Prototype {
    pub(crate) name: String,
    pub(crate) at: usize,
    pub(crate) span: Span,
    pub(crate) returns: CType,
    pub(crate) returns_at: usize,
    pub(crate) params: Arc<[Parameter]>,
    /// The runtime reports it by callback.
    pub(crate) callback: bool,
    /// `_ptsz`, `_ptds`: exported with this suffix too.
    pub(crate) forms: Vec<String>,
    /// Of those that share an entry: its number.
    pub(crate) shared: Option<usize>,
}

/// Versions looked at, and the functions.
pub(crate) struct Functions {
    pub(crate) versions: Vec<String>,
    pub(crate) prototypes: Vec<Prototype>,
}

pub(crate) fn read(source: &Source) -> Result<Functions, Error> {
    let raw: Raw = source.parse()?;
    for one in &raw.versions {
        version_at(source, one)?;
    }
    let mut prototypes = Vec::new();
    for function in raw.function {
        prototypes.push(prototype(source, function)?);
    }
    for (n, entry) in raw.prototype.into_iter().enumerate() {
        shared(source, n, entry, &mut prototypes)?;
    }
    let mut listed = BTreeSet::new();
    for p in &prototypes {
        if !listed.insert((&p.name, p.span)) {
            return Err(source.error(p.at, format!("{} stands here a second time with these versions", p.name)));
        }
    }
    let versions = raw.versions.into_iter().map(Spanned::into_inner).collect();
    Ok(Functions { versions, prototypes })
}

fn prototype(source: &Source, raw: RawFunction) -> Result<Prototype, Error> {
    let span = span(source, raw.first.as_ref(), raw.last.as_ref())?;
    let mut params: Vec<Parameter> = Vec::new();
    for (n, p) in raw.params.into_iter().enumerate() {
        let at = p.name.span().start;
        let name = match p.name.into_inner() {
            name if name.is_empty() => format!("arg{n}"),
            name => name,
        };
        if params.iter().any(|other| other.name == name) {
            return Err(source.error(at, format!("{}: a second parameter {name}", raw.name.get_ref())));
        }
        let dir = match &p.dir {
            None => None,
            Some(text) => Some(direction(text.get_ref()).ok_or_else(|| {
                let message = format!("dir is \"{}\", expected in, out or inout", text.get_ref());
                source.error(text.span().start, message)
            })?),
        };
        if let Some(unit) = p.unit.as_ref().filter(|u| !UNITS.contains(&u.get_ref().as_str())) {
            let message = format!("unit is \"{}\", expected one of {}", unit.get_ref(), UNITS.join(", "));
            return Err(source.error(unit.span().start, message));
        }
        let ty = type_at(source, &p.ty)?;
        params.push(Parameter { name, at, ty, dir, unit: p.unit.map(Spanned::into_inner) });
    }
    let returns = type_at(source, &raw.returns)?;
    for form in &raw.forms {
        if !["_ptsz", "_ptds"].contains(&form.get_ref().as_str()) {
            let message = format!("form \"{}\", expected _ptsz or _ptds", form.get_ref());
            return Err(source.error(form.span().start, message));
        }
    }
    let forms = raw.forms.into_iter().map(Spanned::into_inner).collect();
    let callback = raw.callback.or(raw.callback_ptsz).or(raw.callback_ptds).is_some();
    let (name, at) = (raw.name.get_ref().clone(), raw.name.span().start);
    let returns_at = raw.returns.span().start;
    Ok(Prototype { name, at, span, returns, returns_at, params: params.into(), callback, forms, shared: None })
}

/// The functions of an entry that many share.
fn shared(source: &Source, n: usize, raw: RawShared, all: &mut Vec<Prototype>) -> Result<(), Error> {
    let span = span(source, raw.first.as_ref(), raw.last.as_ref())?;
    let returns = type_at(source, &raw.returns)?;
    let mut params: Vec<Parameter> = Vec::new();
    for text in &raw.params {
        let new = declaration(source, text)?;
        if params.iter().any(|other| other.name == new.name) {
            return Err(source.error(new.at, format!("a second parameter {}", new.name)));
        }
        params.push(new);
    }
    if raw.functions.is_empty() {
        let message = "no function has this prototype, expected at least one name in functions".to_owned();
        return Err(source.error(raw.returns.span().start, message));
    }
    let params: Arc<[Parameter]> = params.into();
    all.extend(raw.functions.into_iter().map(|name| Prototype {
        at: name.span().start,
        name: name.into_inner(),
        span,
        returns: returns.clone(),
        returns_at: raw.returns.span().start,
        params: Arc::clone(&params),
        callback: false,
        forms: Vec::new(),
        shared: Some(n),
    }));
    Ok(())
}

/// `out bytes size_t *size`: direction and unit, where there are, then what C writes.
fn declaration(source: &Source, text: &Spanned<String>) -> Result<Parameter, Error> {
    let (at, mut rest) = (text.span().start, text.get_ref().trim());
    let (mut dir, mut unit) = (None, None);
    while let Some((word, after)) = rest.split_once(' ') {
        match (direction(word), UNITS.contains(&word)) {
            (Some(found), _) if dir.is_none() => dir = Some(found),
            (None, true) if unit.is_none() => unit = Some(word.to_owned()),
            _ => break,
        }
        rest = after.trim_start();
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (ty, name) = rest.split_at(rest.trim_end_matches(is_name).len());
    let ty = ctype::parse(ty).filter(|_| !name.is_empty()).ok_or_else(|| {
        let message = format!("\"{}\" is no parameter, expected one like \"out size_t *size\"", text.get_ref());
        source.error(at, message)
    })?;
    Ok(Parameter { name: name.to_owned(), at, ty, dir, unit })
}

/// A C type, or an error that names its line.
pub(crate) fn type_at(source: &Source, text: &Spanned<String>) -> Result<CType, Error> {
    let wrong = || source.error(text.span().start, format!("\"{}\" is no C type that is understood", text.get_ref()));
    ctype::parse(text.get_ref()).ok_or_else(wrong)
}

pub(crate) fn span(
    source: &Source,
    first: Option<&Spanned<String>>,
    last: Option<&Spanned<String>>,
) -> Result<Span, Error> {
    let since = first.map_or(Ok(0), |v| version_at(source, v))?;
    let until = last.map_or(Ok(u32::MAX), |v| version_at(source, v))?;
    match (first, since <= until) {
        (Some(v), false) => Err(source.error(v.span().start, "first is after last".to_owned())),
        _ => Ok(Span { since, until }),
    }
}

fn version_at(source: &Source, text: &Spanned<String>) -> Result<u32, Error> {
    let wrong = || format!("version \"{}\", expected one like \"12.9\", or \"12\" for a library", text.get_ref());
    version::parse(text.get_ref()).ok_or_else(|| source.error(text.span().start, wrong()))
}
