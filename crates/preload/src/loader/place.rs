//! Where the file of an object lies. The loader has the name by which it opened it, which may be relative to a folder
//! that the program has left since, or lead through a descriptor; the kernel has the path of what is mapped. Whoever
//! reads later stands elsewhere.
//!
//! It must never fail: where the kernel does not tell, the loader's name is the path.

use crate::sys;

/// Room for the longest line: a path, and 73 characters in front of it.
const ROOM: usize = 8192;

/// Calls `f` with the path of the object that has something mapped at `address`, and the loader's name `named`.
pub fn with_path<R>(address: usize, named: &[u8], f: impl FnOnce(&[u8]) -> R) -> R {
    let is_path = named.first() == Some(&b'/') && !named.starts_with(b"/proc/");
    // A name without a folder is no file's: the vdso.
    if is_path || !named.contains(&b'/') {
        return f(named);
    }
    let at = sys::pages(ROOM);
    if at.is_null() {
        return f(named);
    }
    // SAFETY: just mapped, ours alone.
    let room = unsafe { core::slice::from_raw_parts_mut(at, ROOM) };
    let path_range =
        sys::with(b"/proc/self/maps\0", &[sys::Open::Read], |file| find(address, room, |to| file.read(to)));
    let path = path_range.flatten().and_then(|(from, to)| room.get(from..to));
    let result = f(path.unwrap_or(named));
    // SAFETY: mapped above, and not used any more.
    unsafe { sys::unmap(at, ROOM) };
    result
}

/// Where in `room` the path of the mapping is that holds `address`, of lines that `read` gives in pieces.
fn find(address: usize, room: &mut [u8], mut read: impl FnMut(&mut [u8]) -> usize) -> Option<(usize, usize)> {
    let mut len = 0;
    loop {
        let more = read(room.get_mut(len..)?);
        if more == 0 {
            return None;
        }
        len += more;
        let mut begin = 0;
        while let Some(end) = room.get(begin..len)?.iter().position(|b| *b == b'\n') {
            let line = room.get(begin..begin + end)?;
            if range_contains(line, address) {
                let path = begin + line.iter().position(|b| *b == b'/')?;
                let line = line.strip_suffix(b" (deleted)").unwrap_or(line);
                return Some((path, begin + line.len()));
            }
            begin += end + 1;
        }
        room.copy_within(begin..len, 0);
        len -= begin;
    }
}

/// Whether a line's range, `FROM-TO` in hexadecimal, holds an address.
fn range_contains(line: &[u8], address: usize) -> bool {
    let mut numbers = line.splitn(3, |b| matches!(b, b'-' | b' ')).map(|digits| {
        let value = |digit: &u8| char::from(*digit).to_digit(16).unwrap_or(0) as usize;
        digits.iter().fold(0usize, |n, digit| n << 4 | value(digit))
    });
    let (from, to) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    address >= from && address < to
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &[u8] = b"7f00-7f10 r--p 00000000 08:01 99 /usr/lib/a b.so\n\
7f10-7f20 r-xp 00001000 08:01 99                         /usr/lib/a b.so (deleted)\n\
7f20-7f30 rw-p 00000000 00:00 0\n\
7f30-7f40 r-xp 00000000 00:00 0                          [vdso]\n";

    fn is(address: usize, room: usize, piece: usize, path: Option<&[u8]>) {
        let (mut all, mut rest) = ([0u8; 4096], MAPS);
        let found = find(address, &mut all[..room], |to| {
            let n = piece.min(to.len()).min(rest.len());
            to[..n].copy_from_slice(&rest[..n]);
            rest = &rest[n..];
            n
        });
        assert_eq!(found.map(|(from, to)| &all[from..to]), path, "{address:x} {room} {piece}");
    }

    #[test]
    fn the_path_of_what_is_mapped() {
        for piece in [1, 7, 60, 4096] {
            for address in [0x7f00, 0x7f0f, 0x7f10, 0x7f1f] {
                is(address, 4096, piece, Some(b"/usr/lib/a b.so"));
            }
            for address in [0x7eff, 0x7f20, 0x7f30, 0x7f40] {
                is(address, 4096, piece, None);
            }
        }
        // A line longer than the room ends it.
        is(0x7f10, 40, 8, None);
    }
}
