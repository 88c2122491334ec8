//! Comparison: of two driver releases by their tables, and of two runs by their calls.

mod align;
pub mod layout;
mod normal;
pub mod runs;
pub mod tables;
mod used;

pub use used::Used;

use crate::error::{Error, Result};
use cutap_rm::{Fit, Tables};

/// The tables of a release or a branch: `570`, `580.142`, `580.159.04`.
///
/// # Errors
/// The text is no version, or there are no tables of its branch.
pub fn release(text: &str) -> Result<Tables> {
    let selection = Tables::select(text).filter(|selection| selection.fit != Fit::OtherBranch);
    selection.map(|selection| selection.tables).ok_or_else(|| {
        let releases: Vec<&str> = Tables::all().map(Tables::release).collect();
        let text = cutap_printable::printable(text);
        Error::new(format!("{text} is no driver release with tables; give one of {}", releases.join(", ")))
    })
}

/// Whether a word can be a driver release.
#[must_use]
pub fn is_version(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}
