//! Each command that reads a file, on what is no file or has no end: a pipe without a writer, a pipe without an end,
//! devices, folders, holes, links. It ends soon, with one sentence on the standard error, and nothing is spoilt.

mod support;

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::{CUTAP, Folder, err};

/// The commands; FILE is what they read, OUT a file that does not exist.
const COMMANDS: &[&str] = &[
    "show FILE",
    "report FILE",
    "report --leaks FILE",
    "explain FILE",
    "diff FILE FILE",
    "export --json OUT FILE",
    "recover -o OUT FILE",
    "pack FILE",
    "inspect FILE",
    "run --hook FILE -- true",
    "trace --hook FILE -- true",
    "trace -- FILE",
    "record -o OUT -- FILE",
    "syscall trace --ptrace -o OUT -- FILE",
    "syscall decode FILE",
    "syscall tree FILE",
    "syscall maps FILE",
    "syscall census FILE",
    "syscall diff FILE FILE",
    "syscall sites FILE",
    "syscall getenv --scan FILE",
];

fn mkfifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Runs all commands on a file, with what is written to their standard input.
fn each(folder: &Folder, files: &[&str], stdin: fn() -> Stdio, check: &(dyn Fn(&str, Option<i32>, &str) + Sync)) {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            let (Some(file), command) = (files.get(n / COMMANDS.len()), COMMANDS[n % COMMANDS.len()]) else { return };
            let out = format!("out{n}");
            let words = command.split(' ').map(|word| match word {
                "FILE" => *file,
                "OUT" => out.as_str(),
                word => word,
            });
            let mut run = Command::new("timeout");
            run.args(["-s", "KILL", "60", CUTAP]).args(words).current_dir(&folder.0).stdin(stdin());
            let done = run.env("CUTAP_CACHE_DIR", folder.join("cache")).output().unwrap();
            let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                check(&format!("{command} {file}"), done.status.code(), &err(&done));
            }));
            if checked.is_err() {
                failed.lock().unwrap().push(format!("{command} {file}"));
            }
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(work))));
    assert!(failed.lock().unwrap().is_empty(), "{:?}", failed.lock().unwrap());
}

fn one_sentence(what: &str, code: Option<i32>, text: &str) {
    assert!(matches!(code, Some(2 | 125..=127)), "{what}: {code:?} {text}");
    // What cutap says of the machine or the format is a line too.
    let of_machine = ["no NVIDIA driver", "no CUDA driver", "tables of"];
    let sentences = text.lines().filter(|line| !of_machine.iter().any(|words| line.contains(words)));
    assert_eq!(sentences.count(), 1, "{what}: {text}");
    assert!(text.starts_with("cutap: "), "{what}: {text}");
}

#[test]
fn what_is_no_file() {
    let folder = Folder::new("no-file");
    fs::create_dir(folder.join("cache")).unwrap();
    fs::set_permissions(folder.join("cache"), fs::Permissions::from_mode(0o700)).unwrap();
    mkfifo(&folder.join("pipe"));
    fs::create_dir(folder.join("folder")).unwrap();
    symlink("/dev/zero", folder.join("zero")).unwrap();
    symlink("loop", folder.join("loop")).unwrap();
    File::create(folder.join("hole")).unwrap().set_len(1 << 40).unwrap();
    fs::set_permissions(folder.join("hole"), fs::Permissions::from_mode(0o755)).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap();
    let files = ["./pipe", "./zero", "./loop", "./hole", "./socket", "./nothing"];
    each(&folder, &files, Stdio::null, &one_sentence);
    drop(socket);
    // A folder may be a run directory without calls, which is not refused by all.
    each(&folder, &["./folder"], Stdio::null, &|what, code, text| {
        assert!(matches!(code, Some(0..=127)), "{what}: {code:?} {text}");
        assert!(text.lines().count() <= 4, "{what}: {text}");
    });
    assert!(fs::symlink_metadata(folder.join("pipe")).is_ok() && fs::symlink_metadata(folder.join("loop")).is_ok());
}

/// A pipe that always has more.
#[test]
fn a_pipe_without_an_end() {
    let folder = Folder::new("endless");
    fs::create_dir(folder.join("cache")).unwrap();
    fs::set_permissions(folder.join("cache"), fs::Permissions::from_mode(0o700)).unwrap();
    let endless = || {
        let (from, mut to) = std::io::pipe().unwrap();
        // It ends when no process reads any more.
        std::thread::spawn(move || while std::io::Write::write_all(&mut to, &[b'y'; 65536]).is_ok() {});
        Stdio::from(from)
    };
    each(&folder, &["/dev/stdin"], endless, &one_sentence);
}

/// In a run directory.
#[test]
fn pipes_in_an_empty_run_directory() {
    let folder = Folder::new("pipes-in-run");
    let run = folder.join("run");
    fs::create_dir(&run).unwrap();
    for name in ["alive", "armed", "control", "hooks", "sums", "kernel", "filter", "p1-1"] {
        mkfifo(&run.join(name));
    }
    each(&folder, &["./run"], Stdio::null, &|what, code, text| {
        assert!(matches!(code, Some(0..=127)), "{what}: {code:?} {text}");
        assert!(text.lines().count() <= 4, "{what}: {text}");
    });
}
