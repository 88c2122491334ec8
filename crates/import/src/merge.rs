//! Lays the versions of a family together: what stayed the same is one entry, what changed is one entry
//! for each span of versions. Must not read headers or write files.

use crate::ctype::{Names, pointee, spell};
use crate::facts::{self, Case, Facts};
use crate::naming::Naming;
use crate::snapshot::{Snapshot, unversioned};
use crate::sources::Family;
use std::collections::{BTreeMap, BTreeSet};

/// A function in one span of versions.
#[derive(Debug, Clone)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) base: Option<String>,
    /// Indices into the family's versions.
    pub(crate) first: usize,
    pub(crate) last: usize,
    pub(crate) returns: String,
    pub(crate) params: Vec<Param>,
    pub(crate) forms: BTreeSet<String>,
    /// Callback ids by form (the plain one is the empty text) and version.
    pub(crate) callbacks: BTreeMap<String, BTreeMap<usize, u32>>,
}

/// A parameter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Param {
    pub(crate) name: String,
    pub(crate) ty: String,
    pub(crate) facts: Facts,
}

/// All functions of a family, by name, then by version.
pub(crate) fn functions(family: &Family, snapshots: &[Snapshot], naming: &Naming) -> Vec<Function> {
    let mut all: BTreeMap<&str, Vec<Function>> = BTreeMap::new();
    for snapshot in snapshots {
        let at = snapshot.at;
        let names = naming.names(&snapshot.decls);
        for (name, found) in &snapshot.functions {
            let new = one(family, snapshot, &names, at, name, found);
            let forms = all.entry(name).or_default();
            match forms.last_mut() {
                Some(old) if old.last + 1 >= at && same(old, &new) => extend(old, new),
                // Two headers of one version: the newer one is right.
                Some(old) if old.first == at => *old = new,
                _ => forms.push(new),
            }
        }
    }
    all.into_values().flatten().collect()
}

fn one(
    family: &Family,
    snapshot: &Snapshot,
    names: &Names,
    at: usize,
    name: &str,
    declared: &crate::decls::Function,
) -> Function {
    let types: Vec<String> = declared.params.iter().map(|(_, ty)| spell(ty, names)).collect();
    let lists = types.iter().filter(|ty| pointee(ty).is_some_and(|(to, constant)| !constant && to != "void")).count();
    let param = |((n, (param, _)), ty): ((usize, &(String, String)), String)| {
        let param_note = snapshot.param_note(name, param);
        let fills = lists > 1;
        let facts = facts::of(&Case { function: name, name: param, ty: &ty, param_note, arrays: family.arrays, fills });
        let param = if param.is_empty() { format!("arg{n}") } else { param.clone() };
        Param { name: param, ty, facts }
    };
    let forms = snapshot.forms.get(name).cloned().unwrap_or_default();
    let mut callbacks = BTreeMap::new();
    for form in std::iter::once("").chain(forms.iter().map(String::as_str)) {
        if let Some(id) = snapshot.callbacks.get(&format!("{name}{form}")) {
            callbacks.insert(form.to_owned(), BTreeMap::from([(at, *id)]));
        }
    }
    let plain = unversioned(name);
    let base = snapshot.bases.get(name).cloned().or_else(|| (plain != name).then(|| plain.to_owned()));
    Function {
        name: name.to_owned(),
        base,
        first: at,
        last: at,
        returns: spell(&declared.returns, names),
        params: declared.params.iter().enumerate().zip(types).map(param).collect(),
        forms,
        callbacks,
    }
}

fn same(old: &Function, new: &Function) -> bool {
    let types = |f: &Function| f.params.iter().map(|p| p.ty.clone()).collect::<Vec<_>>();
    old.returns == new.returns && types(old) == types(new)
}

/// The newer version's words win: its notes are the better ones.
fn extend(old: &mut Function, new: Function) {
    old.last = new.last;
    old.params = new.params;
    old.forms.extend(new.forms);
    old.base = new.base.or(old.base.take());
    for (form, ids) in new.callbacks {
        old.callbacks.entry(form).or_default().extend(ids);
    }
}
