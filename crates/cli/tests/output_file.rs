//! The file of `-o`: what it may replace, and the patterns in its name.

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use support::{Folder, cutap, err, out, refused};

/// Runs `echo ran` under this command, in a folder.
fn run(folder: &Path, words: &[&str]) -> Output {
    let mut command = cutap(words);
    command.args(["--", "echo", "ran"]).current_dir(folder);
    command.env("MPI_RANK", "3").env_remove("NOT_SET").output().unwrap()
}

fn ran(folder: &Path, words: &[&str]) {
    let done = run(folder, words);
    assert_eq!((done.status.code(), out(&done).as_str()), (Some(0), "ran\n"), "{words:?}: {}", err(&done));
}

fn is_recording(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"CUTAPREC"))
}

fn names(folder: &Path) -> Vec<String> {
    let mut all: Vec<String> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    all.sort();
    all
}

#[test]
fn a_file_that_is_no_recording_is_not_written_over() {
    let folder = Folder::new("no-recording");
    let file = folder.join("thesis.tex");
    fs::write(&file, "three years").unwrap();
    for words in [&["record", "-o", "thesis.tex"][..], &["record", "--sim", "-o", "thesis.tex"]] {
        let done = run(&folder.0, words);
        refused(&done, 125, &["cannot write the recording to thesis.tex", "no recording", "-o FILE", "--force"]);
        assert_eq!(fs::read(&file).unwrap(), b"three years");
    }
    // Nor the default file.
    fs::write(folder.join("run.cutap"), "mine").unwrap();
    refused(&run(&folder.0, &["record"]), 125, &["cannot write the recording to run.cutap", "no recording"]);
    assert_eq!(names(&folder.0), ["run.cutap", "thesis.tex"]);
    ran(&folder.0, &["record", "--force", "-o", "thesis.tex"]);
    assert!(is_recording(&file));
    // A recording, and an empty file, are written over as before.
    ran(&folder.0, &["record", "-o", "thesis.tex"]);
    fs::write(folder.join("empty"), "").unwrap();
    ran(&folder.0, &["record", "-o", "empty"]);
    assert!(is_recording(&folder.join("empty")));
}

/// A trace may take the place of a text, as in strace, but not of a recording.
#[test]
fn a_trace_is_not_written_over_a_recording() {
    let folder = Folder::new("over-recording");
    ran(&folder.0, &["record"]);
    let (file, text) = (folder.join("run.cutap"), folder.join("out.txt"));
    let before = fs::read(&file).unwrap();
    let commands: [&[&str]; 6] = [
        &["trace", "-o"],
        &["trace", "-c", "-o"],
        &["syscall", "trace", "-o"],
        &["syscall", "trace", "--json", "-o"],
        &["syscall", "trace", "--ptrace", "-o"],
        &["syscall", "getenv", "-o"],
    ];
    for command in commands {
        let done = run(&folder.0, &[command, &["run.cutap"]].concat());
        let says = ["cannot write the trace to run.cutap", "it is a recording", "another file with -o FILE"];
        assert!(says.iter().all(|part| err(&done).contains(part)), "{command:?}: {done:?}");
        assert_eq!((done.status.code(), out(&done).as_str()), (Some(125), ""), "{command:?}: {done:?}");
        assert!(fs::read(&file).unwrap() == before, "{command:?}");
        fs::write(&text, "a trace of before\n").unwrap();
        ran(&folder.0, &[command, &["out.txt"]].concat());
        assert!(!fs::read_to_string(&text).unwrap().contains("of before"), "{command:?}");
    }
}

#[test]
fn the_default_file_of_before_is_kept() {
    let folder = Folder::new("default");
    let (new, old) = (folder.join("run.cutap"), folder.join("run.cutap.old"));
    let inode = |path: &Path| std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap());
    ran(&folder.0, &["record"]);
    assert_eq!(names(&folder.0), ["run.cutap"]);
    for _ in 0..2 {
        let first = inode(&new);
        ran(&folder.0, &["record"]);
        assert_eq!(names(&folder.0), ["run.cutap", "run.cutap.old"]);
        assert_eq!(inode(&old), first);
        assert!(is_recording(&new) && is_recording(&old));
    }
    // A name that was given has none.
    ran(&folder.0, &["record", "-o", "named.cutap"]);
    ran(&folder.0, &["record", "-o", "named.cutap"]);
    assert_eq!(names(&folder.0), ["named.cutap", "run.cutap", "run.cutap.old"]);
    // A start that is refused, by us or by the kernel, changes nothing.
    let before = [fs::read(&new).unwrap(), fs::read(&old).unwrap()];
    let hook = run(&folder.0, &["record", "--run-dir", "/proc/nothing"]);
    assert_eq!(hook.status.code(), Some(125), "{}", err(&hook));
    let busy = folder.program("busy", &fs::read("/bin/echo").unwrap());
    let writer = fs::File::options().append(true).open(&busy).unwrap();
    let by_kernel = cutap(&["record", "--", "./busy"]).current_dir(&folder.0).output().unwrap();
    assert_eq!(by_kernel.status.code(), Some(126), "{}", err(&by_kernel));
    drop(writer);
    fs::remove_file(busy).unwrap();
    assert_eq!([fs::read(&new).unwrap(), fs::read(&old).unwrap()], before);
    assert_eq!(names(&folder.0), ["named.cutap", "run.cutap", "run.cutap.old"]);
    // What is no recording does not give way.
    fs::write(&old, "mine").unwrap();
    refused(
        &run(&folder.0, &["record"]),
        125,
        &["cannot keep the recording run.cutap as run.cutap.old", "no recording"],
    );
    assert_eq!((fs::read(&new).unwrap(), fs::read(&old).unwrap()), (before[0].clone(), b"mine".to_vec()));
    ran(&folder.0, &["record", "--force"]);
    assert!(is_recording(&old));
}

#[test]
fn a_default_file_that_is_a_link_stays_one() {
    let folder = Folder::new("default-link");
    std::os::unix::fs::symlink("elsewhere.cutap", folder.join("run.cutap")).unwrap();
    ran(&folder.0, &["record"]);
    ran(&folder.0, &["record"]);
    assert_eq!(names(&folder.0), ["elsewhere.cutap", "run.cutap"]);
    assert!(folder.join("run.cutap").is_symlink() && is_recording(&folder.join("elsewhere.cutap")));
}

#[test]
fn patterns_in_the_name() {
    let folder = Folder::new("patterns");
    ran(&folder.0, &["record", "-o", "rank%q{MPI_RANK}.cutap"]);
    ran(&folder.0, &["record", "-o", "100%%.cutap"]);
    ran(&folder.0, &["trace", "-o", "trace%q{MPI_RANK}.txt"]);
    assert_eq!(names(&folder.0), ["100%.cutap", "rank3.cutap", "trace3.txt"]);
    let host =
        out(&Command::new("hostname").output().unwrap_or_else(|_| Command::new("uname").arg("-n").output().unwrap()));
    ran(&folder.0, &["record", "-o", "at-%h"]);
    assert!(folder.join(&format!("at-{}", host.trim())).exists(), "{:?}", names(&folder.0));
    for (words, why) in [
        (["record", "-o", "a%q{NOT_SET}"], "the environment variable NOT_SET is not set"),
        (["trace", "-o", "a%q{NOT_SET}"], "the environment variable NOT_SET is not set"),
        (["record", "-o", "a%x"], "cannot use -o a%x: %x is not known"),
        (["trace", "-o", "a%"], "cannot use -o a%: % is not known"),
        (["record", "-o", "a%q{MPI_RANK"], "%q lacks the name of an environment variable"),
    ] {
        refused(&run(&folder.0, &words), 125, &[why]);
    }
    assert!(!names(&folder.0).iter().any(|name| name.starts_with('a') && !name.starts_with("at-")));
}

/// What torchrun and mpirun do: all ranks start the same line at the same moment.
#[test]
fn ranks_write_to_a_file_each() {
    let folder = Folder::new("ranks");
    let start = |rank: u32| {
        let mut command = cutap(&["record", "-o", "%p.%q{RANK}.cutap", "--", "sleep", "0.3"]);
        command.current_dir(&folder.0).env("RANK", rank.to_string()).spawn().unwrap()
    };
    let mut expected = Vec::new();
    for mut child in (0..4).map(start).collect::<Vec<_>>() {
        expected.push(child.id());
        assert!(child.wait().unwrap().success());
    }
    let mut expected: Vec<String> = (0..).zip(expected).map(|(rank, pid)| format!("{pid}.{rank}.cutap")).collect();
    expected.sort();
    assert_eq!(names(&folder.0), expected);
}
