//! A field of a JSON line, as the lists of `json_schema` have it.

/// A field: its name, its type, and its meaning. The types are those of JSON Schema with `|` between them; a name
/// that ends in `?` may be absent.
pub type FieldRow = (&'static str, &'static str, &'static str);

/// Of a field `path`.
pub const PATH: &str = "the calls around it, the outermost first, and the call";
/// Of a field `runs`.
pub const RUNS: &str = "if several runs are read: `run`, `rank` and the number of each that has it";
