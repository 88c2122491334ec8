//! One name for each struct and enum over all versions. A header gives a struct a tag and one or more
//! typedef names, and a typedef name may move from one struct to the next when a version changes it
//! (`X` is `X_v1` in one toolkit, `X_v2` in the next): the newest owner keeps it.

use crate::ctype::{Names, words_of};
use crate::decls::Decls;
use crate::snapshot::{Snapshot, unversioned};
use std::collections::{BTreeMap, BTreeSet};

/// Identity of records and enums, the same in all versions: the tag, else the first typedef name.
pub(crate) struct Naming {
    /// Name to write, by identity.
    primary: BTreeMap<String, String>,
    /// All names, by identity.
    all: BTreeMap<String, BTreeSet<String>>,
}

impl Naming {
    /// From all versions, oldest first.
    pub(crate) fn of(snapshots: &[Snapshot]) -> Self {
        let mut owner: BTreeMap<String, String> = BTreeMap::new();
        let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for snapshot in snapshots {
            let ids = identities(&snapshot.decls);
            for (raw, id) in &ids {
                let names = all.entry(id.clone()).or_default();
                if !raw.starts_with('@') {
                    names.insert(raw.clone());
                    owner.insert(raw.clone(), id.clone());
                }
            }
            for name in snapshot.decls.typedefs.keys() {
                if let Some(id) = target(&snapshot.decls, name).and_then(|raw| ids.get(&raw)) {
                    all.entry(id.clone()).or_default().insert(name.clone());
                    owner.insert(name.clone(), id.clone());
                }
            }
        }
        for (id, names) in &mut all {
            names.retain(|name| owner.get(name) == Some(id));
            names.insert(id.clone());
        }
        let primary = all.iter().map(|(id, names)| (id.clone(), choose(id, names))).collect();
        Self { primary, all }
    }

    /// What to write for each tag and typedef name of one version; `@ID` for those without a name.
    pub(crate) fn names(&self, decls: &Decls) -> Names {
        let ids = identities(decls);
        let mut names = Names::new();
        for (raw, id) in &ids {
            names.insert(raw.clone(), self.primary(id).to_owned());
        }
        for name in decls.typedefs.keys() {
            if let Some(id) = target(decls, name).and_then(|raw| ids.get(&raw)) {
                names.insert(name.clone(), self.primary(id).to_owned());
            }
        }
        // Those without a name inside others: OUTER.FIELD, from the outside in.
        let mut waiting: Vec<&String> = decls.records.keys().filter(|k| !names.contains_key(*k)).collect();
        while !waiting.is_empty() {
            let before = waiting.len();
            waiting.retain(|raw| {
                let Some((outer, field)) = decls.records.get(*raw).and_then(|r| r.outer.as_ref()) else { return true };
                let Some(name) = names.get(outer).map(|outer| format!("{outer}.{field}")) else { return true };
                names.insert((*raw).clone(), name);
                false
            });
            if waiting.len() == before {
                break;
            }
        }
        // `struct X *` with X opaque is what the handle's typedef says.
        for name in decls.order.iter().rev() {
            let ty = decls.typedefs.get(name).map_or("", |t| t.ty.as_str());
            // A pointer to a function type is code, as the type's own name is.
            if ty.contains(" (") && !ty.contains("(*") {
                names.insert(format!("{name} *"), name.clone());
            }
            if let ["struct", tag, "*"] = words_of(ty)[..]
                && decls.opaque.contains_key(tag)
                && !decls.records.contains_key(tag)
            {
                names.insert(format!("{tag} *"), name.clone());
            }
        }
        names
    }

    fn primary(&self, id: &str) -> &str {
        self.primary.get(id).map_or("", String::as_str)
    }

    /// The other names of what is written as `name`.
    pub(crate) fn also(&self, name: &str) -> Vec<&str> {
        let id = self.primary.iter().find(|(_, primary)| *primary == name).map(|(id, _)| id);
        let names = id.and_then(|id| self.all.get(id));
        names.into_iter().flatten().map(String::as_str).filter(|n| *n != name).collect()
    }
}

/// Identity of each record and enum that has a name.
fn identities(decls: &Decls) -> BTreeMap<String, String> {
    let tags = decls.records.keys().chain(decls.enums.keys()).filter(|k| !k.starts_with('@'));
    let mut ids: BTreeMap<String, String> = tags.map(|k| (k.clone(), k.clone())).collect();
    for name in &decls.order {
        if let Some(raw) = decls.typedefs.get(name).map(|t| t.ty.clone()).filter(|t| t.starts_with('@')) {
            ids.entry(raw).or_insert_with(|| name.clone());
        }
    }
    ids
}

/// The record or enum (by key in `decls`) that a typedef name is another name of: directly or through
/// others, and in the same header. In another header it is a separate type: `cufftComplex` is no other
/// name of `float2`.
pub(crate) fn target(decls: &Decls, name: &str) -> Option<String> {
    let mut at = name.to_owned();
    let file = &decls.typedefs.get(name)?.file;
    for _ in 0..16 {
        let ty = &decls.typedefs.get(&at)?.ty;
        let words = words_of(ty);
        let words: Vec<&&str> = words.iter().filter(|w| !matches!(**w, "struct" | "union" | "enum")).collect();
        let [word] = words[..] else { return None };
        let declared = decls.records.get(*word).map(|r| &r.file).or_else(|| decls.enums.get(*word).map(|e| &e.file));
        if let Some(declared) = declared {
            return (declared == file).then(|| (*word).to_owned());
        }
        (*word).clone_into(&mut at);
    }
    None
}

/// A typedef name before a tag, the tag's own word before others, without a version before with one.
fn choose(id: &str, names: &BTreeSet<String>) -> String {
    let bare = ["_st", "_enum", "_union", "_t", "_s"].iter().find_map(|end| id.strip_suffix(end)).unwrap_or(id);
    let rank = |name: &&String| {
        let name = name.as_str();
        let tag = name == id && names.len() > 1;
        (tag, unversioned(name) != name, name != bare, name.len(), name.to_owned())
    };
    names.iter().min_by_key(rank).cloned().unwrap_or_else(|| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::choose;
    use std::collections::BTreeSet;

    #[test]
    fn choices() {
        let said =
            |id: &str, names: &[&str]| choose(id, &names.iter().map(|n| (*n).to_owned()).collect::<BTreeSet<_>>());
        assert_eq!(said("A_st", &["A_st", "A_v2", "A"]), "A");
        assert_eq!(said("A_st", &["A_st", "A_v1"]), "A_v1");
        assert_eq!(said("Long_enum", &["Long_enum", "Long", "B"]), "Long");
        assert_eq!(said("dim3", &["dim3"]), "dim3");
        assert_eq!(said("error", &["error", "error_t"]), "error_t");
    }
}
