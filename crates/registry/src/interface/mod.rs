//! Prototypes and types as imported, rules as people wrote them, and the tables of `crates/calls` made of both.
//! `*_file` read the syntax of `api/`, `write_*` write Rust, and the modules between them know neither.
//!
//! Each parameter starts with a guess of its direction, rule and unit (`guess`). It is made from the type, from the
//! direction and unit in `functions.toml`, and from the names of the parameters beside it (`names`): `numNodes` counts
//! `nodes`.
//! The overlay then replaces what it names: for one function, or for all that fit a pattern. A pointer without a guess
//! is shown as an address, and `coverage` counts it. A wrong guess is never worse than an address without a value:
//! memory is shown only as far as it was recorded, and `steps` record a bounded number of bytes.
//!
//! `steps` turns the rules into what the target copies at a call, and `budget` limits the sum to the largest record.
//! `argument_words` places each parameter: in a register or on the stack (System V ABI), and in the block that a
//! runtime passes with its callbacks.

mod about_file;
mod api_files;
mod argument_words;
mod budget;
mod coverage;
mod ctype;
mod effect_text;
mod family;
mod functions;
mod functions_file;
mod guess;
mod names;
mod overlay_file;
mod rule_text;
mod rules;
mod steps;
mod structs;
mod tables;
mod tags;
#[cfg(test)]
mod tests;
mod toml_node;
mod type_names;
mod types;
mod types_file;
mod version;
mod write_capture;
mod write_known;
mod write_tracked;
mod written_file;

// The shapes of the tables, from where they are declared. This crate must not lean on the tables that it
// writes: it has to build when they are broken.
#[allow(dead_code, reason = "what the readers of the tables use")]
#[path = "../../../calls/src/capture.rs"]
mod capture;
#[path = "../../../calls/src/glob.rs"]
pub(crate) mod glob;
#[allow(dead_code, reason = "what the readers of the tables use")]
#[path = "../../../calls/src/known.rs"]
mod known;

use crate::File;
use crate::error::Error;
use std::path::Path;

/// The generated tables of functions, and the page that counts them.
pub fn generate(root: &Path) -> Result<Vec<File>, Error> {
    let folder = root.join("api");
    let api = api_files::ApiFiles::read(&folder)?;
    let mut tables = tables::Tables::new(&api);
    let mut all = Vec::new();
    for n in 0..api.families.len() {
        all.push(functions::rows(&mut tables, n)?);
    }
    let mut files = write_known::known_files(&tables, &all);
    match write_capture::capture(&tables, &all) {
        Ok(text) => files.push(("crates/calls/src/generated/capture.rs".into(), text)),
        Err((one, other)) => {
            let message = format!("{one} and {other} have the same hash");
            return Err(Error::Content { path: folder, line: 0, message });
        }
    }
    files.push(("crates/calls/src/generated/tracked.rs".into(), write_tracked::tracked(&tables, &all)));
    files.push(("crates/calls/src/generated/libc.rs".into(), write_known::libc(&tables)));
    files.push(("docs/reference/coverage.md".into(), coverage::page(&tables, &all)));
    Ok(files)
}
