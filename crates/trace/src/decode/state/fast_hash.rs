//! Hashing for tables whose keys are addresses, handles and threads of a recorded program, looked up several times a
//! call: one multiplication a word, and one more. The seed is this process's own, so that no file can be made whose
//! keys all fall together.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// A table with quick look-ups.
pub type Quick<K, V> = HashMap<K, V, Seed>;

/// Where hashes begin.
#[derive(Debug, Clone, Copy)]
pub struct Seed(u64);

impl Default for Seed {
    fn default() -> Seed {
        static SEED: OnceLock<u64> = OnceLock::new();
        Seed(*SEED.get_or_init(|| RandomState::new().hash_one(0u8)))
    }
}

impl BuildHasher for Seed {
    type Hasher = WordHasher;

    fn build_hasher(&self) -> WordHasher {
        WordHasher(self.0)
    }
}

/// Words that are hashed.
#[derive(Debug)]
pub struct WordHasher(u64);

impl WordHasher {
    fn add(&mut self, word: u64) {
        self.0 = folded(self.0 ^ word, 0x9e37_79b9_7f4a_7c15);
    }
}

/// Both halves of a product of 128 bits: the high one depends on all bits of the word, the low one is for small tables.
fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

impl Hasher for WordHasher {
    fn finish(&self) -> u64 {
        folded(self.0, 0xe703_7ed1_a0b4_28db)
    }

    fn write(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..piece.len()].copy_from_slice(piece);
            self.add(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, n: u8) {
        self.add(n.into());
    }

    fn write_u32(&mut self, n: u32) {
        self.add(n.into());
    }

    fn write_u64(&mut self, n: u64) {
        self.add(n);
    }

    fn write_usize(&mut self, n: usize) {
        self.add(n as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Addresses differ in their middle bits: both the bits that pick a bucket and those that tell keys apart in it
    /// must differ.
    #[test]
    fn neighbours_fall_apart() {
        let seed = Seed::default();
        for step in [1u64, 8, 4096, 1 << 21, 1 << 40] {
            let hashes: Vec<u64> = (0..4096).map(|n| seed.hash_one(("stream", 0x2000_0000_0000 + n * step))).collect();
            for shift in [0, 57] {
                let mut buckets = [0u32; 128];
                hashes.iter().for_each(|h| buckets[(h >> shift & 127) as usize] += 1);
                assert!(buckets.iter().all(|n| (4..=100).contains(n)), "{step} {shift}: {buckets:?}");
            }
        }
    }
}
