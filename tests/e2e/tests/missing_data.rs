//! What a recording lacks is said by every command that reads it, and where calls were lost by the one that took them
//! in.

use cutap_e2e::{Finished, blocks, cutap, finish, out, scratch};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

fn run(words: &[&str], paths: &[&Path]) -> Finished {
    finish(Command::new(cutap()).args(words).args(paths).env("LD_LIBRARY_PATH", out()))
}

/// What is there is given, and this is said in one sentence.
fn is_said(words: &[&str], file: &Path, sentence: &str) {
    let read = run(words, &[file]);
    assert_eq!(read.status.code(), Some(125), "{words:?}: {}", read.stderr);
    assert_eq!(read.stderr.matches(sentence).count(), 1, "{words:?}: {}", read.stderr);
    let there = read.stdout.contains("cuMemAlloc_v2") || words.contains(&"--leaks");
    assert!(there, "{words:?}: what is there is shown");
}

/// By each command that reads the file.
fn is_said_by_all(file: &Path, sentence: &str, state: &str) {
    for words in [&["show"][..], &["report"], &["report", "--tree"], &["report", "--leaks"], &["show", "-c"]] {
        is_said(words, file, sentence);
    }
    let export = file.with_extension("exported");
    let read = run(&["export", "--json"], &[&export, file]);
    assert!(read.status.code() == Some(125) && read.stderr.contains(sentence), "{read:?}");
    let text = fs::read_to_string(&export).unwrap();
    let end: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(end["recording"]["state"], state);
}

#[test]
fn a_recording_that_was_cut_off_and_completed() {
    let folder = scratch("missing");
    let (file, steady) = (folder.join("run.cutap"), out().join("steady"));
    let done = run(&["record", "--run-dir"], &[&folder.join("run"), Path::new("-o"), &file, &steady]);
    assert!(done.status.success(), "{done:?}");
    assert_eq!(run(&["report"], &[&file]).status.code(), Some(0));
    let whole = fs::read(&file).unwrap();
    let chunks: Vec<usize> = blocks(&whole).into_iter().map(|b| b.0).filter(|at| whole[at + 4] == 6).collect();
    let at = chunks[chunks.len() / 2];
    fs::write(&file, &whole[..at + 100]).unwrap();
    let recovered = run(&["recover"], &[&folder.join("run"), Path::new("-o"), &file]);
    assert_eq!(recovered.status.code(), Some(125), "{recovered:?}");
    let sentence = format!("run.cutap was cut off at byte {at} before cutap recover added to it: ");
    is_said_by_all(&file, &sentence, "incomplete");
    // What is added behind, and packing, change nothing about it.
    assert!(run(&["recover"], &[&folder.join("run"), Path::new("-o"), &file]).status.success());
    assert!(run(&["pack"], &[&file]).status.success());
    is_said(&["report"], &file, &sentence);
    // One of which nothing is missing is good: the folder of a run that nobody drained has all.
    let (other, good) = (folder.join("other"), folder.join("good.cutap"));
    undrained(&other);
    assert!(run(&["recover"], &[&other, Path::new("-o"), &good]).status.success());
    let bytes = fs::read(&good).unwrap();
    fs::write(&good, &bytes[..bytes.len() / 2]).unwrap();
    let recovered = run(&["recover"], &[&other, Path::new("-o"), &good]);
    assert!(
        recovered.status.success() && recovered.stderr.contains("all that came behind was still in"),
        "{recovered:?}"
    );
    let read = run(&["report"], &[&good]);
    assert!(read.status.success() && read.stderr.is_empty(), "{read:?}");
}

/// A run that no collector has read.
fn undrained(folder: &Path) {
    let script = r#"set -e; eval "$("$0" env -o "$1")"; exec "$2""#;
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(cutap()).arg(folder).arg(out().join("steady")).env("LD_LIBRARY_PATH", out());
    let done = finish(&mut shell);
    assert!(done.status.success(), "{done:?}");
}

/// The head of a chunk is gone: the first, one between others, the last.
#[test]
fn a_ring_with_a_hole() {
    const CHUNK: u64 = 128 << 10;
    let folder = scratch("hole");
    let from = folder.join("run");
    undrained(&from);
    let process = fs::read_dir(&from).unwrap().map(|e| e.unwrap().path()).find(|p| p.is_dir()).expect("a process");
    let ring = process.join("t1.ring");
    let good = fs::read(&ring).unwrap();
    let chunks = (good.len() as u64 - 4096) / CHUNK;
    assert!(chunks > 5 && good[(4096 + CHUNK) as usize + 8] == 2, "chunks stand where this test takes them to be");
    for n in [0, 3, chunks - 1] {
        fs::write(&ring, &good).unwrap();
        fs::File::options().write(true).open(&ring).unwrap().write_all_at(&[0; 64], 4096 + n * CHUNK).unwrap();
        let file = folder.join(format!("{n}.cutap"));
        let recovered = run(&["recover"], &[&from, Path::new("-o"), &file]);
        assert_eq!(recovered.status.code(), Some(125), "{n}: {recovered:?}");
        let said = format!("1 part of its calls is damaged in {}", from.display());
        assert!(recovered.stderr.contains(&said), "{n}: {}", recovered.stderr);
        is_said(&["report"], &file, "is not all there was: 1 part of its calls is missing");
        // The heads around a hole count its calls; after the last one there is none.
        let calls = if n == chunks - 1 { "\n" } else { ", with " };
        let said = format!("is damaged, and all else in it was read: 1 part of its calls is damaged{calls}");
        is_said(&["show", "-c"], &from, &said);
    }
}

/// Files of a run directory that are damaged: what is there is shown, and what is not is said, with 125.
#[test]
fn a_damaged_run_folder() {
    let folder = scratch("damaged");
    let from = folder.join("run");
    let script = r#"set -e; eval "$("$0" env -o "$1")"; "$2"; exec "$2""#;
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(cutap()).arg(&from).arg(out().join("layers")).env("LD_LIBRARY_PATH", out());
    assert!(finish(&mut shell).status.success());
    let process = fs::read_dir(&from).unwrap().map(|e| e.unwrap().path()).find(|p| p.is_dir()).expect("a process");
    let name = process.file_name().unwrap().to_str().unwrap().to_owned();
    let export = folder.join("export");
    let reads: [(&[&str], &[&Path]); 4] = [
        (&["show"], &[&from]),
        (&["report"], &[&from]),
        (&["report", "--leaks"], &[&from]),
        (&["export", "--chrome"], &[&export, &from]),
    ];
    for (words, paths) in reads {
        let read = run(words, paths);
        assert!(read.status.success() && !read.stderr.contains(" is damaged"), "{words:?}: {read:?}");
    }
    for (file, why) in [
        ("t0.ring", "its head is damaged"),
        ("process", "it is damaged or not there, so nothing of this process can be read"),
    ] {
        let path = process.join(file);
        let good = fs::read(&path).unwrap();
        fs::write(&path, b"nothing").unwrap();
        let said =
            format!("run is damaged, and all else in it was read: what could not be read is {name}/{file} ({why})");
        for (words, paths) in reads {
            let read = run(words, paths);
            assert_eq!((read.status.code(), read.stderr.contains(&said)), (Some(125), true), "{words:?}: {read:?}");
            assert!(words != ["show"] || read.stdout.contains("cuMemAlloc_v2"), "the other process is shown: {read:?}");
        }
        // What was made of it does not forget that, packed or not, whatever becomes of the folder.
        let taken = folder.join(format!("of_{file}"));
        let recover = || run(&["recover"], &[&from, Path::new("-o"), &taken]);
        assert_eq!(recover().status.code(), Some(125), "{file}");
        let said = format!("is not all there was: what could not be read in its run directory: {name}/{file} ({why})");
        is_said_by_all(&taken, &said, "incomplete");
        is_said(&["show", "-C"], &taken, &said);
        fs::write(&path, good).unwrap();
        assert!(recover().status.success() && run(&["pack"], &[&taken]).status.success(), "{file}");
        is_said_by_all(&taken, &said, "incomplete");
    }
    let control = from.join("control");
    for bytes in [&b""[..], b"garbage"] {
        fs::write(&control, bytes).unwrap();
        for words in [&["show"][..], &["report"], &["recover", "-o", "/nowhere/x"]] {
            let read = run(words, &[&from]);
            let said =
                read.stderr.contains("run is damaged: its control page is none of cutap's; without that file (rm ");
            assert_eq!((read.status.code(), said), (Some(125), true), "{words:?}: {read:?}");
        }
    }
    fs::remove_file(&control).unwrap();
    let read = run(&["show"], &[&from]);
    assert!(read.status.success() && read.stdout.contains("cuMemAlloc_v2"), "{read:?}");
}
