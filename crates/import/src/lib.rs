//! Reads NVIDIA's headers, as the PyPI wheels have them, and writes what they say to `api/`: functions,
//! types, values; facts, never the sentences. For maintainers only: users and CI work with what is
//! committed and need neither clang nor the wheels. Nothing of NVIDIA's leaves the cache folder.

mod callbacks;
mod clang;
mod ctype;
mod decls;
mod defines;
mod facts;
mod fetch;
mod layout;
mod merge;
mod merge_types;
mod naming;
mod node;
mod notes;
mod snapshot;
mod sources;
mod write;

use anyhow::{Context, Result, ensure};
use naming::Naming;
use snapshot::Snapshot;
use sources::Family;
use std::path::{Path, PathBuf};

/// Imports the named families, all without names, and writes their files.
pub fn import(root: &Path, wanted: &[&str]) -> Result<()> {
    for family in &chosen(root, wanted)? {
        let (files, told) = family_files(root, family)?;
        for (path, text) in &files {
            let at = root.join(path);
            std::fs::create_dir_all(at.parent().context("a file has a folder")?)?;
            std::fs::write(&at, text).with_context(|| at.display().to_string())?;
        }
        told.iter().for_each(|line| println!("{line}"));
    }
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

/// The files of a family, and what is to be said of them.
fn family_files(root: &Path, family: &Family) -> Result<(Vec<(PathBuf, String)>, Vec<String>)> {
    let mut snapshots = Vec::new();
    for version in &family.versions {
        snapshots.push(Snapshot::read(root, family, version)?);
    }
    let naming = Naming::of(&snapshots);
    let functions = merge::functions(family, &snapshots, &naming);
    let types = merge_types::types(family, &snapshots, &naming);
    let versions = family.version_names();
    let wheels: Vec<String> = family.versions.iter().map(|v| v.wheels[0].replace("==", " ")).collect();
    let source = format!("{}; wheels {}", family.headers.join(", "), wheels.join(", "));
    let head = |what| write::Head { versions: &versions, source: &source, what };
    let folder = Path::new("api").join(family.folder());
    let files = vec![
        (folder.join("functions.toml"), write::functions(&head("Prototypes"), &functions)),
        (folder.join("types.toml"), write::types(&head("Types"), &types, &naming)),
    ];
    let mut told = vec![format!(
        "{}: {} functions in {} forms, {} enums, {} handles, {} structs and unions, {} typedefs, {} defines",
        family.name,
        functions.iter().map(|f| &f.name).collect::<std::collections::BTreeSet<_>>().len(),
        functions.len(),
        types.enums.len(),
        types.handles.len(),
        types.records.len(),
        types.typedefs.len(),
        types.defines.len(),
    )];
    for snapshot in &snapshots {
        told.push(format!("  {}: {} functions", snapshot.version, snapshot.functions.len()));
        if !snapshot.missing.is_empty() {
            told.push(format!("  {}: no wheel has {}", snapshot.version, snapshot.missing.join(", ")));
        }
    }
    told.extend(types.skipped.iter().map(|s| format!("  left out: {s}")));
    Ok((files, told))
}
