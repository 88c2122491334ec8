//! `cutap diff`: functions that differ between two runs, with sums of bytes.

use crate::support::calls::{Calls, run, word};
use cutap_report::{Diff, Profile};
use cutap_trace::{EventReader, ReaderOptions};
use serde_json::Value;

const MIB: u64 = 1 << 20;
const AT: u64 = 0x7000_0000_0000;

fn profile(calls: impl FnOnce(&mut Calls)) -> Profile {
    let folder = run(12090, calls);
    let mut profile = Profile::default();
    let mut reader = EventReader::open(folder.path(), ReaderOptions::default()).unwrap();
    reader.poll(true, &mut |event| profile.event(event)).unwrap();
    profile
}

/// Allocates, and fills a part of it several times.
fn fills(c: &mut Calls, allocated: u64, times: u64, filled: u64) {
    c.driver("cuMemAlloc_v2", &[0x10, allocated], &[], &[(0x10, &word(AT))]);
    for _ in 0..times {
        c.driver("cuMemsetD8_v2", &[AT, 0, filled], &[], &[]);
    }
}

#[test]
fn sums_of_bytes() {
    let before = profile(|c| {
        fills(c, 20 * MIB, 2, MIB);
        c.driver("cuMemsetD32_v2", &[AT, 0, 1024], &[], &[]);
    });
    let after = profile(|c| fills(c, 80 * MIB, 2, 3 * MIB));
    let diff = Diff::new(&before, &after, false);
    let mut text = Vec::new();
    diff.write_text(["a", "b"], &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let changes: Vec<&str> = text.lines().filter(|line| line.starts_with(['-', '+', '~'])).skip(1).collect();
    assert_eq!(
        changes,
        [
            "~ cuMemAlloc_v2: bytes 20 MiB -> 80 MiB (+60 MiB)",
            "- cuMemsetD32_v2: 1 call, 4 KiB, only in A",
            "~ cuMemsetD8_v2: bytes 2 MiB -> 6 MiB (+4 MiB)",
        ],
        "{text}"
    );
    let mut json = Vec::new();
    diff.write_json(&mut json).unwrap();
    let first: Value = serde_json::from_slice(json.split(|b| *b == b'\n').next().unwrap()).unwrap();
    assert_eq!((&first["a"]["bytes"], &first["b"]["bytes"]), (&(20 * MIB).into(), &(80 * MIB).into()));
}
