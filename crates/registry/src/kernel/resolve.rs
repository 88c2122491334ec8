//! From the rows of all releases to tables that share what is equal: a struct that did not change is there once.

use super::overlay::{Kinds, Overlay};
use super::release::{Record, Release};
use std::collections::{BTreeMap, BTreeSet};

/// What the driver does not have: no record, no enum, no pointer.
pub(super) const NONE: u32 = u32::MAX;

/// The forms of a number, in the order of `rm`'s `Form`.
const FORMS: [&str; 12] = ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "char", "pointer", "f32", "f64"];

/// A field, with its parts resolved.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) ty: String,
    pub(super) offset: u32,
    pub(super) form: u8,
    pub(super) kind: u8,
    pub(super) bit: u8,
    pub(super) bits: u8,
    /// Counts of an array; `NONE`: it is none.
    pub(super) counts: [u32; 3],
    pub(super) record: u32,
    pub(super) names: u32,
    pub(super) pointer: u32,
}

/// A struct or union.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Struct {
    pub(super) name: String,
    pub(super) union: bool,
    pub(super) size: u32,
    pub(super) fields: Vec<Field>,
}

/// What a pointer leads to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pointer {
    /// 0: numbers or bytes, 1: records, 2: text, 3: a control's parameters, 4: a class's, 5: an escape's.
    pub(super) content: u8,
    pub(super) form: u8,
    /// 0: in, 1: out, 2: both.
    pub(super) direction: u8,
    pub(super) element: String,
    pub(super) record: u32,
    /// The sibling that selects, for 3 to 5.
    pub(super) selector: String,
    /// Siblings whose product counts; empty: `fixed`.
    pub(super) count: [String; 2],
    pub(super) fixed: u32,
}

/// Names of an enum's values.
pub(super) type Enum = (String, Vec<(String, i64)>);

/// A list that holds each value once.
#[derive(Debug)]
pub(super) struct Once<T> {
    pub(super) all: Vec<T>,
    indices: BTreeMap<T, u32>,
}

impl<T> Default for Once<T> {
    fn default() -> Self {
        Self { all: Vec::new(), indices: BTreeMap::new() }
    }
}

impl<T: Ord + Clone> Once<T> {
    pub(super) fn put(&mut self, value: T) -> u32 {
        if let Some(at) = self.indices.get(&value) {
            return *at;
        }
        let at = u32::try_from(self.all.len()).unwrap_or(NONE);
        self.indices.insert(value.clone(), at);
        self.all.push(value);
        at
    }
}

/// What all releases share.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) structs: Once<Struct>,
    pub(super) enums: Once<Enum>,
    pub(super) pointers: Once<Pointer>,
}

/// Resolves the types of one release.
pub(super) struct Types<'a> {
    release: &'a Release,
    kinds: &'a Kinds,
    shared: &'a mut Shared,
    pointers: BTreeMap<String, &'a str>,
    record_numbers: BTreeMap<String, u32>,
    open: BTreeSet<String>,
}

impl<'a> Types<'a> {
    pub(super) fn of(release: &'a Release, overlay: &'a Overlay, kinds: &'a Kinds, shared: &'a mut Shared) -> Self {
        let mut pointers = BTreeMap::new();
        for (key, row) in release.rows.get("pointers").into_iter().flatten() {
            pointers.insert(key.clone(), row.as_str());
        }
        for (key, row) in overlay.pointers.iter().filter_map(|row| row.split_once(' ')) {
            pointers.insert(key.to_owned(), row);
        }
        Self { release, kinds, shared, pointers, record_numbers: BTreeMap::new(), open: BTreeSet::new() }
    }

    /// All records of the release by each of their names, sorted.
    pub(super) fn all(&mut self) -> Result<BTreeMap<String, u32>, String> {
        let release = self.release;
        let mut names = BTreeMap::new();
        for (name, record) in &release.records {
            let at = self.record(name)?;
            names.insert(name.clone(), at);
            for also in &record.also {
                names.entry(also.clone()).or_insert(at);
            }
        }
        Ok(names)
    }

    /// Whether the release has a type.
    pub(super) fn has(&self, name: &str) -> bool {
        let also = |record: &Record| record.also.iter().any(|a| a == name);
        let records = &self.release.records;
        self.scalar(name).is_some() || records.contains_key(name) || records.values().any(also)
    }

    /// A record by name; a number's type is a record of one field. `-` is none.
    pub(super) fn record(&mut self, name: &str) -> Result<u32, String> {
        if name == "-" {
            return Ok(NONE);
        }
        if let Some(at) = self.record_numbers.get(name) {
            return Ok(*at);
        }
        let release = self.release;
        let by_name = release.records.get_key_value(name);
        let entry = by_name.or_else(|| release.records.iter().find(|(_, r)| r.also.iter().any(|a| a == name)));
        let number = match entry {
            Some((own, _)) if own != name => self.record(own)?,
            Some((_, record)) => {
                if !self.open.insert(name.to_owned()) {
                    return Err(format!("{}: {name} contains itself", self.release.version));
                }
                let layout = self.lay_out(name, record)?;
                self.open.remove(name);
                self.shared.structs.put(layout)
            }
            None => {
                let (form, size) = self.scalar(name).ok_or_else(|| self.wrong(name, "is no type of this release"))?;
                let kind = self.kinds.of(name, "value", name);
                let value = Field { name: "value".into(), ty: name.into(), form, kind, ..plain() };
                self.shared.structs.put(Struct { name: name.into(), union: false, size, fields: vec![value] })
            }
        };
        self.record_numbers.insert(name.to_owned(), number);
        Ok(number)
    }

    fn wrong(&self, name: &str, what: &str) -> String {
        format!("api/kernel/{}: {name} {what}", self.release.version)
    }

    fn scalar(&self, name: &str) -> Option<(u8, u32)> {
        let row = self.release.rows.get("scalars").and_then(|rows| rows.get(name)).map(String::as_str);
        let form = match name {
            "pointer" | "code" => "pointer",
            name => row.unwrap_or(name),
        };
        let at = FORMS.iter().position(|f| *f == form)?;
        let size = match form {
            "u8" | "i8" | "char" => 1,
            "u16" | "i16" => 2,
            "u32" | "i32" | "f32" => 4,
            _ => 8,
        };
        Some((u8::try_from(at).ok()?, size))
    }

    fn lay_out(&mut self, name: &str, record: &Record) -> Result<Struct, String> {
        let mut fields = Vec::new();
        for text in &record.fields {
            let field = self.field(name, text)?;
            fields.push(field);
        }
        let size = u32::try_from(record.size).map_err(|_| self.wrong(name, "is too large"))?;
        Ok(Struct { name: name.to_owned(), union: record.union, size, fields })
    }

    fn field(&mut self, record: &str, text: &str) -> Result<Field, String> {
        let mut words = text.splitn(3, ' ');
        let message = || format!("api/kernel/{}: {record}: \"{text}\" is no field", self.release.version);
        let (Some(offset), Some(ty), Some(name)) = (words.next(), words.next(), words.next()) else {
            return Err(message());
        };
        let mut field = Field { ty: ty.to_owned(), offset: offset.parse().map_err(|_| message())?, ..plain() };
        let (name, bits) = name.split_once(':').unwrap_or((name, ""));
        if let Some((bit, bits)) = bits.split_once(':') {
            (field.bit, field.bits) = (bit.parse().map_err(|_| message())?, bits.parse().map_err(|_| message())?);
        }
        let mut parts = name.split('[');
        parts.next().unwrap_or("").clone_into(&mut field.name);
        for (n, count) in parts.enumerate() {
            let at = field.counts.get_mut(n).ok_or_else(message)?;
            *at = count.trim_end_matches(']').parse().map_err(|_| message())?;
        }
        let path = format!("{record}.{}", field.name);
        if let Some((form, _)) = self.scalar(ty) {
            field.form = form;
            field.kind = self.kinds.of(record, &field.name, ty);
        } else if let Some(row) = self.release.rows.get("enums").and_then(|rows| rows.get(ty)) {
            (field.form, field.names) = self.names(ty, row).ok_or_else(message)?;
        } else {
            field.record = self.record(ty)?;
        }
        if let Some(row) = self.pointers.get(&path).copied() {
            field.pointer = self.pointer(&path, row)?;
        }
        Ok(field)
    }

    /// The form of an enum, and its names.
    fn names(&mut self, name: &str, row: &str) -> Option<(u8, u32)> {
        let mut words = row.split(' ');
        let form = match words.next()? {
            "1" => 0,
            "2" => 2,
            "8" => 6,
            _ => 4,
        };
        let values: Option<Vec<(String, i64)>> =
            words.map(|w| w.split_once('=').and_then(|(n, v)| Some((n.to_owned(), v.parse().ok()?)))).collect();
        Some((form, self.shared.enums.put((name.to_owned(), values?))))
    }

    fn pointer(&mut self, path: &str, row: &str) -> Result<u32, String> {
        let words: Vec<&str> = row.split(' ').collect();
        let [element, count, direction] = words[..] else {
            return Err(self.wrong(path, &format!("has the row \"{row}\", expected element, count and direction")));
        };
        let mut pointer = Pointer {
            content: 0,
            form: 0,
            direction: match direction {
                "in" => 0,
                "out" => 1,
                "inout" => 2,
                _ => return Err(self.wrong(path, &format!("has direction {direction}, expected in, out or inout"))),
            },
            element: element.to_owned(),
            record: NONE,
            selector: String::new(),
            count: [String::new(), String::new()],
            fixed: 0,
        };
        match count.parse() {
            Ok(fixed) => pointer.fixed = fixed,
            Err(_) => {
                let (first, second) = count.split_once('*').unwrap_or((count, ""));
                pointer.count = [first.to_owned(), second.to_owned()];
            }
        }
        match element.strip_prefix('@').and_then(|e| e.split_once(':')) {
            Some((what, selector)) => {
                pointer.content = match what {
                    "control" => 3,
                    "class" => 4,
                    "escape" => 5,
                    _ => {
                        return Err(
                            self.wrong(path, &format!("leads to @{what}, expected @control, @class or @escape"))
                        );
                    }
                };
                selector.clone_into(&mut pointer.selector);
            }
            None if element == "text" => pointer.content = 2,
            None => match self.scalar(element) {
                Some((form, _)) => pointer.form = form,
                None => {
                    pointer.content = 1;
                    pointer.record = self.record(element)?;
                }
            },
        }
        Ok(self.shared.pointers.put(pointer))
    }
}

fn plain() -> Field {
    Field {
        name: String::new(),
        ty: String::new(),
        offset: 0,
        form: 0,
        kind: 0,
        bit: 0,
        bits: 0,
        counts: [NONE, NONE, NONE],
        record: NONE,
        names: NONE,
        pointer: NONE,
    }
}
