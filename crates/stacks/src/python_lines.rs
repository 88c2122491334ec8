//! The line of an instruction, by the table of a code object of Python. Each version writes them in another form:
//! Objects/lnotab_notes.txt and InternalDocs/code_objects.md of CPython.

use cutap_wire::python::line_table;

/// The line of the instruction so many bytes into the code; `None`: it has none, or the table was cut before it.
pub fn line(form: u8, table: &[u8], first: u32, offset: u32) -> Option<u32> {
    let line = match form {
        line_table::PAIRS => Some(by_pairs(table, i64::from(first), offset)),
        line_table::RANGES => by_ranges(table, i64::from(first), offset),
        line_table::LOCATIONS => by_locations(table, i64::from(first), offset),
        _ => None,
    };
    line.and_then(|line| u32::try_from(line).ok())
}

fn by_pairs(table: &[u8], first: i64, offset: u32) -> i64 {
    let (mut at, mut line) = (0, first);
    for [bytes, lines] in table.as_chunks::<2>().0 {
        at += u32::from(*bytes);
        if at > offset {
            break;
        }
        line += i64::from(*lines as i8);
    }
    line
}

fn by_ranges(table: &[u8], first: i64, offset: u32) -> Option<i64> {
    let (mut end, mut line) = (0, first);
    for [bytes, lines] in table.as_chunks::<2>().0 {
        end += u32::from(*bytes);
        let is_none = *lines as i8 == i8::MIN;
        if !is_none {
            line += i64::from(*lines as i8);
        }
        if offset < end {
            return (!is_none).then_some(line);
        }
    }
    None
}

fn by_locations(table: &[u8], first: i64, offset: u32) -> Option<i64> {
    let mut rest = table.iter().copied();
    let (mut end, mut line) = (0u32, first);
    while let Some(head) = rest.next() {
        // An instruction has two bytes.
        end = end.saturating_add((u32::from(head & 7) + 1) * 2);
        let code = head >> 3 & 15;
        let has_line = code != 15;
        match code {
            0..=9 => skip(&mut rest, 1),
            10..=12 => {
                line += i64::from(code) - 10;
                skip(&mut rest, 2);
            }
            13 => line += signed(&mut rest)?,
            14 => {
                line += signed(&mut rest)?;
                for _ in 0..3 {
                    number(&mut rest)?;
                }
            }
            _ => {}
        }
        if offset < end {
            return has_line.then_some(line);
        }
    }
    None
}

fn skip(rest: &mut impl Iterator<Item = u8>, bytes: usize) {
    for _ in 0..bytes {
        rest.next();
    }
}

/// Six bits a byte, the lowest first.
fn number(rest: &mut impl Iterator<Item = u8>) -> Option<i64> {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = rest.next()?;
        value |= i64::from(byte & 63) << shift;
        if byte & 64 == 0 {
            return Some(value);
        }
        shift += 6;
        if shift > 36 {
            return None;
        }
    }
}

/// The sign is the lowest bit.
fn signed(rest: &mut impl Iterator<Item = u8>) -> Option<i64> {
    let value = number(rest)?;
    Some(if value & 1 == 1 { -(value >> 1) } else { value >> 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines<const N: usize>(form: u8, table: &[u8], first: u32, offsets: [u32; N]) -> [Option<u32>; N] {
        offsets.map(|offset| line(form, table, first, offset))
    }

    /// The tables of `def f(a):\n    b = a\n    return (b +\n        a)`, begun in line 10, as each version has them.
    #[test]
    fn tables() {
        let pairs = [0, 1, 4, 1, 2, 1, 2, 255];
        assert_eq!(lines(line_table::PAIRS, &pairs, 10, [0, 2, 4, 6, 8]), [11, 11, 12, 13, 12].map(Some));
        let ranges = [4, 1, 2, 1, 2, 1, 2, 128, 2, 255];
        let wanted = [Some(11), Some(12), Some(13), None, Some(12), None];
        assert_eq!(lines(line_table::RANGES, &ranges, 10, [0, 4, 6, 8, 10, 12]), wanted);
        // RESUME on the first line; one line on, two instructions; no columns, two lines on; long, one line back; none.
        let locations = [0x80, 0, 0x80 | 11 << 3 | 1, 8, 9, 0x80 | 13 << 3, 4, 0xf0, 3, 0, 1, 1, 0xf8];
        let wanted = [Some(10), Some(11), Some(11), Some(13), Some(12), None, None];
        assert_eq!(lines(line_table::LOCATIONS, &locations, 10, [0, 2, 5, 6, 8, 10, 12]), wanted);
    }

    #[test]
    fn damaged_tables() {
        for form in 0..5 {
            for table in [&[][..], &[0xff; 9], &[0xf0, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f], &[0; 3]] {
                let _ = line(form, table, u32::MAX, 7);
            }
        }
    }
}
