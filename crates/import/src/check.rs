//! `import --check`: are the committed files what the headers say, and do the headers' other sources say
//! the same? Writes nothing.

use crate::known::UsedNames;
use crate::snapshot::Snapshot;
use crate::sources::Family;
use crate::{Read, Repository, blocks, changes, gcc, pfn};
use anyhow::Result;
use std::path::{Path, PathBuf};

/// What a check of one family found wrong, and what it counted.
#[derive(Default)]
pub(crate) struct Findings {
    pub(crate) notices: Vec<String>,
    pub(crate) wrong: Vec<String>,
}

impl Findings {
    fn count(&mut self, what: &str, asked: usize, wrong: Vec<String>, version: &str) {
        self.notices.push(format!("  {version}: {asked} {what} compared, {} differ", wrong.len()));
        self.wrong.extend(wrong.into_iter().map(|w| format!("{version}: {w}")));
    }
}

impl Findings {
    /// Takes away what the family's `explained` says; an explanation of nothing is itself wrong.
    pub(crate) fn explain(&mut self, family: &Family) {
        for known in &family.explained {
            let before = self.wrong.len();
            self.wrong.retain(|w| !w.starts_with(&known.prefix));
            match before - self.wrong.len() {
                0 => self.wrong.push(format!("explains {}, which is not found any more", known.prefix)),
                _ => self.notices.push(format!("  explained: {}: {}", known.prefix, known.why)),
            }
        }
    }
}

/// The committed text against the fresh one.
pub(crate) fn current(root: &Path, files: &[(PathBuf, String)], found: &mut Findings) {
    for (path, text) in files {
        match std::fs::read_to_string(root.join(path)) {
            Ok(old) if old == *text => {}
            Ok(old) => {
                let line = old.lines().zip(text.lines()).position(|(a, b)| a != b).unwrap_or(0) + 1;
                let message = "not what the headers say; run `cargo xtask import` and commit";
                found.wrong.push(format!("{}:{line}: {message}", path.display()));
            }
            Err(error) => found.wrong.push(format!("{}: {error}", path.display())),
        }
    }
}

/// The other sources.
pub(crate) fn sources(place: &Repository, family: &Family, snapshots: &[Snapshot], found: &mut Findings) -> Result<()> {
    for (snapshot, version) in snapshots.iter().zip(&family.versions) {
        let layouts = gcc::check(family, snapshot)?;
        found.count("sizes and offsets (gcc)", layouts.checked, layouts.wrong, &version.version);
        if family.name == "driver" {
            let typedefs = pfn::check(&place.root, snapshot)?;
            found.count("prototypes (cudaTypedefs.h)", typedefs.checked, typedefs.wrong, &version.version);
        }
        if let Some(cupti) = &version.cupti {
            let params = blocks::check(place, snapshot, cupti)?;
            found.count("parameter blocks (CUPTI)", params.checked, params.wrong, &version.version);
        }
    }
    Ok(())
}

/// How much changed from version to version.
pub(crate) fn steps(root: &Path, family: &Family, found: &mut Findings) -> Result<()> {
    let names = family.version_names();
    for pair in names.windows(2) {
        let [old, new] = pair else { continue };
        let lines = changes::between(&root.join("api").join(family.folder()), old, new)?;
        let of = |sign: &str| lines.iter().filter(|l| l.starts_with(sign)).count();
        let text = format!("  {old} to {new}: {} added, {} gone, {} changed", of("+"), of("-"), of("~"));
        found.notices.push(text);
    }
    Ok(())
}

/// Names of types that nothing declares: a spelling of ours that is wrong, or a header that is missing. A typedef may
/// give another name to a struct whose content is its library's own business.
pub(crate) fn names(read: &Read, known: &mut UsedNames) {
    let Read { snapshots, functions, types, .. } = read;
    let is_closed = |tag: &str| snapshots.iter().any(|s| s.decls.opaque.contains_key(tag));
    for (name, layouts) in &types.records {
        known.declared(name);
        layouts.iter().flat_map(|l| &l.fields).for_each(|(field, ty, _)| known.used(ty, &format!("{name}.{field}")));
    }
    types.enums.keys().chain(types.handles.keys()).for_each(|n| known.declared(n));
    for (name, ty) in &types.typedefs {
        known.declared(name);
        if !is_closed(ty) {
            known.used(ty, name);
        }
    }
    for function in functions {
        known.used(&function.returns, &function.name);
        function.params.iter().for_each(|p| known.used(&p.ty, &format!("{}({})", function.name, p.name)));
    }
}
