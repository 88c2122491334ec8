//! What a folder of tables has: the runs whose manifest is there, and their files.

use crate::folder::{RUNS, TablesError};
use crate::manifest::{self, RunManifest};
use std::fs;
use std::path::{Path, PathBuf};

/// Whether the folder has tables of cutap.
#[must_use]
pub fn is_tables_folder(path: &Path) -> bool {
    path.join(RUNS).is_dir()
}

/// The manifests of all runs, in the order of runs and ranks.
///
/// # Errors
/// A manifest cannot be read.
pub fn manifests(folder: &Path) -> Result<Vec<RunManifest>, TablesError> {
    let mut all = Vec::new();
    for run in entries(&folder.join(RUNS))? {
        for rank in entries(&run)? {
            let path = rank.join(manifest::NAME);
            // A run without one is not whole.
            if path.exists() {
                all.push(manifest::read(&path).map_err(|e| TablesError::File(path, e))?);
            }
        }
    }
    all.sort_by(|a, b| (&a.run, a.rank).cmp(&(&b.run, b.rank)));
    Ok(all)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, TablesError> {
    let failed = |e| TablesError::File(folder.to_owned(), e);
    let entries = fs::read_dir(folder).map_err(failed)?;
    let all = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    Ok(all.into_iter().filter(|path| path.is_dir()).collect())
}
