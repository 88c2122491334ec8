//! PTX text that a program gives the driver: the parameter list of each `.entry` goes to the names stream, so
//! that launches can be shown with the names and types that stand there. Nothing is understood here: what is
//! kept is the text up to the closing parenthesis. Read by the kernel, so that a bad address is no fault.
//!
//! Limits: compressed PTX in a fat binary, and PTX that is given to nvJitLink, is not read. Compilers invent the
//! names in it, and the C++ name has the types. Only the types of `extern "C"` kernels are missed.

use crate::process::copy::{program_words as words, window as read};
use crate::process::names;
use crate::process::page::count;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use cutap_calls::capture::{extend, hash};
use cutap_wire::diagnostic;
use cutap_wire::names::{Name, kind};

const WRAPPER: u32 = 0x4662_43b1;
const FATBIN: u32 = 0xba55_ed50;
/// Compressed by LZ4, by Zstandard.
const PACKED: u64 = 0x2000 | 0x8000;
/// Parts of a fat binary that are looked at; bytes of a text.
const PARTS: usize = 256;
const LONGEST: usize = 1 << 28;
/// Bytes of one list, and of all that a process keeps.
const LIST: usize = 0xffff;
const ALL: usize = 16 << 20;

const ENTRY: &[u8] = b".entry";

static KEPT: AtomicUsize = AtomicUsize::new(0);
/// What was kept last of a kernel, by the hash of its name: the same module loaded again tells nothing new.
static LAST: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];

/// Looks at an image: PTX, or a fat binary with PTX in it that is not compressed.
pub fn image(at: usize) {
    let Some(head) = words::<2>(at) else { return };
    match head[0] as u32 {
        WRAPPER => {
            if let Some([inner]) = words(at.wrapping_add(8)) {
                fat(inner as usize);
            }
        }
        FATBIN => fat(at),
        _ => text(at, LONGEST),
    }
}

/// PTX of this many bytes, or up to a zero. What begins as no text is left alone.
pub fn linked(at: usize, bytes: usize) {
    text(at, bytes.min(LONGEST));
}

fn fat(at: usize) {
    let Some([head, size]) = words(at) else { return };
    let mut place = at.wrapping_add((head >> 48) as usize);
    let end = place.saturating_add(size as usize);
    for _ in 0..PARTS {
        if head as u32 != FATBIN || place >= end {
            return;
        }
        let Some([kind, bytes, _, _, _, flags]) = words(place) else { return };
        let Some(content) = place.checked_add((kind >> 32) as usize) else { return };
        if kind as u16 == 1 && flags & PACKED == 0 {
            text(content, (bytes as usize).min(LONGEST));
        }
        place = content.saturating_add((bytes as usize).max(1));
    }
}

/// Finds each `.entry` in a text.
fn text(at: usize, bytes: usize) {
    let mut window = [0u8; 2048];
    let mut from = 0;
    while from + ENTRY.len() < bytes {
        let Some(read) = read(at.wrapping_add(from), &mut window, bytes - from) else { return };
        // An image of machine code has a zero in its head.
        let whole = read.iter().position(|&b| b == 0).unwrap_or(read.len());
        let part = read.get(..whole).unwrap_or(&[]);
        let entry_place =
            part.windows(ENTRY.len() + 1).position(|w| w.starts_with(ENTRY) && w[ENTRY.len()].is_ascii_whitespace());
        from += match entry_place {
            Some(place) => place + entry(at.wrapping_add(from + place), bytes - from - place),
            None if whole < read.len() || whole <= ENTRY.len() => return,
            None => whole - ENTRY.len(),
        };
    }
}

/// Tells the list that begins here, unless there is none; how many bytes to step on.
fn entry(at: usize, bytes: usize) -> usize {
    let mut window = [0u8; 512];
    let (mut len, mut sum, mut name) = (0, hash(b""), 0);
    while len < bytes.min(LIST) {
        let Some(read) = read(at.wrapping_add(len), &mut window, bytes.min(LIST) - len) else { break };
        let end = read.iter().position(|b| matches!(b, b')' | b'{' | b';' | 0));
        let part = read.get(..end.unwrap_or(read.len())).unwrap_or(&[]);
        if name == 0
            && let Some(open) = part.iter().position(|&b| b == b'(')
        {
            name = extend(sum, part.get(..open).unwrap_or(&[]));
        }
        sum = extend(sum, part);
        if let Some(end) = end {
            if read.get(end) == Some(&b')') {
                write_entry(at, len + end + 1, name, sum);
            }
            return len + end + 1;
        }
        len += read.len();
    }
    count(diagnostic::PTX_LEFT_OUT, 1);
    len.max(ENTRY.len())
}

fn write_entry(at: usize, bytes: usize, name: u64, sum: u64) {
    let Some(last) = LAST.get(name as usize % LAST.len()) else { return };
    if last.load(Relaxed) == sum {
        return;
    }
    if KEPT.fetch_add(bytes, Relaxed) > ALL {
        return count(diagnostic::PTX_LEFT_OUT, 1);
    }
    let record = Name { kind: kind::PTX_ENTRY, ticks: 0, a: 0, b: 0, c: 0, s: &[], t: &[] };
    names::write_copy(&record, at, bytes);
    last.store(sum, Relaxed);
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    /// Nothing is told here, for there is no process folder; the way through the bytes is what is tried.
    #[test]
    fn images_that_are_none() {
        for at in [0, 1, 8, 4095, 0x7fff_ffff_f000, 1 << 47, usize::MAX - 8, usize::MAX] {
            image(at);
            linked(at, usize::MAX);
        }
        let mut seed = 1u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as u8
        };
        for heads in
            [&b""[..], b".entry k(", &FATBIN.to_le_bytes(), &WRAPPER.to_le_bytes(), b"\x7fELF", b".entry .entry("]
        {
            for len in [0, 1, 7, 63, 2048, 5000] {
                let mut bytes: Vec<u8> = heads.to_vec();
                bytes.extend((0..len).map(|_| random()));
                bytes.extend([0; 64]);
                image(bytes.as_ptr() as usize);
                linked(bytes.as_ptr() as usize, bytes.len());
            }
        }
    }

    #[test]
    fn steps_over_a_list_to_its_end() {
        let list = b".entry k(.param .u32 n) { }\0";
        assert_eq!(entry(list.as_ptr() as usize, list.len()), 23);
        let none = b".entry k { ret; }\0";
        assert_eq!(entry(none.as_ptr() as usize, none.len()), 10);
        let long = [b'x'; LIST + 100];
        assert_eq!(entry(long.as_ptr() as usize, long.len()), LIST);
    }
}
