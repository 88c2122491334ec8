//! Any bytes at all in the files of a run directory: nothing panics, hangs or takes memory without end,
//! and what stands before the damage is read.

use crate::common::*;
use cutap_trace::synthetic::Run;
use cutap_wire::process::Process;
use proptest::prelude::*;
use std::mem::offset_of;
use std::path::Path;

/// A run with calls on two threads, in several chunks.
fn good(folder: &Path) -> std::path::PathBuf {
    let run = Run::new(folder);
    let mut process = run.process(100, "/bin/prog");
    process.driver(&["f0", "f1"]);
    process.runtime(2, "prog", 12090, 10, &["cudaMalloc"]);
    let (mut one, mut two) = (process.thread(100, 3), process.thread(101, 3));
    for n in 0..60 {
        one.enter(10, &[n]);
        two.call(0, &[n], 5, 0);
        one.call(1, &[n, 2, 3], 5, 0);
        one.exit(0);
    }
    process.path().to_owned()
}

fn read(folder: &Path) -> usize {
    let mut reader = follow(folder, true, "");
    let mut events = 0;
    for last in [false, true] {
        reader.poll(last, &mut |_| events += 1).unwrap();
    }
    reader.end();
    events
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn random_files(ring in prop::collection::vec(any::<u8>(), 0..20_000), names in prop::collection::vec(any::<u8>(), 0..5_000)) {
        let folder = tempfile::tempdir().unwrap();
        let process = good(folder.path());
        std::fs::write(process.join("t0.ring"), &ring).unwrap();
        std::fs::write(process.join("names"), &names).unwrap();
        read(folder.path());
    }

    #[test]
    fn random_bytes_behind_good_heads(
        at in 64..4096usize, bytes in prop::collection::vec(any::<u8>(), 1..4000), chunk in 0..3usize,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let process = good(folder.path());
        let path = process.join("t0.ring");
        let mut ring = std::fs::read(&path).unwrap();
        let from = 4096 * (chunk + 1) + at;
        let to = (from + bytes.len()).min(ring.len());
        ring[from..to].copy_from_slice(&bytes[..to - from]);
        std::fs::write(&path, &ring).unwrap();
        // The other thread is whole.
        prop_assert!(read(folder.path()) >= 120);
    }

    #[test]
    fn single_words_changed(changes in prop::collection::vec((0..4096usize, any::<u64>()), 1..8)) {
        let folder = tempfile::tempdir().unwrap();
        let process = good(folder.path());
        for name in ["t0.ring", "names", "process"] {
            let path = process.join(name);
            let mut file = std::fs::read(&path).unwrap();
            // A run of another version is refused.
            let is_version = |word: usize| name == "process" && word * 8 == offset_of!(Process, version);
            for (word, value) in changes.iter().filter(|(word, _)| !is_version(*word)) {
                if let Some(place) = file.get_mut(word * 8..word * 8 + 8) {
                    place.copy_from_slice(&value.to_le_bytes());
                }
            }
            std::fs::write(&path, &file).unwrap();
        }
        read(folder.path());
    }

    #[test]
    fn any_filter(text in "[a-z!<>*,.0-9_ ]{0,40}") {
        let _ = cutap_trace::Filter::parse_with(&text, &["cuInit", "cudaMalloc"]);
    }
}
