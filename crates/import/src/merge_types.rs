//! Lays the types of all versions of a family together. Must not read headers or write files.

use crate::ctype::{Names, base, spell};
use crate::decls::{Decls, Enum as Declared, Record};
use crate::defines::Value;
use crate::layout::{FieldPlace, Layouts};
use crate::naming::{Naming, target};
use crate::snapshot::Snapshot;
use crate::sources::Family;
use std::collections::BTreeMap;

/// All types of a family, each kind by name.
#[derive(Debug, Default)]
pub(crate) struct Types {
    pub(crate) enums: BTreeMap<String, Enum>,
    /// Handles with the tag of what they point to.
    pub(crate) handles: BTreeMap<String, String>,
    pub(crate) records: BTreeMap<String, Vec<Layout>>,
    pub(crate) typedefs: BTreeMap<String, String>,
    pub(crate) defines: BTreeMap<String, Value>,
    /// What is left out, and why.
    pub(crate) skipped: Vec<String>,
}

/// An enum of all versions.
#[derive(Debug, Default)]
pub(crate) struct Enum {
    /// Name, value, index of the first version.
    pub(crate) values: Vec<(String, i64, usize)>,
    pub(crate) bytes: u64,
}

/// A layout of a struct or union.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Layout {
    pub(crate) union: bool,
    pub(crate) first: usize,
    pub(crate) last: usize,
    pub(crate) size: u64,
    /// Name, type, place.
    pub(crate) fields: Vec<(String, String, FieldPlace)>,
}

/// Lays them together.
pub(crate) fn types(family: &Family, snapshots: &[Snapshot], naming: &Naming) -> Types {
    let mut types = Types::default();
    for snapshot in snapshots {
        let at = snapshot.at;
        let (own, decls) = (snapshot.own(family), &snapshot.decls);
        let names = naming.names(decls);
        for (raw, found) in decls.enums.iter().filter(|(_, e)| own.has(&e.file)) {
            match names.get(raw) {
                Some(name) => types.enumeration(name, found, at, Layouts::of(decls).size(raw).map_or(4, |s| s.size)),
                None => {
                    let values = found.values.iter().map(|(name, v)| (name.clone(), Value::Number(*v)));
                    types.defines.extend(values);
                }
            }
        }
        let layouts = Layouts::of(decls);
        for (raw, record) in decls.records.iter().filter(|(_, r)| own.has(&r.file)) {
            match names.get(raw) {
                Some(name) => types.record(name, record, &layouts, &names, at),
                None => types.skip(format!("a struct without a name in {}", file(&record.file))),
            }
        }
        for (name, typedef) in decls.typedefs.iter().filter(|(_, t)| own.has(&t.file)) {
            types.typedef(decls, &names, name, &typedef.ty);
        }
        types.defines.extend(snapshot.defines.iter().map(|(n, v)| (n.clone(), v.clone())));
    }
    types
}

impl Types {
    fn skip(&mut self, text: String) {
        if !self.skipped.contains(&text) {
            self.skipped.push(text);
        }
    }

    /// The newest version decides the value and the order; names that are gone stay at the end.
    fn enumeration(&mut self, name: &str, found: &Declared, at: usize, bytes: u64) {
        let entry = self.enums.entry(name.to_owned()).or_default();
        let mut old = std::mem::take(&mut entry.values);
        for (name, value) in &found.values {
            let since = old.iter().position(|o| o.0 == *name).map(|n| old.remove(n).2);
            entry.values.push((name.clone(), *value, since.unwrap_or(at)));
        }
        entry.values.extend(old);
        entry.bytes = bytes;
    }

    fn record(&mut self, name: &str, record: &Record, layouts: &Layouts<'_>, names: &Names, at: usize) {
        let Some((size, places)) = layouts.places(record) else {
            let unknown = record.fields.iter().find(|f| layouts.size(&f.ty).is_none());
            let why = unknown.map_or("it has base classes".to_owned(), |f| format!("{} is not declared", f.ty));
            return self.skip(format!("struct {name}: {why}"));
        };
        let fields = record.fields.iter().zip(places).map(|(f, place)| (f.name.clone(), spell(&f.ty, names), place));
        let new = Layout { union: record.union, first: at, last: at, size: size.size, fields: fields.collect() };
        let all = self.records.entry(name.to_owned()).or_default();
        match all.last_mut() {
            Some(old) if old.last + 1 >= at && old.size == new.size && old.fields == new.fields => old.last = at,
            Some(old) if old.first == at => *old = new,
            _ => all.push(new),
        }
    }

    fn typedef(&mut self, decls: &Decls, names: &Names, name: &str, ty: &str) {
        if target(decls, name).is_some() {
            // Another name of a struct or enum; `also` has it, unless the name moved to a newer one.
            return;
        }
        let tag = base(ty).split_whitespace().last().unwrap_or("").to_owned();
        let opaque = !decls.records.contains_key(&tag) && !decls.typedefs.contains_key(&tag);
        if ty.matches('*').count() == 1 && opaque && decls.opaque.contains_key(&tag) {
            self.typedefs.remove(name);
            self.handles.insert(name.to_owned(), tag);
        } else {
            self.handles.remove(name);
            self.typedefs.insert(name.to_owned(), spell(ty, names));
        }
    }
}

fn file(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
