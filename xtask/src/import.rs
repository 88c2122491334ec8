//! `import`: the headers of all toolkits, read into `api/`. The work is done in `crates/import`.

use anyhow::Result;
use std::path::Path;

pub(crate) fn run(root: &Path, words: &[&str]) -> Result<()> {
    match words {
        ["--check", families @ ..] => cutap_import::check(root, families),
        ["--changes", family, from, to] => cutap_import::changes(root, family, from, to),
        families => cutap_import::import(root, families),
    }
}

/// `import-rm`: a release of NVIDIA's open kernel modules, read into `api/kernel/`.
pub(crate) fn run_rm(root: &Path, words: &[&str]) -> Result<()> {
    match words {
        ["--check", checkouts @ ..] => cutap_import::check_rm(root, checkouts),
        checkouts => cutap_import::import_rm(root, checkouts),
    }
}

/// `import-nvproxy`: what a release of gVisor's nvproxy lets through.
pub(crate) fn run_nvproxy(root: &Path, folder: &str, tag: &str) -> Result<()> {
    cutap_import::import_nvproxy(root, folder, tag)
}
