//! Which file lies where, and from when on: what unwinding a stack later needs. A call may come from an object that no
//! look-up has made us notice, so whoever keeps a stack looks here first. Whether the loader has added anything is read
//! from its own counter, without its lock; only when it has is its list asked for, once.
//!
//! It must never ask inside the loader's own change of that list (a signal handler's call), and never at each call: a
//! child that was forked meanwhile could never ask again.

use super::{announce, live, lock};
use crate::process::names;
use crate::sys::libc::PhdrInfo;
use crate::sys::program_headers::{PT_LOAD, Phdr};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use cutap_wire::names::{Name, identity, kind};

const PT_NOTE: u32 = 4;
const PF_R: u32 = 4;
const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
/// Type of a note that is a build id, and its owner.
const BUILD_ID: u32 = 3;
const GNU: u32 = u32::from_le_bytes(*b"GNU\0");

/// Objects that the loader had added when we looked last, plus one.
static LISTED: AtomicU64 = AtomicU64::new(0);
/// Number of the look, from 2, for in the one before it nothing was there; and for each load the last one in which it
/// was.
static LOOKS: AtomicU32 = AtomicU32::new(1);
static SEEN: [AtomicU32; live::MAX + 2] = [const { AtomicU32::new(0) }; live::MAX + 2];
/// What tells the first file of each load from any other, as a number: one that was built again and opened again may
/// lie in the place of the one before under its name, and between two looks.
static FILES: [AtomicU64; live::MAX + 2] = [const { AtomicU64::new(0) }; live::MAX + 2];

/// Tells the names stream what has been loaded since the last look.
pub fn list_new_objects() {
    let adds = lock::adds();
    if LISTED.load(Acquire) == adds.map_or(1, |n| n + 1) || lock::is_mine() {
        return;
    }
    let listing = LOOKS.fetch_add(1, AcqRel) + 1;
    let mut listed = 0;
    live::find(|info| {
        listed = info.adds;
        // SAFETY: in the loader's callback: the object is mapped.
        let mut o = unsafe { super::objects::describe(info) };
        identified(info, |identity_kind, s| {
            o.id = live::load_id(&o);
            let file = identity::hash(s) ^ identity_kind | 1;
            let first = FILES.get(o.id as usize);
            let before = first.and_then(|f| f.compare_exchange(0, file, AcqRel, Acquire).err()).unwrap_or(file);
            if before != file {
                o.id = live::load_id_as(&o, file);
            }
            announce::announce(&o);
            if let Some(last_listing) = SEEN.get(o.id as usize)
                && last_listing.swap(listing, AcqRel) != listing.wrapping_sub(1)
            {
                let (a, b) = (o.id.into(), info.addr as u64);
                names::write(&Name { kind: kind::LOADED, ticks: 0, a, b, c: identity_kind, s, t: &[] });
            }
        });
        None::<()>
    });
    lock::found_adds(listed);
    // Where the loader's counter is not known, this was the only look.
    LISTED.store(if lock::adds().is_some() { listed + 1 } else { 1 }, Release);
}

/// A forked child tells all again: its parent may have been in the middle.
pub fn forked() {
    LISTED.store(0, Relaxed);
    // Two looks on, nothing has been seen in the last one.
    LOOKS.fetch_add(1, Relaxed);
}

/// Calls `f` with what tells an object's file from any other, and how it does.
fn identified(info: &PhdrInfo, f: impl FnOnce(u64, &[u8])) {
    // SAFETY: phdr and phnum come from the loader; the object is mapped.
    let headers = unsafe { core::slice::from_raw_parts(info.phdr, usize::from(info.phnum)) };
    let bytes_of = |h: &Phdr| -> &'static [u8] {
        // What no loaded segment holds is not mapped, whatever the header says.
        let inside = |l: &&Phdr| {
            let offset = h.vaddr.wrapping_sub(l.vaddr);
            l.kind == PT_LOAD && l.flags & PF_R != 0 && offset < l.filesz && h.filesz <= l.filesz - offset
        };
        let (at, len) = (info.addr.wrapping_add(h.vaddr as usize), h.filesz as usize);
        match headers.iter().find(inside) {
            // SAFETY: mapped, and looked at only during this callback.
            Some(_) => unsafe { core::slice::from_raw_parts(at as *const u8, len) },
            None => &[],
        }
    };
    let hash;
    let build_id = headers.iter().filter(|h| h.kind == PT_NOTE).find_map(|h| build_id(bytes_of(h)));
    let tables = headers.iter().find(|h| h.kind == PT_GNU_EH_FRAME);
    let (identity_kind, s) = match (build_id, tables) {
        (Some(id), _) => (identity::BUILD_ID, id),
        (None, Some(h)) => {
            hash = identity::hash(bytes_of(h)).to_le_bytes();
            (identity::TABLES, &hash[..])
        }
        (None, None) => (identity::NONE, &[][..]),
    };
    f(identity_kind, s);
}

/// The build id among the notes of a segment.
fn build_id(mut notes: &[u8]) -> Option<&[u8]> {
    loop {
        let word = |n: usize| notes.as_chunks::<4>().0.get(n).map(|w| u32::from_le_bytes(*w));
        let (owner_len, len, note_type, owner) = (word(0)? as usize, word(1)? as usize, word(2)?, word(3)?);
        let from = 12 + owner_len.next_multiple_of(4);
        if note_type == BUILD_ID && owner_len == 4 && owner == GNU {
            return notes.get(from..from + len.min(identity::MOST));
        }
        notes = notes.get(from + len.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_id_among_notes() {
        let note = |what: u8, data: &[u8]| {
            let mut n = [0u8; 32];
            n[0] = 4;
            n[4] = data.len() as u8;
            n[8] = what;
            n[12..16].copy_from_slice(b"GNU\0");
            n[16..16 + data.len()].copy_from_slice(data);
            (n, 16 + data.len().next_multiple_of(4))
        };
        let ((abi, abi_len), (id, id_len)) = (note(1, &[1; 16]), note(3, &[7; 10]));
        let mut all = [0u8; 64];
        all[..abi_len].copy_from_slice(&abi[..abi_len]);
        all[abi_len..abi_len + id_len].copy_from_slice(&id[..id_len]);
        assert_eq!(build_id(&all[..abi_len + id_len]), Some(&[7; 10][..]));
        assert_eq!(build_id(&all[..abi_len]), None);
        assert_eq!(build_id(&[0xff; 20]), None);
        assert_eq!(build_id(&[]), None);
    }
}
