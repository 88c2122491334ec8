//! What functions take and do: prototypes and types as imported, rules as people wrote them, and out of
//! both the tables of `crates/calls`. Reading, resolving and writing are apart: `*_file` know the syntax,
//! `write_*` the text, and what stands between them knows neither.

mod about_file;
mod budget;
mod coverage;
mod ctype;
mod effect_text;
mod functions;
mod functions_file;
mod guess;
mod names;
mod overlay_file;
mod place;
mod rule_text;
mod rules;
mod steps;
mod structs;
mod tags;
#[cfg(test)]
mod tests;
mod toml_walk;
mod type_names;
mod types;
mod types_file;
mod version;
mod world;
mod write_capture;
mod write_known;
mod written_file;

// The shapes of the tables, from where they are declared. This crate must not lean on the tables that it
// writes: it has to build when they are broken.
#[allow(dead_code, reason = "what the readers of the tables use")]
#[path = "../../../calls/src/capture.rs"]
mod capture;
#[path = "../../../calls/src/glob.rs"]
mod glob;
#[allow(dead_code, reason = "what the readers of the tables use")]
#[path = "../../../calls/src/known.rs"]
mod known;

use crate::File;
use crate::error::Error;
use std::path::Path;

/// The generated tables of functions, and the page that counts them.
pub fn generate(root: &Path) -> Result<Vec<File>, Error> {
    let api = root.join("api");
    let world = world::World::read(&api)?;
    let mut tables = types::Tables::new(&world);
    let mut all = Vec::new();
    for n in 0..world.families.len() {
        all.push(functions::rows(&mut tables, n)?);
    }
    let mut files = write_known::known(&tables, &all);
    match write_capture::capture(&tables, &all) {
        Ok(text) => files.push(("crates/calls/src/generated/capture.rs".into(), text)),
        Err((one, other)) => {
            let message = format!("{one} and {other} have the same hash");
            return Err(Error::Content { path: api, line: 0, message });
        }
    }
    files.push(("docs/coverage.md".into(), coverage::page(&tables, &all)));
    Ok(files)
}
