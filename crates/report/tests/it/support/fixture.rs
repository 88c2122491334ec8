//! Calls of the driver, read with the small tables of `cutap_trace::synthetic`.

use crate::support::program::decoded;
use cutap_trace::synthetic::{Process, Run, Thread};

/// A process with one driver function in slot 0.
pub fn driver(run: &Run, name: &str, shape: (u8, u8, u8)) -> (Process, Thread) {
    let mut process = run.process(100, "/bin/prog");
    process.driver(&[]);
    process.slot(0, 1, shape, name);
    let thread = process.thread(100, 8);
    (process, thread)
}

/// The line of one call of a driver function.
pub fn line(name: &str, words: &[u64], before: &[(u64, &[u8])], result: u64, after: &[(u64, &[u8])]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let (_process, mut thread) = driver(&run, name, (words.len() as u8, 0, 0));
    thread.call_with(0, words, before, result, after);
    decoded(folder.path(), "").lines().next().unwrap().to_owned()
}

pub fn words(all: &[u64]) -> Vec<u8> {
    all.iter().flat_map(|w| w.to_le_bytes()).collect()
}
