//! Why an image cannot be read.

/// A result of a reader.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a cubin or a fat binary cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// It is no ELF file.
    NotElf,
    /// It is an ELF file for this machine, and no cubin.
    NotCubin(u16),
    /// A cubin is damaged.
    Cubin(String),
    /// A fat binary is damaged.
    Fatbin(String),
}

pub(crate) fn damaged(reason: impl std::fmt::Display) -> Error {
    Error::Cubin(reason.to_string())
}
