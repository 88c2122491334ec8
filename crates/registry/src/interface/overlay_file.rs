//! `overlay.toml` of a family: what people know beyond the headers. Tables here have free keys (names of
//! functions, parameters, types), so it is walked by hand; every key is one that is expected or an error.

use super::ctype::{self, CType};
use super::effect_text::{self, EffectText};
use super::functions_file::{UNITS, direction};
use super::known::{Dir, Writes};
use super::rule_text::{self, RuleText};
use super::toml_node::{self, TomlNode};
use super::version;
use crate::error::{Error, Source};
use std::collections::BTreeMap;

/// All of the file.
#[derive(Default)]
pub(crate) struct Overlay {
    pub(crate) sonames: Vec<String>,
    /// Pointers to numbers without a rule are addresses of a device's memory as a rule: not read.
    pub(crate) float_memory: bool,
    pub(crate) handles: BTreeMap<String, HandleText>,
    /// In the file's order: those with a `*` first.
    pub(crate) functions: Vec<FunctionText>,
    pub(crate) structs: BTreeMap<String, StructText>,
    pub(crate) types: BTreeMap<String, TypeText>,
    pub(crate) tags: BTreeMap<String, TagsText>,
    pub(crate) flags: BTreeMap<String, FlagsText>,
    /// `[preferred]`: by enum, which of several names of a value is printed.
    pub(crate) preferred: BTreeMap<String, (usize, Vec<String>)>,
    /// `[numbers]`: by set of flags, the bits that are one number.
    pub(crate) numbers: BTreeMap<String, (usize, u64)>,
}

/// `[handles]` NAME.
pub(crate) struct HandleText {
    pub(crate) at: usize,
    pub(crate) short: String,
    pub(crate) number: bool,
    pub(crate) elsewhere: bool,
    pub(crate) made_elsewhere: bool,
    pub(crate) of: Vec<String>,
    pub(crate) special: Vec<(u64, String)>,
}

/// `[function.NAME]`.
pub(crate) struct FunctionText {
    /// Names, with `*`.
    pub(crate) patterns: Vec<(String, usize)>,
    pub(crate) about: String,
    pub(crate) effects: Vec<EffectText>,
    pub(crate) members: BTreeMap<String, MemberText>,
    pub(crate) layouts: Option<LayoutsText>,
}

/// In these versions a function has the structs of another one.
#[derive(Clone, Copy)]
pub(crate) struct LayoutsText {
    pub(crate) at: usize,
    pub(crate) first: u32,
    pub(crate) last: u32,
    pub(crate) of: u32,
}

/// A parameter or field.
#[derive(Debug, Clone)]
pub(crate) struct MemberText {
    pub(crate) at: usize,
    pub(crate) rule: Option<RuleText>,
    pub(crate) dir: Option<Dir>,
    pub(crate) unit: Option<String>,
    /// Of a parameter: which calls write it.
    pub(crate) written: Option<Writes>,
    pub(crate) ty: Option<CType>,
    /// A field's name, where the header has none.
    pub(crate) name: Option<String>,
}

/// `[struct.NAME]`; a union's tag is a field beside the union.
pub(crate) struct StructText {
    pub(crate) at: usize,
    pub(crate) tag: Option<String>,
    pub(crate) tags: Option<String>,
    /// The field of a struct that says how many bytes it has.
    pub(crate) sized_by: Option<(String, usize)>,
    pub(crate) fields: BTreeMap<String, MemberText>,
}

/// `[type.NAME]`.
pub(crate) enum TypeText {
    Is(Is),
    Same(CType),
}

/// What a type is, whatever its header says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Is {
    Uuid,
    DevicePointer,
    Handle,
    Opaque,
    Code,
    BFloat16,
    Half,
    /// Something of which only the address is known.
    Void,
    /// An enum that is a set of bits, or is none.
    Flags,
    Enum,
}

/// `[tags.NAME]`.
pub(crate) struct TagsText {
    pub(crate) at: usize,
    /// The enum, when the table is not named after it.
    pub(crate) of: Option<String>,
    /// The union whose fields the values are, instead of types.
    pub(crate) union: Option<String>,
    pub(crate) rows: Vec<(String, usize, String)>,
}

/// `[flags.NAME]`: an enum made of defines.
pub(crate) struct FlagsText {
    pub(crate) at: usize,
    pub(crate) names: Vec<String>,
    pub(crate) one_of: bool,
    pub(crate) bytes: u8,
}

pub(crate) fn read(source: &Source) -> Result<Overlay, Error> {
    let mut overlay = Overlay::default();
    let document = toml_node::parse(source)?;
    let file = TomlNode::new(source, &document);
    let keys = ["family", "handles", "function", "struct", "type", "tags", "flags", "preferred", "numbers"];
    for (key, part) in file.table(&keys)? {
        match key {
            "family" => overlay.family(&part)?,
            "handles" => {
                for (name, one) in part.entries()? {
                    overlay.handles.insert(name.to_owned(), handle(&one)?);
                }
            }
            "function" => overlay.functions(&part)?,
            "struct" => {
                for (name, one) in part.entries()? {
                    overlay.structs.insert(name.to_owned(), structure(&one)?);
                }
            }
            "type" => {
                for (name, one) in part.entries()? {
                    overlay.types.insert(name.to_owned(), type_text(&one)?);
                }
            }
            "tags" => {
                for (name, one) in part.entries()? {
                    overlay.tags.insert(name.to_owned(), tags(&one)?);
                }
            }
            "preferred" => {
                for (name, one) in part.entries()? {
                    overlay.preferred.insert(name.to_owned(), (one.at, one.texts()?));
                }
            }
            "numbers" => {
                for (name, one) in part.entries()? {
                    overlay.numbers.insert(name.to_owned(), (one.at, one.number()?));
                }
            }
            _ => {
                for (name, one) in part.entries()? {
                    overlay.flags.insert(name.to_owned(), flags(&one)?);
                }
            }
        }
    }
    Ok(overlay)
}

impl Overlay {
    fn family(&mut self, part: &TomlNode) -> Result<(), Error> {
        for (key, value) in part.table(&["sonames", "float_pointers", "name"])? {
            match key {
                "sonames" => self.sonames = value.texts()?,
                "float_pointers" => self.float_memory = value.one_of(&["memory", "by_direction"])? == "memory",
                _ => drop(value.text()?),
            }
        }
        Ok(())
    }

    fn functions(&mut self, part: &TomlNode) -> Result<(), Error> {
        for (name, one) in part.entries()? {
            let mut function = FunctionText {
                patterns: vec![(name.to_owned(), one.at)],
                about: String::new(),
                effects: Vec::new(),
                members: BTreeMap::new(),
                layouts: None,
            };
            for (key, value) in one.entries()? {
                match key {
                    "about" => function.about = value.text()?,
                    "also" => function.patterns.extend(value.texts()?.into_iter().map(|p| (p, value.at))),
                    effect if effect_text::KEYS.contains(&effect) => {
                        function.effects.extend(effect_text::read(effect, &value)?);
                    }
                    "layouts" => function.layouts = Some(layouts(&value)?),
                    parameter => {
                        function.members.insert(parameter.to_owned(), member(&value)?);
                    }
                }
            }
            self.functions.push(function);
        }
        // What is said of one function by its name wins over what is said of many.
        self.functions.sort_by_key(|f| (!f.patterns[0].0.contains('*'), f.patterns[0].1));
        Ok(())
    }
}

fn handle(one: &TomlNode) -> Result<HandleText, Error> {
    let mut handle = HandleText {
        at: one.at,
        short: String::new(),
        number: false,
        elsewhere: false,
        made_elsewhere: false,
        of: Vec::new(),
        special: Vec::new(),
    };
    for (key, value) in one.table(&["short", "number", "special", "elsewhere", "made_elsewhere", "of"])? {
        match key {
            "short" => handle.short = value.text()?,
            "number" => handle.number = value.truth()?,
            "elsewhere" => handle.elsewhere = value.truth()?,
            "of" => handle.of = value.texts()?,
            "made_elsewhere" => handle.made_elsewhere = value.truth()?,
            _ => {
                for (number, name) in value.entries()? {
                    let wrong = || name.error(format!("\"{number}\" is no number"));
                    let number = match number.strip_prefix("0x") {
                        Some(hex) => u64::from_str_radix(hex, 16).ok(),
                        None if number.starts_with('-') => number.parse::<i64>().ok().map(|n| n as u64),
                        None => number.parse().ok(),
                    };
                    handle.special.push((number.ok_or_else(wrong)?, name.text()?));
                }
                handle.special.sort();
            }
        }
    }
    Ok(handle)
}

fn layouts(value: &TomlNode) -> Result<LayoutsText, Error> {
    let mut text = LayoutsText { at: value.at, first: 0, last: 0, of: 0 };
    for (key, version) in value.table(&["first", "last", "of"])? {
        let wrong = || version.error("expected a version like \"12.9\"".into());
        let number = version::parse(&version.text()?).ok_or_else(wrong)?;
        match key {
            "first" => text.first = number,
            "last" => text.last = number,
            _ => text.of = number,
        }
    }
    if text.first == 0 || text.last < text.first || text.of == 0 {
        return Err(value.error("expected { first = \"12.0\", last = \"12.9\", of = \"11.8\" }".into()));
    }
    Ok(text)
}

fn member(value: &TomlNode) -> Result<MemberText, Error> {
    let mut member =
        MemberText { at: value.at, rule: None, dir: None, unit: None, written: None, ty: None, name: None };
    for (key, value) in value.table(&["rule", "dir", "unit", "written", "type", "name"])? {
        let text = value.text()?;
        match key {
            "rule" => {
                let wrong = || value.error(format!("rule is \"{text}\", {}", rule_text::EXPECTED));
                member.rule = Some(rule_text::parse(&text).ok_or_else(wrong)?);
            }
            "dir" => {
                let wrong = || value.error(format!("dir is \"{text}\", expected in, out or inout"));
                member.dir = Some(direction(&text).ok_or_else(wrong)?);
            }
            "unit" => member.unit = Some(value.one_of(&UNITS)?),
            "written" => {
                let wrong = || value.error(format!("written is \"{text}\", expected always or failed"));
                let calls = [("always", Writes::Always), ("failed", Writes::Failed)];
                member.written = Some(calls.into_iter().find(|(t, _)| *t == text).ok_or_else(wrong)?.1);
            }
            "name" => member.name = Some(text),
            _ => member.ty = Some(c_type(&value)?),
        }
    }
    Ok(member)
}

fn c_type(value: &TomlNode) -> Result<CType, Error> {
    let text = value.text()?;
    ctype::parse(&text).ok_or_else(|| value.error(format!("\"{text}\" is no C type that is understood")))
}

fn structure(one: &TomlNode) -> Result<StructText, Error> {
    let mut structure = StructText { at: one.at, tag: None, tags: None, sized_by: None, fields: BTreeMap::new() };
    for (key, value) in one.entries()? {
        match key {
            "tag" if value.is_text() => structure.tag = Some(value.text()?),
            "tags" if value.is_text() => structure.tags = Some(value.text()?),
            "sized_by" if value.is_text() => structure.sized_by = Some((value.text()?, value.at)),
            field => {
                structure.fields.insert(field.to_owned(), member(&value)?);
            }
        }
    }
    Ok(structure)
}

fn type_text(one: &TomlNode) -> Result<TypeText, Error> {
    let mut type_text = None;
    for (key, value) in one.table(&["is", "type"])? {
        type_text = Some(match key {
            "type" => TypeText::Same(c_type(&value)?),
            _ => {
                let all =
                    ["uuid", "device_pointer", "handle", "opaque", "code", "bfloat16", "half", "void", "flags", "enum"];
                TypeText::Is(match value.one_of(&all)?.as_str() {
                    "uuid" => Is::Uuid,
                    "device_pointer" => Is::DevicePointer,
                    "handle" => Is::Handle,
                    "opaque" => Is::Opaque,
                    "code" => Is::Code,
                    "bfloat16" => Is::BFloat16,
                    "half" => Is::Half,
                    "flags" => Is::Flags,
                    "enum" => Is::Enum,
                    _ => Is::Void,
                })
            }
        });
    }
    type_text.ok_or_else(|| one.error("expected is = \"...\" or type = \"...\"".to_owned()))
}

fn tags(one: &TomlNode) -> Result<TagsText, Error> {
    let mut tags = TagsText { at: one.at, of: None, union: None, rows: Vec::new() };
    for (key, value) in one.entries()? {
        match key {
            "of" => tags.of = Some(value.text()?),
            "union" => tags.union = Some(value.text()?),
            name => tags.rows.push((name.to_owned(), value.at, value.text()?)),
        }
    }
    Ok(tags)
}

fn flags(one: &TomlNode) -> Result<FlagsText, Error> {
    let mut flags = FlagsText { at: one.at, names: Vec::new(), one_of: false, bytes: 4 };
    for (key, value) in one.table(&["names", "one_of", "bytes"])? {
        match key {
            "names" => flags.names = value.texts()?,
            "bytes" => flags.bytes = value.number()?.clamp(1, 8) as u8,
            _ => flags.one_of = value.truth()?,
        }
    }
    Ok(flags)
}
