//! Why a request could not be fulfilled: one sentence with the reason and the advice.

use std::fmt;
use std::path::Path;

/// One sentence for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(pub String);

/// The result of an operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error with this sentence.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }

    /// A file could not be read.
    #[must_use]
    pub fn unreadable(path: &Path, error: &std::io::Error) -> Self {
        let advice = match error.kind() {
            std::io::ErrorKind::NotFound => "check the name",
            std::io::ErrorKind::PermissionDenied => "give a file that you may read",
            _ => "give a regular file",
        };
        Self(format!("cannot read {}: {}; {advice}", printable_path(path), reason(error)))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl From<cutap_ptrace::Error> for Error {
    fn from(error: cutap_ptrace::Error) -> Self {
        Self(error.0)
    }
}

/// A path, safe for a terminal.
pub(crate) fn printable_path(path: &Path) -> String {
    cutap_printable::printable(&path.to_string_lossy()).into_owned()
}

/// An error of the system without the number that Rust adds.
pub(crate) fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
