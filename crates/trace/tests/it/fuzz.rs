//! The corpus of the fuzz targets (`fuzz/`), as it is and changed at random for three seconds. CUTAP_FUZZ_SEED repeats
//! a run.

use cutap_trace::synthetic::any;
use fastrand::Rng;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Changed inputs at least, however slow the machine is.
const FEWEST: u32 = 20;

/// A number below `n`; 0 if there is none.
fn below(random: &mut Rng, n: usize) -> usize {
    random.usize(..n.max(1))
}

/// One to eight changes, of bytes, words, lengths, or a piece that moves.
fn change(random: &mut Rng, bytes: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..1 + below(random, 8) {
        let at = below(random, bytes.len());
        match below(random, 6) {
            0 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << below(random, 8);
                }
            }
            1 | 2 => {
                let values = [0, 1, 0x7f, 0xff, 0xffff, 1 << 28, u64::MAX, u64::MAX >> 1, random.u64(..)];
                let (value, size) = (values[below(random, values.len())], [1, 2, 4, 8][below(random, 4)]);
                for (n, byte) in value.to_le_bytes().into_iter().take(size).enumerate() {
                    if let Some(place) = bytes.get_mut((at & !7) + n) {
                        *place = byte;
                    }
                }
            }
            3 => bytes.truncate(at),
            4 => {
                let from = below(random, other.len());
                let piece = &other[from..(from + below(random, 400)).min(other.len())];
                let end = (at + piece.len()).min(bytes.len());
                bytes.splice(at..end, piece.iter().copied());
            }
            _ => {
                let piece = bytes[at..(at + below(random, 200)).min(bytes.len())].to_vec();
                let to = below(random, bytes.len());
                bytes.splice(to..to, piece);
            }
        }
    }
}

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let all: Vec<Vec<u8>> = files.map(|f| std::fs::read(f.unwrap().path()).unwrap()).collect();
    assert!(!all.is_empty(), "{} is empty", folder.display());
    all
}

fn replay_and_change(target: &str, read: fn(&[u8])) {
    let corpus = corpus(target);
    corpus.iter().for_each(|bytes| read(bytes));
    let seed = std::env::var("CUTAP_FUZZ_SEED")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64 | 1);
    // Shown when the test fails.
    println!("CUTAP_FUZZ_SEED={seed}");
    let (mut random, start, mut runs) = (Rng::with_seed(seed), Instant::now(), 0);
    while runs < FEWEST || start.elapsed() < Duration::from_secs(3) {
        let mut bytes = corpus[below(&mut random, corpus.len())].clone();
        let other = corpus[below(&mut random, corpus.len())].clone();
        change(&mut random, &mut bytes, &other);
        let since = Instant::now();
        read(&bytes);
        assert!(
            since.elapsed() < Duration::from_secs(20),
            "an input of {} bytes took {:?}",
            bytes.len(),
            since.elapsed()
        );
        runs += 1;
    }
}

#[test]
fn recordings() {
    replay_and_change("recording", any::recording);
}

#[test]
fn folders() {
    replay_and_change("folder", any::folder);
}
