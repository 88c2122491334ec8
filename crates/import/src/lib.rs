//! Reads NVIDIA's headers, as the PyPI wheels have them, and writes what they say to `api/`: functions,
//! types, values; facts, never the sentences. For maintainers only: users and CI work with what is
//! committed and need neither clang nor the wheels. Nothing of NVIDIA's leaves the cache folder.

mod blocks;
mod callbacks;
mod canonical;
mod changes;
mod check;
mod clang;
mod ctype;
mod decls;
mod defines;
mod facts;
mod fetch;
mod gcc;
#[path = "../../calls/src/glob.rs"]
mod glob;
mod known;
mod layout;
mod merge;
mod merge_types;
mod naming;
mod node;
mod notes;
mod nvproxy;
mod pfn;
mod rm;
mod snapshot;
mod sources;
#[cfg(test)]
mod tests;
mod write;
mod write_shared;

pub use nvproxy::import_nvproxy;
pub use rm::{check_rm, import_rm};

use anyhow::{Context, Result, bail, ensure};
use known::UsedNames;
use naming::Naming;
use snapshot::Snapshot;
use sources::Family;
use std::path::{Path, PathBuf};

/// Where things are: the repository, and the cache of headers.
pub(crate) struct Repository {
    root: PathBuf,
    cache: PathBuf,
}

impl Repository {
    fn of(root: &Path) -> Self {
        Self { root: root.to_owned(), cache: fetch::cache(root) }
    }
}

/// Whether there is a clang to import with; if not, what to do.
pub fn ready() -> Result<()> {
    clang::find().map(|_| ())
}

/// Imports the named families, all without names, and writes their files.
pub fn import(root: &Path, wanted: &[&str]) -> Result<()> {
    let place = Repository::of(root);
    for family in &chosen(root, wanted)? {
        let read = Read::of(&place, family)?;
        for (path, text) in read.files(family) {
            let at = root.join(&path);
            std::fs::create_dir_all(at.parent().context("a file has a folder")?)?;
            std::fs::write(&at, text).with_context(|| at.display().to_string())?;
        }
        read.told(family).iter().for_each(|line| println!("{line}"));
    }
    Ok(())
}

/// Proves the files of the named families current, and compares the headers' other sources with them.
/// Type names are looked up over all families, so only when all are checked.
pub fn check(root: &Path, wanted: &[&str]) -> Result<()> {
    let mut wrong = Vec::new();
    let mut known = UsedNames::default();
    let place = Repository::of(root);
    for family in &chosen(root, wanted)? {
        let read = Read::of(&place, family)?;
        let mut found = check::Findings { notices: read.told(family), wrong: Vec::new() };
        check::current(root, &read.files(family), &mut found);
        check::sources(&place, family, &read.snapshots, &mut found)?;
        found.explain(family);
        check::steps(root, family, &mut found)?;
        check::names(&read, &mut known);
        found.notices.iter().for_each(|line| println!("{line}"));
        wrong.extend(found.wrong.into_iter().map(|w| format!("{} {w}", family.name)));
    }
    if wanted.is_empty() {
        wrong.extend(known.unknown());
    }
    wrong.iter().for_each(|line| println!("{line}"));
    if !wrong.is_empty() {
        bail!("import --check: {} to be put right or explained", wrong.len());
    }
    println!("import: what is committed under api/ is what the headers say");
    Ok(())
}

/// Prints what changed in a family between two versions, from the committed files.
pub fn changes(root: &Path, family: &str, from: &str, to: &str) -> Result<()> {
    let families = chosen(root, &[family])?;
    let folder = families.first().map(Family::folder).unwrap_or_default();
    let lines = changes::between(&root.join("api").join(folder), from, to)?;
    lines.iter().for_each(|line| println!("{line}"));
    println!("{family}, {from} to {to}: {} changes", lines.len());
    Ok(())
}

fn chosen(root: &Path, wanted: &[&str]) -> Result<Vec<Family>> {
    let mut families = sources::read(&root.join("api/sources.toml"))?;
    for name in wanted {
        let known: Vec<&str> = families.iter().map(|f| f.name.as_str()).collect();
        ensure!(known.contains(name), "{name} is no family of api/sources.toml; it has {}", known.join(", "));
    }
    families.retain(|f| wanted.is_empty() || wanted.contains(&f.name.as_str()));
    Ok(families)
}

/// A family, read whole.
struct Read {
    snapshots: Vec<Snapshot>,
    naming: Naming,
    functions: Vec<merge::Function>,
    types: merge_types::Types,
}

impl Read {
    fn of(place: &Repository, family: &Family) -> Result<Self> {
        let mut snapshots = Vec::new();
        for version in &family.versions {
            snapshots.push(Snapshot::read(place, family, version)?);
        }
        let naming = Naming::of(&snapshots);
        let functions = merge::functions(family, &snapshots, &naming);
        let types = merge_types::types(family, &snapshots, &naming);
        Ok(Self { snapshots, naming, functions, types })
    }

    fn files(&self, family: &Family) -> Vec<(PathBuf, String)> {
        let versions = family.version_names();
        let head = |what| write::Head { versions: &versions, headers: &family.headers, title: what };
        let folder = Path::new("api").join(family.folder());
        vec![
            (folder.join("functions.toml"), write::functions(&head("Prototypes"), &self.functions, family.shared)),
            (folder.join("types.toml"), write::types(&head("Types"), &self.types, &self.naming)),
        ]
    }

    /// What is to be said of it.
    fn told(&self, family: &Family) -> Vec<String> {
        let names: std::collections::BTreeSet<&str> = self.functions.iter().map(|f| f.name.as_str()).collect();
        let types = &self.types;
        let mut told = vec![format!(
            "{}: {} functions in {} forms, {} enums, {} handles, {} structs and unions, {} typedefs, {} defines",
            family.name,
            names.len(),
            self.functions.len(),
            types.enums.len(),
            types.handles.len(),
            types.records.len(),
            types.typedefs.len(),
            types.defines.len(),
        )];
        for snapshot in &self.snapshots {
            told.push(format!("  {}: {} functions", snapshot.version, snapshot.functions.len()));
            if !snapshot.missing.is_empty() {
                told.push(format!("  {}: no wheel has {}", snapshot.version, snapshot.missing.join(", ")));
            }
        }
        told.extend(types.skipped.iter().map(|s| format!("  left out: {s}")));
        told
    }
}
