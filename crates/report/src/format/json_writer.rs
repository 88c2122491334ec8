//! Writes a value as JSON on one line. Terminal control characters are escaped, because people read JSON on terminals.

use super::json_line;
use serde::Serialize;
use std::io;

/// Writes a value. An error of the writer keeps its kind: a broken pipe stays one.
pub(crate) fn write_json(out: &mut (impl io::Write + ?Sized), value: &impl Serialize) -> io::Result<()> {
    write_json_by(&mut Vec::new(), out, value)
}

/// Writes a value by way of `line`, a buffer that a writer of many values keeps. Control characters are searched in the
/// whole line, because its strings are many and short.
pub(crate) fn write_json_by(
    line: &mut Vec<u8>,
    out: &mut (impl io::Write + ?Sized),
    value: &impl Serialize,
) -> io::Result<()> {
    line.clear();
    json_line::write(line, value)?;
    write_line(line, out)
}

/// Writes lines of JSON.
pub(crate) fn write_line(line: &[u8], out: &mut (impl io::Write + ?Sized)) -> io::Result<()> {
    // Nearly all lines are ASCII without a character that a terminal would obey.
    if line.iter().fold(true, |plain, byte| plain & ((*byte >= b' ' && *byte < 0x7f) | (*byte == b'\n'))) {
        return out.write_all(line);
    }
    let text = str::from_utf8(line).map_err(io::Error::other)?;
    out.write_all(cutap_printable::json(text).as_bytes())
}
