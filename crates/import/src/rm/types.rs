//! The types that are wanted and all that they are made of, each under one name. Sizes and offsets are worked out from
//! clang's tree; `verify.rs` compares every one with the compiler's own.

use super::release::{Record, Rows};
use crate::decls::{Decls, Field};
use crate::layout::{FieldPlace, Layouts};
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// What the name of a struct of `probes` begins with.
pub(super) const PROBE: &str = "cutap_probe_";

/// The types of one release.
pub(super) struct Types<'a> {
    decls: &'a Decls,
    layouts: Layouts<'a>,
    /// The name of each record and enum, by its key among the declarations.
    names: BTreeMap<String, String>,
    also: BTreeMap<String, Vec<String>>,
    pending: Vec<String>,
    queued: BTreeSet<String>,
    pub(super) records: BTreeMap<String, Record>,
    pub(super) scalars: Rows,
    pub(super) enums: Rows,
}

/// What a name comes to.
enum Named {
    /// A struct, a union or an enum, by key.
    Key(String),
    /// A number: its form.
    Scalar(&'static str),
    /// A typedef of an array: element and counts.
    Array(String, Vec<u64>),
}

impl<'a> Types<'a> {
    pub(super) fn of(decls: &'a Decls) -> Self {
        let (mut names, mut also): (BTreeMap<String, String>, BTreeMap<String, Vec<String>>) = Default::default();
        for typedef in &decls.order {
            let Some(target) = decls.typedefs.get(typedef) else { continue };
            let mut key = bare(&target.ty);
            while let Some(next) = decls.typedefs.get(&key).filter(|_| !decls.records.contains_key(&key)) {
                let next = bare(&next.ty);
                if next == key {
                    break;
                }
                key = next;
            }
            if decls.records.contains_key(&key) || decls.enums.contains_key(&key) {
                let own = decls.typedefs.contains_key(&key);
                match names.get(&key) {
                    None if !own || *typedef == key => drop(names.insert(key, typedef.clone())),
                    _ if *typedef != key => also.entry(key).or_default().push(typedef.clone()),
                    _ => drop(names.insert(key, typedef.clone())),
                }
            }
        }
        for key in decls.records.keys().chain(decls.enums.keys()).filter(|k| !k.starts_with('@')) {
            names.entry(key.clone()).or_insert_with(|| key.clone());
        }
        let mut types = Self {
            decls,
            layouts: Layouts::of(decls),
            names,
            also,
            pending: Vec::new(),
            queued: BTreeSet::new(),
            records: BTreeMap::new(),
            scalars: Rows::new(),
            enums: Rows::new(),
        };
        types.name_inner();
        types
    }

    /// A record without a name is `OUTER.FIELD`; the outer one may itself be so.
    fn name_inner(&mut self) {
        loop {
            let mut names = Vec::new();
            for (key, record) in self.decls.records.iter().filter(|(k, _)| !self.names.contains_key(*k)) {
                if let Some((outer, field)) = &record.outer
                    && let Some(outer) = self.names.get(outer)
                {
                    names.push((key.clone(), format!("{outer}.{field}")));
                }
            }
            if names.is_empty() {
                return;
            }
            self.names.extend(names);
        }
    }

    /// Wants a type, which must be declared; gives its size.
    pub(super) fn add(&mut self, name: &str) -> Result<u64> {
        self.add_optional(name).with_context(|| format!("no header declares {name}"))
    }

    /// Wants a type if it is declared.
    pub(super) fn add_optional(&mut self, name: &str) -> Option<u64> {
        let size = self.layouts.size(name)?.size;
        match self.named(&bare(name))? {
            Named::Key(key) => self.want(&key),
            Named::Scalar(form) => drop(self.scalars.insert(name.to_owned(), form.to_owned())),
            Named::Array(..) => {}
        }
        Some(size)
    }

    fn want(&mut self, key: &str) {
        if self.queued.insert(key.to_owned()) {
            self.pending.push(key.to_owned());
        }
    }

    /// Takes all that is wanted, and what that is made of.
    pub(super) fn follow(&mut self) -> Result<()> {
        while let Some(key) = self.pending.pop() {
            let name = self.names.get(&key).with_context(|| format!("{key} has no name"))?.clone();
            let also = self.also.get(&key).cloned().unwrap_or_default();
            let decls = self.decls;
            if let Some(record) = decls.records.get(&key) {
                let context = || format!("the layout of {name}");
                let (size, places) = self.layouts.places(record).with_context(context)?;
                let mut fields = Vec::new();
                for (field, place) in record.fields.iter().zip(places) {
                    fields.push(self.field(field, place).with_context(|| format!("{name}.{}", field.name))?);
                }
                self.records.insert(name, Record { also, union: record.union, size: size.size, fields });
            } else if let Some(found) = decls.enums.get(&key) {
                let size = self.layouts.size(&key).map_or(4, |s| s.size);
                let values = found.values.iter().map(|(name, value)| format!(" {name}={value}"));
                self.enums.insert(name, format!("{size}{}", values.collect::<String>()));
            }
        }
        Ok(())
    }

    /// C that declares a struct around each record that has a name, for the compiler to lay out.
    pub(super) fn probes(&self) -> String {
        let mut text = String::new();
        for (name, record) in self.records.iter().filter(|(n, _)| !n.contains('.')) {
            let word = match (self.decls.typedefs.contains_key(name), record.union) {
                (true, _) => "",
                (_, true) => "union ",
                _ => "struct ",
            };
            let _ = writeln!(text, "struct {PROBE}{name} {{ {word}{name} probed; }};");
        }
        text
    }

    /// `OFFSET TYPE NAME[n]`, `OFFSET TYPE NAME:BIT:BITS`.
    fn field(&mut self, field: &Field, place: FieldPlace) -> Result<String> {
        let (ty, counts) = self.ty(&field.ty).with_context(|| format!("type {}", field.ty))?;
        let counts: String = counts.iter().map(|n| format!("[{n}]")).collect();
        let bits = place.bits.map_or(String::new(), |(bit, bits)| format!(":{bit}:{bits}"));
        Ok(format!("{} {ty} {}{counts}{bits}", place.offset, field.name))
    }

    /// A type's name, and the counts of its arrays from the outside in.
    fn ty(&mut self, text: &str) -> Option<(String, Vec<u64>)> {
        if text.contains("(*") {
            return Some(("code".to_owned(), Vec::new()));
        }
        let (base, counts) =
            text.split_once('[').map_or((text, ""), |(base, _)| (base, text.get(base.len()..).unwrap_or("")));
        let mut counts: Vec<u64> =
            counts.split('[').skip(1).filter_map(|n| n.trim_end().trim_end_matches(']').parse().ok()).collect();
        if text.contains("[]") {
            counts.insert(0, 0);
        }
        if base.contains('*') {
            return Some(("pointer".to_owned(), counts));
        }
        let name = bare(base);
        let name = match self.named(&name)? {
            Named::Key(key) => {
                self.want(&key);
                self.names.get(&key)?.clone()
            }
            Named::Scalar(form) => {
                let name = name.replace(' ', "_");
                self.scalars.insert(name.clone(), form.to_owned());
                name
            }
            Named::Array(element, inner) => {
                counts.extend(inner);
                element
            }
        };
        Some((name, counts))
    }

    fn named(&mut self, name: &str) -> Option<Named> {
        if self.decls.records.contains_key(name) || self.decls.enums.contains_key(name) {
            return Some(Named::Key(name.to_owned()));
        }
        if let Some(form) = form(name) {
            return Some(Named::Scalar(form));
        }
        let target = self.decls.typedefs.get(name)?.ty.clone();
        if target.contains("(*") {
            return Some(Named::Scalar("pointer"));
        }
        if target.contains('[') {
            let (element, counts) = self.ty(&target)?;
            return Some(Named::Array(element, counts));
        }
        if target.contains('*') {
            return Some(Named::Scalar("pointer"));
        }
        self.named(&bare(&target))
    }
}

/// The type's name alone.
fn bare(text: &str) -> String {
    let words = text.split_whitespace().filter(|w| !["struct", "union", "enum", "const", "volatile"].contains(w));
    words.collect::<Vec<_>>().join(" ")
}

/// Numbers of C.
fn form(name: &str) -> Option<&'static str> {
    Some(match name {
        "bool" | "_Bool" | "unsigned char" | "uint8_t" => "u8",
        "char" => "char",
        "signed char" | "int8_t" => "i8",
        "short" | "int16_t" => "i16",
        "unsigned short" | "uint16_t" => "u16",
        "int" | "int32_t" => "i32",
        "unsigned" | "unsigned int" | "uint32_t" => "u32",
        "long" | "long long" | "int64_t" | "ssize_t" => "i64",
        "unsigned long" | "unsigned long long" | "uint64_t" | "size_t" | "uintptr_t" => "u64",
        "float" => "f32",
        "double" => "f64",
        _ => return None,
    })
}
