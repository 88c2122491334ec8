//! How a program or library reaches CUDA, and which of cutap's routes will catch it: `cutap inspect`.
//!
//! It reads the file alone: nothing is run, nothing is loaded, other files are not looked at. So it
//! says what the file can do, and never what a run did. What it cannot know, it says.
//!
//! `elf`: what the dynamic loader would do with it. `scan`: bytes that only some library has: names, a
//! runtime's tables, a toolkit library's words. `report`: what was found. `routes`: what follows for a
//! trace. `show`: both as text.

mod elf;
mod error;
mod generated;
mod head;
mod report;
mod routes;
mod scan;
mod show;

pub use error::Error;
pub use head::{Head, head};
pub use report::{Function, Kind, Link, Report, Route};

use std::path::Path;

/// Looks at one file.
pub fn inspect(path: &Path) -> Result<Report, Error> {
    let image = elf::Image::open(path)?;
    let evidence = scan::scan(&image)?;
    let mut report = report::gather(path, image.facts, evidence);
    routes::judge(&mut report);
    Ok(report)
}

/// Whether this program cannot do its work without a driver: it is linked with the driver, a runtime
/// or a library on top of one, or has a runtime inside. Quick, and false for a file that cannot be read.
pub fn needs_driver(path: &Path) -> bool {
    let watched = |n: &String| cutap_calls::needs_driver(n.rsplit('/').next().unwrap_or(n).as_bytes());
    elf::Image::open(path)
        .is_ok_and(|image| image.facts.needed.iter().any(watched) || scan::runtime(&image).unwrap_or(false))
}

/// Whether a library imports one of these functions; none for a file that cannot be read.
pub fn imports_one_of(path: &Path, names: &[&str]) -> Option<bool> {
    let image = elf::Image::open(path).ok()?;
    Some(image.facts.imports.iter().any(|import| names.contains(&&*import.name)))
}

/// The toolkit libraries that were linked into this file statically: their calls are jumps inside it,
/// so no route sees them. Empty for a file that cannot be read: this is an addition to other news.
pub fn static_toolkits(path: &Path) -> Vec<String> {
    match elf::Image::open(path) {
        Ok(image) => scan::toolkits(&image).unwrap_or_default(),
        Err(_) => Vec::new(),
    }
}
