//! The real calls of a run: what the fixtures counted in the file `FIXTURE_COUNTS`, which libfixture.so writes
//! (count.c).
//!
//! The file is a table of 128-byte entries: ready, count, then the key `library:function` as a C string; entry 0 holds
//! how many entries there are. It is read after the program has ended, however it ended. What cutap counted comes from
//! `-c --json`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Calls by `library:function`.
pub type Counts = BTreeMap<String, u64>;

const ENTRY: usize = 128;

/// Reads the table; a program that never loaded libfixture.so made no calls.
pub fn read(path: &Path) -> Counts {
    let bytes = std::fs::read(path).unwrap_or_default();
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let mut counts = Counts::new();
    if bytes.is_empty() {
        return counts;
    }
    for at in (1..=word(8) as usize).map(|i| i * ENTRY) {
        let key = bytes[at + 16..at + ENTRY].split(|&b| b == 0).next().expect("split gives at least one part");
        if word(at) == 1 && word(at + 8) > 0 {
            *counts.entry(String::from_utf8_lossy(key).into_owned()).or_default() += word(at + 8);
        }
    }
    counts
}

/// What `cutap show -c` counts in a run directory.
pub fn shown(run: &Path) -> Counts {
    let show = crate::finish(Command::new(crate::cutap()).args(["show", "-c", "--json"]).arg(run));
    assert!(show.status.success(), "{show:?}");
    summary(&show.stdout)
}

/// The calls in the lines that `-c --json` prints.
pub fn summary(text: &str) -> Counts {
    let mut counts = Counts::new();
    for line in text.lines().filter(|l| l.starts_with('{')) {
        let value: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("not JSON ({e}): {line}"));
        if value["type"] != "summary" {
            continue;
        }
        let library = value["library"].as_str().filter(|_| value["layer"] != "driver").unwrap_or("libcuda.so.1");
        let library = library.rsplit('/').next().expect("rsplit gives at least one part");
        let (name, calls) =
            (value["name"].as_str().expect("a name"), value["calls"].as_u64().expect("a number of calls"));
        *counts.entry(format!("{library}:{name}")).or_default() += calls;
    }
    counts
}
