//! Two driver releases: commands, classes and structs that were added, removed, renumbered, moved or resized.

use super::Used;
use super::layout::changes;
use cutap_rm::{Record, Tables};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// `escape`, `control`, `class`, `uvm` or `struct`.
    pub kind: &'static str,
    /// The number; none of a struct.
    pub number: Option<u32>,
    /// The name in the newer release, or in the older one where it was removed.
    pub name: String,
    /// What happened.
    pub difference: Difference,
}

/// What happened to an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// It is new, with so many bytes.
    Added(usize),
    /// It is gone.
    Removed,
    /// It differs, in these respects.
    Changed(Vec<String>),
}

/// An entry of a table, of any kind.
struct Entry {
    name: &'static str,
    size: usize,
    params: Option<Record>,
}

type Entries = BTreeMap<u32, Entry>;

/// The differences between two releases, limited to what a run uses.
#[must_use]
pub fn differences(old: Tables, new: Tables, used: Option<&Used>) -> Vec<Change> {
    let mut all = Vec::new();
    let escapes = |t: Tables| {
        let entry = |e: cutap_rm::Escape| {
            let params = e.params(0);
            (e.number(), Entry { name: e.name(), size: params.map_or(0, Record::size), params })
        };
        t.escapes().map(entry).collect::<Entries>()
    };
    let controls = |t: Tables| {
        let entry = |c: cutap_rm::Control| (c.number(), Entry { name: c.name(), size: c.size(), params: c.params() });
        t.controls().map(entry).collect::<Entries>()
    };
    let classes = |t: Tables| {
        let entry = |c: cutap_rm::Class| (c.number(), Entry { name: c.name(), size: c.size(), params: c.params() });
        t.classes().map(entry).collect::<Entries>()
    };
    let uvm = |t: Tables| {
        let entry = |u: cutap_rm::Uvm| (u.number(), Entry { name: u.name(), size: u.size(), params: u.params() });
        t.uvm_commands().map(entry).collect::<Entries>()
    };
    let of_escapes = used.map(|u| u.escapes.iter().map(|(n, _)| *n).collect());
    compare("escape", &escapes(old), &escapes(new), of_escapes.as_ref(), &mut all);
    compare("control", &controls(old), &controls(new), used.map(|u| &u.controls), &mut all);
    compare("class", &classes(old), &classes(new), used.map(|u| &u.classes), &mut all);
    compare("uvm", &uvm(old), &uvm(new), used.map(|u| &u.uvm), &mut all);
    structs(old, new, used, &mut all);
    all
}

fn compare(kind: &'static str, old: &Entries, new: &Entries, used: Option<&BTreeSet<u32>>, all: &mut Vec<Change>) {
    let is_used = |number: &u32| used.is_none_or(|used| used.contains(number));
    let by_name = |entries: &Entries| -> BTreeMap<&'static str, u32> {
        entries.iter().map(|(number, entry)| (entry.name, *number)).collect()
    };
    let (old_names, new_names) = (by_name(old), by_name(new));
    let mut push = |number: u32, name: &str, what: Difference| {
        all.push(Change { kind, number: Some(number), name: name.to_owned(), difference: what });
    };
    for (number, entry) in new.iter().filter(|(number, _)| is_used(number)) {
        match (old.get(number), old_names.get(entry.name)) {
            (Some(before), _) => {
                let mut differences = Vec::new();
                if before.name != entry.name {
                    differences.push(format!("renamed from {}", before.name));
                }
                if before.size != entry.size {
                    differences.push(format!("{} -> {} bytes", before.size, entry.size));
                } else if let (Some(b), Some(a)) = (before.params, entry.params)
                    && b.name() == a.name()
                    && !changes(b, a).is_empty()
                {
                    differences.push(format!("{} has another layout", a.name()));
                }
                if !differences.is_empty() {
                    push(*number, entry.name, Difference::Changed(differences));
                }
            }
            (None, Some(before)) if !new.contains_key(before) => {
                let differences = vec![format!("renumbered from {before:#x}")];
                push(*number, entry.name, Difference::Changed(differences));
            }
            (None, _) => push(*number, entry.name, Difference::Added(entry.size)),
        }
    }
    for (number, entry) in old.iter().filter(|(number, _)| is_used(number) && !new.contains_key(number)) {
        // A renumbered entry is listed under its new number, which a run with the old number does not contain.
        match new_names.get(entry.name).filter(|number| !old.contains_key(number)) {
            Some(_) if used.is_none() => {}
            Some(now) => push(*number, entry.name, Difference::Changed(vec![format!("renumbered to {now:#x}")])),
            None => push(*number, entry.name, Difference::Removed),
        }
    }
}

fn structs(old: Tables, new: Tables, used: Option<&Used>, all: &mut Vec<Change>) {
    let names = used.map(|u| {
        let mut names = u.structs(old);
        names.extend(u.structs(new));
        names
    });
    let records = |t: Tables| t.records().collect::<BTreeMap<&'static str, Record>>();
    let (before, after) = (records(old), records(new));
    let every: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
    for name in every.into_iter().filter(|name| names.as_ref().is_none_or(|names| names.contains(name))) {
        let difference = match (before.get(name), after.get(name)) {
            (None, Some(new)) => Difference::Added(new.size()),
            (Some(_), None) => Difference::Removed,
            (Some(old), Some(new)) => match changes(*old, *new) {
                none if none.is_empty() => continue,
                some => Difference::Changed(some),
            },
            (None, None) => continue,
        };
        all.push(Change { kind: "struct", number: None, name: name.to_owned(), difference });
    }
}

/// The headings of the kinds, in the order of the text.
const KINDS: [(&str, &str); 5] = [
    ("escape", "escapes"),
    ("control", "RM controls"),
    ("class", "classes"),
    ("uvm", "UVM commands"),
    ("struct", "structs"),
];

/// The differences as text.
#[must_use]
pub fn text(old: Tables, new: Tables, all: &[Change]) -> String {
    let mut out = format!("{} -> {}\n", old.release(), new.release());
    for (kind, heading) in KINDS {
        let of_kind: Vec<&Change> = all.iter().filter(|c| c.kind == kind).collect();
        let count = |test: fn(&Difference) -> bool| of_kind.iter().filter(|c| test(&c.difference)).count();
        let added = count(|w| matches!(w, Difference::Added(_)));
        let removed = count(|w| matches!(w, Difference::Removed));
        let changed = of_kind.len() - added - removed;
        let _ = writeln!(out, "\n{heading}: {added} added, {removed} removed, {changed} changed");
        for change in of_kind {
            let number = change.number.map_or(String::new(), |n| format!("{n:#x} "));
            let _ = match &change.difference {
                Difference::Added(size) => writeln!(out, "  + {number}{} ({size} bytes)", change.name),
                Difference::Removed => writeln!(out, "  - {number}{}", change.name),
                Difference::Changed(what) => writeln!(out, "  ~ {number}{}: {}", change.name, what.join("; ")),
            };
        }
    }
    out
}

/// The differences as JSON, one object a line.
#[must_use]
pub fn json(old: Tables, new: Tables, all: &[Change]) -> String {
    let mut out = json!({"old": old.release(), "new": new.release()}).to_string() + "\n";
    for change in all {
        let (action, detail) = match &change.difference {
            Difference::Added(size) => ("added", json!({"size": size})),
            Difference::Removed => ("removed", Json::Null),
            Difference::Changed(what) => ("changed", json!(what)),
        };
        let number = change.number.map(|n| format!("{n:#x}"));
        let line =
            json!({"kind": change.kind, "number": number, "name": change.name, "change": action, "detail": detail});
        out += &(line.to_string() + "\n");
    }
    out
}
