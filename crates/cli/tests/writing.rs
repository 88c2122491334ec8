//! Reading commands whose output cannot be written, by a limit or because the reader has left: a sentence, or a quiet end.

mod support;

use std::process::{Command, Output};
use support::{CUTAP, Folder, cutap, err, out, refused};

/// A recording of a few calls on the simulated driver.
fn recording(folder: &Folder) -> String {
    let file = folder.join("run.cutap").into_os_string().into_string().unwrap();
    let calls = "import ctypes; cuda = ctypes.CDLL('libcuda.so.1'); n = ctypes.c_int(); cuda.cuInit(0)
for _ in range(3000): cuda.cuDeviceGetCount(ctypes.byref(n))";
    let done = cutap(&["record", "--sim", "-o", &file, "--", "python3", "-c", calls]).output().unwrap();
    assert!(done.status.success(), "{}", err(&done));
    file
}

fn bash(script: &str) -> Output {
    Command::new("bash").args(["-c", script]).env_remove("LD_PRELOAD").env_remove("CUTAP_RUN").output().unwrap()
}

#[test]
fn a_file_size_limit_is_said() {
    let folder = Folder::new("size-limit");
    let (run, to) = (recording(&folder), folder.join("out").display().to_string());
    let reached = "the file size limit is reached (ulimit -f)";
    for (limit, words) in [
        (0, "--help".to_owned()),
        (0, "hook-header".to_owned()),
        (0, "api --list cublas".to_owned()),
        (0, "inspect /bin/sh".to_owned()),
        (0, format!("show -C {run}")),
        (0, format!("show -c --json {run}")),
        (0, format!("report {run}")),
        (0, format!("report --tree --json {run}")),
        // In the middle.
        (30, format!("show {run}")),
        (30, format!("show --json {run}")),
    ] {
        let done = bash(&format!("ulimit -f {limit}; exec {CUTAP} {words} > {to}"));
        refused(&done, 125, &["cannot write to standard output: ", reached, "write elsewhere"]);
    }
    for (limit, format) in [(0, "--json"), (0, "--perfetto"), (0, "--chrome"), (30, "--perfetto"), (30, "--chrome")] {
        let done = bash(&format!("ulimit -f {limit}; exec {CUTAP} export {format} {to} {run}"));
        refused(&done, 125, &["cannot write the export to ", reached, "give a file that you may write"]);
    }
    let done = bash(&format!("ulimit -f 0; exec {CUTAP} env -o {}", folder.join("env").display()));
    refused(&done, 125, &["cannot write ", reached]);
}

/// What a limit does to the program is what it does without us; and what was ignored stays ignored.
#[test]
fn the_programs_own_file_size_limit_is_as_it_was() {
    let folder = Folder::new("own-limit");
    let to = folder.join("out").display().to_string();
    let program = "grep SigIgn: /proc/self/status";
    for words in ["trace", "record"] {
        // A trace has a line, and a file that is no recording is not recorded over.
        let trace = folder.join(words).display().to_string();
        for before in ["trap - XFSZ", "trap '' XFSZ"] {
            let plain = bash(&format!("{before}; exec {program}"));
            let under = bash(&format!("{before}; exec {CUTAP} {words} --sim -o {trace} -- {program}"));
            assert_eq!(out(&under), out(&plain), "{words} after {before}");
        }
        let writes = format!("sh -c 'ulimit -f 1; exec head -c 9999 /dev/zero > {to}'");
        let died = bash(&format!("{CUTAP} {words} --sim -o {trace} -- {writes}; exit $?"));
        assert_eq!(died.status.code(), Some(128 + libc::SIGXFSZ), "{}", err(&died));
    }
}

#[test]
fn an_export_whose_reader_leaves_ends_quietly() {
    let folder = Folder::new("left");
    let run = recording(&folder);
    for words in ["export --json /dev/stdout", "export --chrome /dev/stdout", "export --perfetto /dev/stdout", "show"] {
        let done = bash(&format!("{CUTAP} {words} {run} | head -c 9 > /dev/null; exit ${{PIPESTATUS[0]}}"));
        assert_eq!((done.status.code(), err(&done).as_str()), (Some(0), ""), "{words}");
    }
    let full = cutap(&["export", "--json", "/dev/full", &run]).output().unwrap();
    refused(&full, 125, &["cannot write the export to /dev/full: the disk is full"]);
}
