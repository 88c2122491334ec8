//! `types.toml` of a family: enums, handles, structs, unions, typedefs and defines as an import wrote them.

use super::ctype::CType;
use super::functions_file::{span, type_at};
use super::version::Span;
use crate::error::{Error, Source};
use serde::Deserialize;
use std::collections::HashMap;
use toml::Spanned;

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Raw {
    #[allow(dead_code, reason = "for people")]
    source: Option<String>,
    #[allow(dead_code, reason = "the same as those of functions.toml")]
    versions: Vec<String>,
    #[serde(rename = "enum")]
    enums: Vec<RawEnum>,
    handle: Vec<RawHandle>,
    #[serde(rename = "struct")]
    structs: Vec<RawStruct>,
    union: Vec<RawStruct>,
    typedef: Vec<RawTypedef>,
    define: Vec<RawDefine>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEnum {
    name: Spanned<String>,
    #[serde(default)]
    also: Vec<String>,
    #[serde(default)]
    flags: bool,
    bytes: Option<u8>,
    values: Vec<Spanned<Vec<toml::Value>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawHandle {
    name: Spanned<String>,
    #[serde(default)]
    also: Vec<String>,
    /// The struct that it points to.
    tag: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStruct {
    name: Spanned<String>,
    #[serde(default)]
    also: Vec<String>,
    first: Option<Spanned<String>>,
    last: Option<Spanned<String>>,
    size: u32,
    fields: Vec<RawField>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawField {
    name: Spanned<String>,
    #[serde(rename = "type")]
    ty: Spanned<String>,
    offset: u32,
    /// Bits of a bit field, and its first: they are not shown one by one.
    bits: Option<u32>,
    #[allow(dead_code, reason = "see bits")]
    bit: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTypedef {
    name: Spanned<String>,
    #[serde(rename = "type")]
    ty: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDefine {
    name: Spanned<String>,
    value: toml::Value,
    #[allow(dead_code, reason = "a define that went away is still a name for its value")]
    first: Option<Spanned<String>>,
    #[allow(dead_code, reason = "see first")]
    last: Option<Spanned<String>>,
}

/// Enum or set of flags.
#[derive(Debug)]
pub(crate) struct EnumDef {
    pub(crate) name: String,
    pub(crate) flags: bool,
    pub(crate) bytes: u8,
    pub(crate) values: Vec<(String, i64)>,
}

/// A layout of a struct or union.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) span: Span,
    pub(crate) size: u32,
    pub(crate) fields: Vec<FieldDef>,
}

#[derive(Debug)]
pub(crate) struct FieldDef {
    pub(crate) name: String,
    pub(crate) at: usize,
    pub(crate) ty: CType,
    pub(crate) offset: u32,
    pub(crate) bits: bool,
}

/// What a name means.
#[derive(Debug)]
pub(crate) enum Def {
    /// Of [`Types::enums`].
    Enum(usize),
    /// A handle by its own name.
    Handle(String),
    /// Of [`Types::structs`].
    Struct(usize),
    /// Another name for a type.
    Typedef(CType),
}

/// All layouts of one struct or union, oldest first.
#[derive(Debug)]
pub(crate) struct StructDef {
    pub(crate) name: String,
    pub(crate) union: bool,
    pub(crate) layouts: Vec<Layout>,
}

/// The types of a family.
#[derive(Default)]
pub(crate) struct Types {
    pub(crate) defs: HashMap<String, Def>,
    /// Handles by the struct that they point to.
    pub(crate) tags: HashMap<String, String>,
    pub(crate) enums: Vec<EnumDef>,
    pub(crate) structs: Vec<StructDef>,
    pub(crate) defines: HashMap<String, i64>,
    /// Names of defines in the file's order.
    pub(crate) define_names: Vec<String>,
}

pub(crate) fn read(source: &Source) -> Result<Types, Error> {
    let raw: Raw = source.parse()?;
    let mut types = Types::default();
    for one in raw.enums {
        let mut values = Vec::new();
        for value in &one.values {
            values.push(enum_value(source, value)?);
        }
        let names = names(&one.name, one.also);
        let n = types.enums.len();
        types.enums.push(EnumDef {
            name: one.name.get_ref().clone(),
            flags: one.flags,
            bytes: one.bytes.unwrap_or(4),
            values,
        });
        types.define(source, one.name.span().start, names, || Def::Enum(n))?;
    }
    for one in raw.handle {
        types.tags.extend(one.tag.iter().map(|tag| (tag.clone(), one.name.get_ref().clone())));
        let names = names(&one.name, one.also.clone());
        types.define(source, one.name.span().start, names, || Def::Handle(one.name.get_ref().clone()))?;
    }
    let structs = raw.structs.into_iter().map(|s| (s, false));
    for (one, union) in structs.chain(raw.union.into_iter().map(|u| (u, true))) {
        types.layout(source, one, union)?;
    }
    for one in raw.typedef {
        let ty = type_at(source, &one.ty)?;
        // `typedef struct X X`, and X is nowhere: something that only pointers lead to.
        let opaque = ty.name() == Some(one.name.get_ref());
        let ty = if opaque { CType::Name("void".to_owned(), false) } else { ty };
        let names = vec![one.name.get_ref().clone()];
        types.define(source, one.name.span().start, names, || Def::Typedef(ty.clone()))?;
    }
    for one in raw.define {
        if let toml::Value::Integer(value) = one.value {
            types.define_names.push(one.name.get_ref().clone());
            types.defines.insert(one.name.into_inner(), value);
        }
    }
    Ok(types)
}

fn names(name: &Spanned<String>, also: Vec<String>) -> Vec<String> {
    let mut all = vec![name.get_ref().clone()];
    all.extend(also.into_iter().filter(|a| a != name.get_ref()));
    all
}

fn enum_value(source: &Source, value: &Spanned<Vec<toml::Value>>) -> Result<(String, i64), Error> {
    match value.get_ref().as_slice() {
        [toml::Value::String(name), toml::Value::Integer(n), ..] => Ok((name.clone(), *n)),
        _ => {
            let message = "expected [\"NAME\", number] or [\"NAME\", number, \"first version\"]".to_owned();
            Err(source.error(value.span().start, message))
        }
    }
}

impl Types {
    fn define(
        &mut self,
        source: &Source,
        at: usize,
        names: Vec<String>,
        mut def: impl FnMut() -> Def,
    ) -> Result<(), Error> {
        for (n, name) in names.into_iter().enumerate() {
            match self.defs.entry(name) {
                std::collections::hash_map::Entry::Vacant(free) => {
                    free.insert(def());
                }
                // A tag may have the name of another type; the type's own name may not.
                std::collections::hash_map::Entry::Occupied(taken) if n == 0 => {
                    return Err(source.error(at, format!("{} is a type already", taken.key())));
                }
                std::collections::hash_map::Entry::Occupied(_) => {}
            }
        }
        Ok(())
    }

    fn layout(&mut self, source: &Source, raw: RawStruct, union: bool) -> Result<(), Error> {
        let span = span(source, raw.first.as_ref(), raw.last.as_ref())?;
        let at = raw.name.span().start;
        let mut fields = Vec::new();
        for field in &raw.fields {
            let (name, at) = (field.name.get_ref().clone(), field.name.span().start);
            let ty = type_at(source, &field.ty)?;
            if field.offset >= raw.size.max(1) {
                let message = format!("{name} lies at {}, behind the end at {}", field.offset, raw.size);
                return Err(source.error(at, message));
            }
            fields.push(FieldDef { name, at, ty, offset: field.offset, bits: field.bits.is_some() });
        }
        let layout = Layout { span, size: raw.size, fields };
        match self.defs.get(raw.name.get_ref()) {
            Some(Def::Struct(n)) => {
                let layouts = &mut self.structs[*n].layouts;
                if layouts.last().is_some_and(|l| l.span.until >= span.since) {
                    let message = format!("{}: versions overlap with the layout before", raw.name.get_ref());
                    return Err(source.error(at, message));
                }
                layouts.push(layout);
            }
            _ => {
                let n = self.structs.len();
                let names = names(&raw.name, raw.also);
                self.structs.push(StructDef { name: names[0].clone(), union, layouts: vec![layout] });
                self.define(source, at, names, || Def::Struct(n))?;
            }
        }
        Ok(())
    }
}
