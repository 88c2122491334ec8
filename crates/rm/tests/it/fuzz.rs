//! The corpus of the fuzz targets, as it is and changed. `CUTAP_FUZZ_SECONDS` does it for longer.

use crate::any;
use std::time::{Duration, Instant};

struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most.max(1)
    }
}

fn change(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes.truncate(at.max(8)),
            1 => bytes.extend_from_slice(other),
            2 => {
                let from = random.below(other.len());
                bytes.splice(at..at, other[from..].iter().copied());
            }
            3 => {
                let value = [0, 1, 0x7f, 0xff, 0x80, 0x2a][random.below(6)];
                bytes.iter_mut().skip(at).take(4).for_each(|b| *b = value);
            }
            _ => {
                let bit = random.below(8);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << bit;
                }
            }
        }
    }
    bytes.truncate(8192);
}

/// Runs the corpus of a target, unchanged and then with changes.
fn run(target: &str, fewest: usize, call: fn(&[u8])) {
    let folder = format!("{}/../../fuzz/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
    let Ok(entries) = std::fs::read_dir(folder) else {
        println!("skipped: the corpus of the fuzz target {target} (it is not part of the package)");
        return;
    };
    let mut files: Vec<_> = entries.map(|e| e.unwrap().path()).collect();
    files.sort();
    let corpus: Vec<Vec<u8>> = files.iter().map(|f| std::fs::read(f).unwrap()).collect();
    assert!(corpus.len() >= fewest);
    corpus.iter().for_each(|bytes| call(bytes));
    let seconds = std::env::var("CUTAP_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(2);
    let (start, mut random, mut runs) = (Instant::now(), Random(seconds), 0_u64);
    while start.elapsed() < Duration::from_secs(seconds) {
        let mut bytes = corpus[random.below(corpus.len())].clone();
        let other = corpus[random.below(corpus.len())].clone();
        change(&mut bytes, &other, &mut random);
        call(&bytes);
        runs += 1;
    }
    println!("{runs} changed inputs");
}

#[test]
fn requests() {
    run("ioctl", 20, any::request);
}

#[test]
fn commands_of_channels() {
    run("commands", 8, any::commands);
}
