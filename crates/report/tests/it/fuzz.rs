//! The corpus of the fuzz target `kernel_recording`, unchanged and changed, for two seconds.

use crate::any;
use fastrand::Rng;
use std::path::Path;
use std::time::{Duration, Instant};

#[test]
fn recordings_of_kernel_calls() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/kernel_recording");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let corpus: Vec<Vec<u8>> = files.iter().map(|file| std::fs::read(file).unwrap()).collect();
    assert!(corpus.len() >= 2);
    corpus.iter().for_each(|bytes| any::recording(bytes));
    let mut random = Rng::with_seed(1);
    let (start, mut rounds) = (Instant::now(), 0);
    while start.elapsed() < Duration::from_secs(2) {
        let mut bytes = corpus[random.usize(..corpus.len())].clone();
        for _ in 0..=random.usize(..6) {
            let at = random.usize(..bytes.len());
            match random.usize(..8) {
                0 => bytes.truncate(at.max(1)),
                kind => bytes[at] = [0, 1, 0x7f, 0x80, 0xff, 8, 40][kind - 1] ^ (bytes[at] & random.u8(..)),
            }
        }
        any::recording(&bytes);
        rounds += 1;
    }
    assert!(rounds > 10, "{rounds} rounds");
}
