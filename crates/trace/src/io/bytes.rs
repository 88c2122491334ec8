//! Little-endian words and zero-ended strings from untrusted bytes. Missing bytes read as 0 or empty; nothing here can
//! panic.

use super::file::Bytes;
use cutap_printable::printable;
use std::io;

/// The 32-bit word at `at`.
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b))
}

/// The 64-bit word at `at`.
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b))
}

/// The bytes from `at`, `len` at most, up to the first zero.
pub fn text_at(bytes: &[u8], at: usize, len: usize) -> &[u8] {
    let field = bytes.get(at..).unwrap_or(&[]);
    let field = &field[..field.len().min(len)];
    field.split(|b| *b == 0).next().unwrap_or(&[])
}

/// Text of a name, printable.
pub fn clean(bytes: &[u8]) -> String {
    printable(&String::from_utf8_lossy(bytes)).into_owned()
}

/// Reads up to `len` bytes at `at` into `buffer`, which then holds what there was.
///
/// The buffer grows with what is found: most files are far shorter than `len`, and zeros for all of it cost more than
/// the reading.
pub fn read_at(file: &dyn Bytes, at: u64, len: usize, buffer: &mut Vec<u8>) -> io::Result<()> {
    const FIRST: usize = 16 << 10;
    let mut filled = 0;
    buffer.resize(len.min(buffer.len().max(FIRST)), 0);
    while filled < len {
        if filled == buffer.len() {
            buffer.resize(len.min(2 * filled), 0);
        }
        match file.read_at(&mut buffer[filled..], at + filled as u64) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => {
                buffer.clear();
                return Err(e);
            }
        }
    }
    buffer.truncate(filled);
    Ok(())
}
