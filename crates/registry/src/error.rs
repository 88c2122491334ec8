//! What can be wrong with a file of `api/`, said with file and line.

use std::path::{Path, PathBuf};

/// A file of `api/` that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It could not be read.
    #[error("{path}: {error}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// It says something that is not understood.
    #[error("{path}:{line}: {message}", path = path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What stands there and what was expected.
        message: String,
    },
    /// A release of the kernel driver's interface contradicts itself or its base.
    #[error("{0}")]
    Kernel(String),
}

/// A file of `api/` in memory, so that a place in it can be named.
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

impl Source {
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let bytes = std::fs::read(path).map_err(|error| Error::Read { path: path.to_owned(), error })?;
        String::from_utf8(bytes).map(|text| Self { path: path.to_owned(), text }).map_err(|wrong| {
            let before = wrong.as_bytes().get(..wrong.utf8_error().valid_up_to()).unwrap_or_default();
            let line = before.iter().filter(|b| **b == b'\n').count() + 1;
            let message = "this line is no UTF-8, expected text in UTF-8 as all files of api/ are".to_owned();
            Error::Content { path: path.to_owned(), line, message }
        })
    }

    /// An error at a byte of the text.
    pub(crate) fn error(&self, at: usize, message: String) -> Error {
        let before = self.text.get(..at).unwrap_or(&self.text);
        let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
        Error::Content { path: self.path.clone(), line, message }
    }

    /// Parses all of it.
    pub(crate) fn parse<T: serde::de::DeserializeOwned>(&self) -> Result<T, Error> {
        toml::from_str(&self.text).map_err(|e| {
            let at = e.span().map_or(0, |s| s.start);
            self.error(at, e.message().trim_end().to_owned())
        })
    }
}

/// Where something stands, for errors about it.
#[derive(Clone, Copy)]
pub(crate) struct Location<'a> {
    pub(crate) source: &'a Source,
    pub(crate) at: usize,
}

impl Location<'_> {
    pub(crate) fn error(self, message: String) -> Error {
        self.source.error(self.at, message)
    }
}
