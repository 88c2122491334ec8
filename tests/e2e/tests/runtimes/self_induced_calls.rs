//! What a runtime asks the driver only because its launches are watched: each thread counts it in its own ring.

use crate::FOOTPRINT;
use crate::real::{linked, program, text};
use cutap_e2e::{cutap, finish, json_lines, scratch};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Each thread counts its own: the number is exact however many there are, whoever gets their rings, and though the
/// process was killed; in the run directory, in the recording and where calls are only counted.
#[test]
fn self_induced_calls_per_thread() {
    let Some(program) = program("asked", linked("13.0"), &[]) else { return };
    let folder = scratch("asked");
    let (file, run) = (folder.join("run.cutap"), folder.join("run"));
    let cutap = |words: &[&str], paths: &[&Path]| finish(Command::new(cutap()).args(words).args(paths));
    let asked = |json: &str| {
        let end = json_lines(json).filter(|l| l["type"] == "end").last().expect("an end");
        let counts = end["counts"].as_array().expect("a list").iter().filter(|c| text(c, "text").contains(FOOTPRINT));
        counts.map(|c| c["count"].as_u64().expect("a number")).sum::<u64>()
    };
    let recorded = cutap(&["record", "--sim", "-o"], &[&file, Path::new("--"), &program]);
    assert!(!recorded.status.success(), "{}", recorded.stderr);
    assert_eq!(asked(&cutap(&["show", "-c", "--json"], &[&file]).stdout), 4000);
    for flags in [&["-c"][..], &["-C"]] {
        let words = [&["trace", "--sim", "--json", "-o", "/dev/null"], flags, &["--run-dir"]].concat();
        cutap(&words, &[&run, Path::new("--"), &program]);
        let shown = cutap(&[&["show", "--json"], flags].concat(), &[&run]);
        assert_eq!(asked(&shown.stdout), 4000, "{flags:?} {}", shown.stderr);
        fs::remove_dir_all(&run).expect("a folder of ours");
    }
}
