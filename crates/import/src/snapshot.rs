//! One family in one version: everything that its headers say, before versions are laid together.

use crate::clang::{Macro, Reading};
use crate::decls::{Decls, Function};
use crate::defines::{self, Numbers, Value};
use crate::glob::glob;
use crate::notes::{self, Notes};
use crate::sources::{Family, Version};
use crate::{Repository, callbacks, fetch};
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What one version says.
pub(crate) struct Snapshot {
    pub(crate) version: String,
    /// Which of the family's versions that is.
    pub(crate) at: usize,
    /// Of the first pass; its functions are in `functions`.
    pub(crate) decls: Decls,
    /// Without the per-thread forms.
    pub(crate) functions: BTreeMap<String, Function>,
    /// `_ptds`, `_ptsz` by plain name.
    pub(crate) forms: BTreeMap<String, BTreeSet<String>>,
    /// The name that a program writes, by exported name.
    pub(crate) bases: BTreeMap<String, String>,
    pub(crate) notes: Notes,
    pub(crate) defines: BTreeMap<String, Value>,
    pub(crate) callbacks: BTreeMap<String, u32>,
    /// Headers that no wheel of this version had.
    pub(crate) missing: Vec<String>,
    /// Where the headers are, for a compiler.
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) headers: Vec<String>,
}

/// Whose declaration it is, by file.
pub(crate) struct Own<'a> {
    family: &'a Family,
    first: PathBuf,
}

impl Own<'_> {
    pub(crate) fn has(&self, file: &str) -> bool {
        let name = file.rsplit('/').next().unwrap_or(file);
        if self.family.not_own.iter().any(|n| n == name) {
            return false;
        }
        if self.family.also_own.iter().any(|n| n == name) {
            return true;
        }
        match self.family.own[..] {
            [] => Path::new(file).starts_with(&self.first),
            _ => self.family.own.iter().any(|n| n == name),
        }
    }
}

impl Snapshot {
    /// Whose declaration it is, by file.
    pub(crate) fn own<'a>(&self, family: &'a Family) -> Own<'a> {
        Own { family, first: self.folders.get(1).cloned().unwrap_or_default() }
    }

    /// Reads the headers, which are fetched where the cache lacks them.
    pub(crate) fn read(place: &Repository, family: &Family, version: &Version) -> Result<Self> {
        let label = || format!("{} {}", family.name, version.version);
        let mut folders = vec![place.root.join("crates/import/stubs")];
        for wheel in &version.wheels {
            folders.push(fetch::headers(&place.cache, wheel).with_context(label)?);
        }
        let has = |header: &&String| folders.iter().any(|f| f.join(header).is_file());
        let (headers, missing): (Vec<_>, Vec<_>) = family.headers.iter().partition(has);
        let words: Vec<&str> = headers.iter().map(|h| h.as_str()).collect();
        let first = reading(family, &words, &folders, &[]);
        let mut decls = Decls::of(&first.tree().with_context(label)?);
        let macros = first.macros().with_context(label)?;
        let mut functions = std::mem::take(&mut decls.functions);
        for (n, pass) in family.more.iter().enumerate() {
            let pass_headers: Vec<&str> = pass.headers.iter().map(String::as_str).collect();
            let words = if pass_headers.is_empty() { &words } else { &pass_headers };
            let more = Decls::of(&reading(family, words, &folders, &pass.defines).tree().with_context(label)?);
            decls.add(&more, n + 1);
            for (name, function) in more.functions {
                functions.entry(name).or_insert(function);
            }
        }
        let mut snapshot = Self {
            version: version.version.clone(),
            at: family.version_names().iter().position(|v| *v == version.version).unwrap_or(0),
            decls,
            functions,
            forms: BTreeMap::new(),
            bases: BTreeMap::new(),
            notes: Notes::new(),
            defines: BTreeMap::new(),
            callbacks: BTreeMap::new(),
            missing: missing.into_iter().cloned().collect(),
            headers: headers.into_iter().cloned().collect(),
            folders,
        };
        let own = snapshot.own(family);
        let of_family = |name: &str| {
            family.prefixes.iter().any(|p| name.starts_with(p.as_str()))
                && !family.leave_out.iter().any(|p| glob(p.as_bytes(), name.as_bytes()))
        };
        snapshot.functions.retain(|name, f| own.has(&f.file) && of_family(name));
        snapshot.take_forms();
        snapshot.take_macros(&macros, &own);
        snapshot.is_version(family, version)?;
        snapshot.take_notes(&own)?;
        if let Some(cupti) = &version.cupti {
            let folder = fetch::headers(&place.cache, cupti).with_context(label)?;
            snapshot.callbacks = callbacks::read(&folder.join("cupti_runtime_cbid.h"))?;
        }
        Ok(snapshot)
    }

    fn take_forms(&mut self) {
        let formed: Vec<String> =
            self.functions.keys().filter(|n| n.ends_with("_ptds") || n.ends_with("_ptsz")).cloned().collect();
        for name in formed {
            let (plain, form) = name.split_at(name.len() - 5);
            let same =
                |f: &Function| f.params.iter().map(|p| &p.1).eq(self.functions[&name].params.iter().map(|p| &p.1));
            if self.functions.get(plain).is_some_and(same) {
                self.forms.entry(plain.to_owned()).or_default().insert(form.to_owned());
                self.functions.remove(&name);
            }
        }
    }

    fn take_macros(&mut self, macros: &[Macro], own: &Own<'_>) {
        let mut numbers = Numbers::new();
        for found in self.decls.enums.values() {
            numbers.extend(found.values.iter().cloned());
        }
        let texts: BTreeMap<&str, &str> = macros.iter().map(|m| (m.name.as_str(), m.text.as_str())).collect();
        for m in macros.iter().filter(|m| own.has(&m.file)) {
            // `__CUDA_API_PTSZ(name)` leads to name here.
            let target = m.text.trim_end_matches(')').rsplit('(').next().unwrap_or("").trim();
            if self.functions.contains_key(target) && target != m.name {
                self.bases.entry(target.to_owned()).or_insert_with(|| m.name.clone());
            } else if let Some(value) = defines::value(&m.text, &texts, &numbers) {
                self.defines.insert(m.name.clone(), value);
            }
        }
    }

    /// The headers are those of the version that `api/sources.toml` says.
    fn is_version(&self, family: &Family, version: &Version) -> Result<()> {
        let Some(name) = &family.version_macro else { return Ok(()) };
        let header_version = match self.defines.get(name) {
            Some(Value::Number(n)) => format!("{}.{}", n / 1000, n % 1000 / 10),
            _ => format!("nothing by {name}"),
        };
        let (family, wheel, stated) = (&family.name, version.wheels.join(", "), &version.version);
        let advice = "put the version that they are of into api/sources.toml, or name the right wheel";
        ensure!(header_version == *stated, "{family} {stated}: the headers of {wheel} say {header_version}; {advice}");
        Ok(())
    }

    fn take_notes(&mut self, own: &Own<'_>) -> Result<()> {
        let mut files: BTreeSet<&str> = self.functions.values().map(|f| f.file.as_str()).collect();
        files.retain(|f| own.has(f));
        let mut notes = Notes::new();
        for file in files {
            let bytes = std::fs::read(file).with_context(|| file.to_owned())?;
            notes::read(&String::from_utf8_lossy(&bytes), &mut notes);
        }
        self.notes = notes;
        Ok(())
    }

    /// The note of a parameter, found by the exported name or by the one that the header writes.
    pub(crate) fn param_note(&self, function: &str, param: &str) -> &str {
        let written = self.bases.get(function).map_or(function, String::as_str);
        let of = |name: &str| self.notes.get(name).and_then(|n| n.get(param)).map(String::as_str);
        of(function).or_else(|| of(written)).or_else(|| of(unversioned(function))).unwrap_or("")
    }
}

/// `name_v2` without `_v2`.
pub(crate) fn unversioned(name: &str) -> &str {
    match name.rsplit_once("_v") {
        Some((plain, digits)) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => plain,
        _ => name,
    }
}

fn reading<'a>(
    family: &'a Family,
    headers: &'a [&'a str],
    folders: &'a [PathBuf],
    defines: &'a [String],
) -> Reading<'a> {
    let defines = family.defines.iter().chain(defines).map(String::as_str).collect();
    Reading { headers: headers.to_vec(), folders, defines, cxx: family.cxx }
}

#[cfg(test)]
mod tests {
    #[test]
    fn version_words() {
        assert_eq!(super::unversioned("cuMemAlloc_v2"), "cuMemAlloc");
        assert_eq!(super::unversioned("cuX_vector"), "cuX_vector");
        assert_eq!(super::unversioned("cuX"), "cuX");
    }
}
