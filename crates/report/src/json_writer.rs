//! Writes a value as JSON on one line. Terminal control characters are escaped, because people read JSON on terminals.

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use std::io;

/// JSON on one line.
struct Compact;

impl Formatter for Compact {
    fn write_string_fragment<W: io::Write + ?Sized>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        writer.write_all(cutap_printable::json(fragment).as_bytes())
    }
}

/// Writes a value. An error of the writer keeps its kind: a broken pipe stays one.
pub(crate) fn write_json(out: &mut (impl io::Write + ?Sized), value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(out, Compact)).map_err(io::Error::from)
}
