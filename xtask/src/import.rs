//! `import`: the headers of all toolkits, read into `api/`. The work is done in `crates/import`.

use anyhow::Result;
use std::path::Path;

pub(crate) fn run(root: &Path, words: &[&str]) -> Result<()> {
    cutap_import::import(root, words)
}
