//! Why a field could not be found or written.

/// Why a field could not be found or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Error {
    /// The release has no struct of this name.
    NoRecord,
    /// The struct has no field of this name.
    NoField,
    /// The index is past the end of the array.
    Index,
    /// The field is an array or a struct.
    NotANumber,
    /// The number has more bits than the field, or the bytes are more than the field has.
    TooLarge,
    /// The bytes end before the field.
    Short,
}

impl core::fmt::Display for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::NoRecord => "this release of the driver has no struct of this name",
            Self::NoField => "the struct has no such field",
            Self::Index => "the index is past the end of the array",
            Self::NotANumber => "the field is an array or a struct, not one number",
            Self::TooLarge => "the value does not fit into the field",
            Self::Short => "the bytes end before the field",
        })
    }
}

impl core::error::Error for Error {}
