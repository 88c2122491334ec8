//! Steps over the cells of a names file piece by piece: a file with holes may have any length, and is never in memory
//! as a whole.

use crate::io::bytes::read_at;
use crate::io::file::Bytes;
use cutap_wire::names::{CELL, Cell, FIXED, cell};
use std::io;

/// Most bytes of one name: both strings at their longest.
pub const LONGEST: usize = FIXED + 2 * 0xffff + CELL;
/// Bytes read at a time.
pub const PIECE: usize = 1 << 20;

/// Hands each cell of the first `length` bytes to `step`, with the bytes from there on. `step` says how many bytes to
/// step on; none ends the walk. True when it came to the end.
///
/// # Errors
/// The file cannot be read, or is shorter.
pub fn walk_cells(
    file: &dyn Bytes,
    length: u64,
    step: &mut dyn FnMut(Cell<'_>, &[u8]) -> Option<usize>,
) -> io::Result<bool> {
    let (mut at, mut buffer) = (0, Vec::new());
    while at < length {
        let want = PIECE.min(usize::try_from(length - at).unwrap_or(PIECE));
        read_at(file, at, want, &mut buffer)?;
        if buffer.len() < want {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let is_end = at + want as u64 == length;
        let mut offset = 0;
        while let Some(rest) = buffer.get(offset..).filter(|rest| rest.len() >= CELL)
            && (is_end || rest.len() > LONGEST)
        {
            match step(cell(&buffer, offset), rest) {
                Some(bytes) => offset += bytes.max(CELL),
                None => return Ok(false),
            }
        }
        if is_end {
            break;
        }
        at += offset as u64;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_wire::names::Name;
    use std::os::unix::fs::FileExt;

    /// Names at the beginning, across the end of a piece, and behind a hole.
    #[test]
    fn cells_of_a_file_with_holes() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(200 << 20).unwrap();
        let text = "x".repeat(1000);
        let name = Name { kind: 2, ticks: 1, a: 7, b: 0, c: 0, s: text.as_bytes(), t: &[] };
        let mut cells = vec![0u64; name.cells() * CELL / 8];
        // SAFETY: the cells were made for this name.
        unsafe { name.write(cells.as_mut_ptr().cast()) };
        let bytes: Vec<u8> = cells.iter().flat_map(|word| word.to_le_bytes()).collect();
        let places = [0, PIECE / CELL * CELL - CELL * 3, (190 << 20) / CELL * CELL];
        for at in places {
            file.write_all_at(&bytes, at as u64).unwrap();
        }
        let (mut at, mut found) = (0, Vec::new());
        let walked = walk_cells(&file, 200 << 20, &mut |cell, _| {
            let step = match cell {
                Cell::Name(name, bytes) => {
                    assert_eq!(name.s, text.as_bytes());
                    found.push(at);
                    bytes
                }
                _ => CELL,
            };
            at += step;
            Some(step)
        });
        assert!(walked.unwrap());
        assert_eq!(found, places);
        assert!(walk_cells(&file, 201 << 20, &mut |_, _| Some(CELL)).is_err(), "it is shorter");
    }
}
