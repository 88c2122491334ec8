//! Ids of kernel names, by the content of the name. A name is handed over once. Two threads that meet a new name at the
//! same time may both hand it over, and so does a full table.

use core::sync::atomic::{AtomicU64, Ordering};

/// Entries; a power of two.
const ENTRIES: usize = 8192;
/// Entries that are looked at for a name.
const STEPS: usize = 64;
/// Set in an id that is there.
const PRESENT: u64 = 1 << 32;

struct Entry {
    hash: AtomicU64,
    id: AtomicU64,
}

/// Ids by the hash of a name.
pub struct NameTable {
    entries: [Entry; ENTRIES],
}

impl NameTable {
    pub const fn new() -> Self {
        NameTable { entries: [const { Entry { hash: AtomicU64::new(0), id: AtomicU64::new(0) } }; ENTRIES] }
    }

    /// The id of a name. `give` hands a name over that has none yet.
    pub fn id(&self, name: &[u8], give: impl FnOnce(&[u8]) -> u32) -> u32 {
        let hash = hash(name);
        let first = hash as usize & (ENTRIES - 1);
        let (before, from) = self.entries.split_at(first.min(ENTRIES));
        for entry in from.iter().chain(before).take(STEPS) {
            let is_free = entry.hash.compare_exchange(0, hash, Ordering::AcqRel, Ordering::Acquire);
            match is_free {
                Ok(_) => {
                    let id = give(name);
                    entry.id.store(u64::from(id) | PRESENT, Ordering::Release);
                    return id;
                }
                Err(there) if there == hash => {
                    let id = entry.id.load(Ordering::Acquire);
                    return if id & PRESENT == 0 { give(name) } else { id as u32 };
                }
                Err(_) => {}
            }
        }
        give(name)
    }
}

/// Never 0.
fn hash(name: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let add = |hash: u64, word: u64| {
        let mixed = (hash ^ word).wrapping_mul(FACTOR);
        mixed ^ mixed >> 29
    };
    let (words, rest) = name.as_chunks::<8>();
    let last = rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let whole = words.iter().fold(name.len() as u64, |hash, word| add(hash, u64::from_le_bytes(*word)));
    add(add(whole, last), FACTOR).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_given_once() {
        static TABLE: NameTable = NameTable::new();
        let mut given = 0;
        let names: [&[u8]; 5] = [b"saxpy", b"saxpz", b"saxpy", b"a longer name than one word", b"saxpz"];
        let ids = names.map(|name| {
            TABLE.id(name, |_| {
                given += 1;
                given
            })
        });
        assert_eq!((ids, given), ([1, 2, 1, 3, 2], 3));
        assert_eq!((TABLE.id(b"", |_| 0), TABLE.id(b"", |_| 9)), (0, 0));
    }

    #[test]
    fn a_full_table_gives_names_again() {
        static TABLE: NameTable = NameTable::new();
        for n in 0..3 * ENTRIES as u32 {
            assert_eq!(TABLE.id(&n.to_le_bytes(), |_| n), n);
        }
        for n in 0..3 * ENTRIES as u32 {
            assert_eq!(TABLE.id(&n.to_le_bytes(), |_| n), n);
        }
    }
}
