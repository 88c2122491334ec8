//! Writes names to the names stream, from any part of the library. The first name makes the process folder.

use super::page::count;
use super::{folder, names_file};
use cutap_wire::diagnostic;
use cutap_wire::names::{Name, kind};

/// Writes a name; where its first string stands now, for as long as the process lives.
#[inline(never)]
pub fn write(name: &Name) -> Option<*const u8> {
    if !folder::ensure_folder() {
        count(diagnostic::NAME_DROPPED, 1);
        return None;
    }
    names_file::write(name)
}

/// Writes a name whose first string is `bytes` bytes of the program's memory at `from`. What cannot be read any more is
/// left out at the end. Where the string is now, for as long as the process lives.
#[inline(never)]
pub fn write_copy(name: &Name, from: usize, bytes: usize) -> Option<*const u8> {
    if !folder::ensure_folder() {
        count(diagnostic::NAME_DROPPED, 1);
        return None;
    }
    names_file::write_copy(name, from, bytes)
}

/// Something that is listed at the end, by name.
pub fn gap(reason: usize, name: &[u8], more: &[u8]) {
    write(&Name { kind: kind::GAP, ticks: 0, a: reason as u64, b: 0, c: 0, s: name, t: more });
}
/// The same, counted.
pub fn gap_named(reason: usize, name: &[u8]) {
    count(reason, 1);
    gap(reason, name, &[]);
}
