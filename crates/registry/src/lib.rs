//! The only code that knows the syntax of `api/`: reads it, checks it, writes the generated tables.
//!
//! Every error says which file and line, what stands there and what was expected. Nothing here is
//! linked into `cutap` or runs in a target; `xtask codegen` is its one caller.

mod behaviour;
mod driver_exports;
mod error;
mod export_tables;
mod export_tables_page;
mod functions;
pub mod gpu_clocks;
mod gpu_limits;
pub mod gpu_time;
pub mod interface;
pub mod kernel;
mod layers;
pub mod nvml_exports;
pub mod nvproxy;
pub mod nvtx;
pub mod python;
pub mod sim_exports;
mod static_toolkits;
pub mod submission;
pub mod tensor_map;
pub mod variables;
mod watched;
mod write;

pub use error::Error;
pub use functions::function_names;

use std::path::{Path, PathBuf};

/// What `xtask codegen` does with the text of a generated file is its affair: path from the
/// repository's root, and text not yet formatted by rustfmt.
pub type File = (PathBuf, String);

/// The generated files of `crates/calls`, from the facts under `root/api`.
pub fn generate_calls(root: &Path) -> Result<Vec<File>, Error> {
    let layers = layers::read(&root.join("api/layers.toml"))?;
    let names: Vec<&str> = layers.iter().map(|layer| layer.name()).collect();
    let watched = watched::read(&root.join("api/libraries/watched.toml"), &names)?;
    let tables = export_tables::read(&root.join("api/export-tables/tables.toml"))?;
    let functions = functions::read(&root.join("api"))?;
    let all = function_names(&root.join("api"))?;
    let behaviour = behaviour::read(&root.join("api/behaviour.toml"), &all, &names)?;
    let folder = Path::new("crates/calls/src/generated");
    Ok(vec![
        (folder.join("behaviour.rs"), write::behaviour(&behaviour)),
        (folder.join("layers.rs"), write::layers(&layers)),
        (folder.join("watched.rs"), write::watched(&watched)),
        (folder.join("export_tables.rs"), write::export_tables(&tables)),
        (folder.join("functions.rs"), write::functions(&functions)),
    ])
}

/// The generated pages of `docs/reference`.
pub fn generate_docs(root: &Path) -> Result<Vec<File>, Error> {
    let tables = export_tables::read(&root.join("api/export-tables/tables.toml"))?;
    let measured = export_tables_page::read(&root.join("api/export-tables/measured.toml"))?;
    Ok(vec![(Path::new("docs/reference/export-tables.md").to_owned(), export_tables_page::write(&tables, &measured))])
}

/// The generated file of `crates/inspect`.
pub fn generate_inspect(root: &Path) -> Result<Vec<File>, Error> {
    let toolkits = static_toolkits::read(&root.join("api/libraries/static.toml"))?;
    let path = Path::new("crates/inspect/src/generated/static_toolkits.rs");
    Ok(vec![(path.to_owned(), write::static_toolkits(&toolkits))])
}
