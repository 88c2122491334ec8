//! A field of a JSON line, as the lists of `json_schema` have it.

/// A field: its name, its type, and its meaning. The types are those of JSON Schema with `|` between them; a name
/// that ends in `?` may be absent.
pub type FieldRow = (&'static str, &'static str, &'static str);
