//! The kernel driver's interface: `api/kernel/`, checked and packed into the one table that `crates/rm` includes.

mod blob;
mod commands_page;
mod follow;
mod overlay;
mod places;
mod release;
mod resolve;
mod rows;

use crate::error::Error;
use overlay::Overlay;
use std::path::{Path, PathBuf};

/// Whether a driver of this version has the interface of 2010, as `rm` decides it. No such driver runs today.
fn is_of_2010(version: &str) -> bool {
    release::order(version) < vec![340]
}

/// The packed tables, their part for the target, and the page of commands: paths from the repository's root, and
/// bytes.
pub fn generate(root: &Path) -> Result<[(PathBuf, Vec<u8>); 3], Error> {
    let folder = root.join("api/kernel");
    let (overlay, kinds) = Overlay::read(&folder.join("overlay.toml"))?;
    let releases = release::read_all(&folder).map_err(Error::Kernel)?;
    let tables = rows::Tables::of(&releases, &overlay, &kinds).map_err(Error::Kernel)?;
    Ok([
        (PathBuf::from("crates/rm/src/generated/tables.bin"), blob::pack(&tables)),
        (PathBuf::from("crates/calls/src/generated/kernel.rs"), follow::text(&tables).into_bytes()),
        (PathBuf::from("docs/reference/kernel-commands.md"), commands_page::write(&tables).into_bytes()),
    ])
}
