//! The fuzz targets' corpus, unchanged and with changes, for a few seconds. `cargo xtask fuzz` runs longer.

mod any;

use fastrand::Rng;
use std::path::Path;
use std::time::{Duration, Instant};

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    files.into_iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Changes one to four bytes, cuts off the end, or repeats a part.
fn changed(input: &[u8], random: &mut Rng) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..=random.usize(..4) {
        let at = random.usize(..bytes.len().max(1));
        match (random.usize(..5), bytes.get_mut(at)) {
            (0, _) => bytes.truncate(at),
            (1, _) => {
                let end = (at + random.usize(..64)).min(bytes.len());
                let part = bytes.get(at..end).unwrap_or_default().to_vec();
                bytes.splice(at..at, part);
            }
            (_, Some(byte)) => *byte = [b'0', b'f', b'x', b' ', b'\n', b'(', b'<', b'-', 0, 0xff][random.usize(..10)],
            _ => {}
        }
    }
    bytes
}

fn run(target: &str, call: fn(&[u8])) {
    let corpus = corpus(target);
    corpus.iter().for_each(|input| call(input));
    let mut random = Rng::with_seed(1);
    let (start, mut rounds) = (Instant::now(), 0);
    while start.elapsed() < Duration::from_secs(3) {
        let input = &corpus[random.usize(..corpus.len())];
        call(&changed(input, &mut random));
        rounds += 1;
    }
    assert!(rounds > 20, "{rounds} rounds");
}

#[test]
fn logs() {
    run("kernel_log", any::log);
}

#[test]
fn files() {
    run("kernel_file", any::file);
}
