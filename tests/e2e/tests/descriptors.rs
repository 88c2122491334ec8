//! More rings and processes than there may be open files: every call is in what is read all the same, whoever reads;
//! where nothing can be opened any more, that is said, and the rest stays where it is.

use cutap_e2e::{Finished, cutap, finish, out, scratch, wait_for};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// A shell line under a limit of open files, soft (`-S`) or for good; `$0` is cutap, `$@` what follows.
fn limited(limit: &str, line: &str, words: &[&str]) -> Finished {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit {limit}; {line}")]).arg(cutap()).args(words);
    finish(shell.env("LD_LIBRARY_PATH", out()))
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// How often the program allocated, by a table.
fn allocations(table: &str) -> u64 {
    let row = table.lines().find(|l| l.starts_with("cuMemAlloc_v2 ") || l.starts_with("cuMemAlloc "));
    row.map_or(0, |l| l.split_whitespace().nth(1).unwrap().parse().unwrap())
}

/// The same of a recording, or of a run directory.
fn shown(run: &Path) -> u64 {
    let show = limited("-n 4000", r#"exec "$0" show -c "$1""#, &[text(run)]);
    assert_eq!((show.status.code(), &*show.stderr), (Some(0), ""), "{show:?}");
    allocations(&show.stdout)
}

const PROGRAM: &str = r#"exec "$0" $1 -o "$2" -- "$3" $4"#;

/// A program under cutap, under a limit; what cutap wrote, and how many calls there were.
fn run(limit: &str, words: &str, file: &Path, numbers: &str) -> u64 {
    let done = limited(limit, PROGRAM, &[words, text(file), text(&out().join("many_rings")), numbers]);
    assert_eq!((done.status.code(), &*done.stderr), (Some(0), ""), "{words} {limit}: {done:?}");
    done.stdout.trim().parse().unwrap()
}

#[test]
fn more_threads_than_descriptors() {
    for (limit, numbers) in [("-n 64", "0 300 100"), ("-S -n 40", "0 100 20"), ("-n 256", "0 1200 10")] {
        let folder = scratch("threads");
        for words in ["record", "record --flight-recorder 64K"] {
            let file = folder.join("run.cutap");
            assert_eq!(run(limit, words, &file, numbers), shown(&file), "{words} {limit}");
        }
        for words in ["trace -c", "trace -C"] {
            let file = folder.join("table");
            let made = run(limit, words, &file, numbers);
            assert_eq!(allocations(&fs::read_to_string(&file).unwrap()), made, "{words} {limit}");
        }
    }
}

#[test]
fn more_processes_one_after_the_other_than_descriptors() {
    let folder = scratch("processes");
    let (file, table) = (folder.join("run.cutap"), folder.join("table"));
    for (limit, numbers) in [("-n 64", "120 2 30"), ("-n 12", "20 2 30")] {
        assert_eq!(run(limit, "record", &file, numbers), shown(&file));
        let made = run(limit, "trace -c", &table, numbers);
        assert_eq!(allocations(&fs::read_to_string(&table).unwrap()), made);
    }
}

/// The soft limit of who reads, and of the program, are left unchanged.
#[test]
fn the_program_keeps_its_own_limit() {
    let line = r#"ulimit -S -n 100; exec "$0" record -o "$1" -- sh -c 'ulimit -S -n; ulimit -H -n'"#;
    let folder = scratch("limit");
    let done = limited("-n 200", line, &[text(&folder.join("run.cutap"))]);
    assert_eq!(done.stdout, "100\n200\n", "{done:?}");
}

#[test]
fn a_run_folder_with_more_rings_than_descriptors_is_read() {
    let folder = scratch("left");
    let (left, made) = (folder.join("left"), 60 * 2 * 5);
    let line = r#"eval "$("$0" env -o "$1")"; exec "$2" 60 2 5"#;
    let done = limited("-n 4000", line, &[text(&left), text(&out().join("many_rings"))]);
    assert_eq!(done.stdout.trim(), made.to_string(), "{done:?}");
    // With 4 there is one to open anything with.
    for limit in ["-S -n 64", "-n 64", "-n 16", "-n 4"] {
        for words in ["show -c", "report"] {
            let done = limited(limit, r#"exec "$0" $1 "$2""#, &[words, text(&left)]);
            assert_eq!((done.status.code(), allocations(&done.stdout)), (Some(0), made), "{words} {limit}: {done:?}");
        }
        if limit == "-n 4" {
            continue;
        }
        let file = folder.join("taken.cutap");
        // The parent, which made no call, has a folder from its end on.
        let done = limited(limit, r#"exec "$0" recover "$1" -o "$2""#, &[text(&left), text(&file)]);
        assert!(done.status.success() && done.stderr.contains("of 61 processes and 120 threads"), "{limit}: {done:?}");
        assert_eq!(shown(&file), made, "{limit}");
        fs::remove_file(&file).unwrap();
    }
}

/// The collector's limit is lowered while it runs, so that it can open nothing more.
#[test]
fn what_the_collector_cannot_open_is_said_and_stays() {
    for (words, again) in [("record", "recover"), ("trace", "show -c")] {
        let folder = scratch("short");
        let [run, file, go] = ["run", "out", "go"].map(|name| folder.join(name));
        let program = format!("while [ ! -e {} ]; do sleep 0.02; done; exec \"$0\" 3 2 7", text(&go));
        let mut command = Command::new(cutap());
        command.arg(words).arg("-o").arg(&file).args(["--", "sh", "-c", &program]).arg(out().join("many_rings"));
        command.env("LD_LIBRARY_PATH", out()).env("XDG_RUNTIME_DIR", &*folder).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(fs::File::create(&run).unwrap());
        let front = command.spawn().unwrap();
        let collector = || {
            let all = fs::read_to_string(format!("/proc/{0}/task/{0}/children", front.id())).unwrap_or_default();
            let is = |p: &&str| fs::read_to_string(format!("/proc/{p}/cmdline")).is_ok_and(|c| c.contains("__collect"));
            // Both are there: the program is started when the collector drains.
            (all.split_whitespace().count() == 2).then(|| all.split_whitespace().find(is).map(str::to_owned))?
        };
        wait_for("the collector", LONG, || collector().is_some());
        let limit = ["--nofile=3:3", "--pid", &collector().unwrap()].map(str::to_owned);
        assert!(Command::new("prlimit").args(limit).status().unwrap().success());
        fs::write(&go, "").unwrap();
        let done = front.wait_with_output().unwrap();
        let said = fs::read_to_string(&run).unwrap();
        assert_eq!((done.status.code(), &*done.stdout), (Some(125), &b"42\n"[..]), "{said}");
        assert!(
            said.contains("is not all there is: ") && said.contains("too many files are open (ulimit -n)"),
            "{said}"
        );
        let left = said.split(again.split(' ').next().unwrap()).nth(1).unwrap().split_whitespace().next().unwrap();
        match words {
            "record" => {
                let show = finish(Command::new(cutap()).arg("show").arg(&file));
                let said = show.stderr.contains("does not end in order");
                assert_eq!((show.status.code(), said), (Some(125), true), "{show:?}");
                let taken = finish(Command::new(cutap()).args([again, left, "-o"]).arg(&file));
                assert!(taken.status.success() && taken.stderr.contains("4 processes and 6 threads"), "{taken:?}");
                assert_eq!(shown(&file), 42);
            }
            _ => assert_eq!(shown(Path::new(left)), 42),
        }
    }
}

/// What cannot be started costs nobody his recording.
#[test]
fn a_recording_is_emptied_only_when_the_next_one_begins() {
    let folder = scratch("kept");
    let [file, text_file, new] = ["old.cutap", "old.txt", "new.cutap"].map(|name| folder.join(name));
    assert_eq!(run("-n 1024", "record", &file, "0 2 5"), 10);
    fs::write(&text_file, "a trace\n").unwrap();
    let program = out().join("many_rings");
    for (words, old) in [("record", &file), ("trace", &text_file)] {
        let before = fs::read(old).unwrap();
        for limit in ["-n 5", "-n 6", "-n 7"] {
            for path in [old, &new] {
                let done = limited(limit, PROGRAM, &[words, text(path), text(&program), "0 1 1"]);
                assert_eq!((done.status.code(), &*done.stdout), (Some(125), ""), "{limit}: {done:?}");
                assert!(done.stderr.contains("raise the limit of open files (ulimit -n)"), "{limit}: {done:?}");
            }
            assert!(fs::read(old).unwrap() == before && !new.exists(), "{words} {limit}");
        }
    }
    let before = fs::read(&file).unwrap();
    // A new name space is not allowed everywhere.
    let line = r#"exec unshare -rm sh -c 'umount -l /proc || exit 77; exec "$0" record -o "$1" -- "$2"' "$@""#;
    let done = limited("-n 1024", line, &[text(cutap()), text(&file), text(&program)]);
    if done.status.code() == Some(125) {
        assert!(done.stderr.contains("see that /proc is mounted"), "{done:?}");
    }
    assert!(fs::read(&file).unwrap() == before, "{done:?}");
}

/// Its calls up to then are counted.
#[test]
fn process_folder_created_late() {
    for mode in ["record", "trace"] {
        let folder = scratch("no-folder");
        let file = folder.join("out");
        let mut command = Command::new(cutap());
        command.args([mode, "-o"]).arg(&file).arg("--").arg(out().join("no_folder")).env("LD_LIBRARY_PATH", out());
        let done = finish(&mut command);
        assert_eq!((done.stdout.as_str(), done.status.code()), ("ok\n", Some(0)), "{}", done.stderr);
        let shown = || finish(Command::new(cutap()).arg("show").arg(&file)).everything();
        let text = if mode == "record" { shown() } else { fs::read_to_string(&file).expect("a trace") };
        assert_eq!(text.matches("cuDriverGetVersion(").count(), 150, "{mode}: {text}");
        // A trace says it in its own last lines.
        let said = "1 call not recorded: the thread's ring could not be made\n";
        assert!([done.stderr, text].concat().contains(said), "{mode}");
    }
}

/// Whatever is kept of a call, and whichever way it goes for that.
#[test]
fn a_call_without_a_ring_is_counted_once() {
    let (folder, functions) = (
        scratch("without-ring"),
        [
            "cuDriverGetVersion",
            "cuDeviceGetByPCIBusId",
            "cuModuleLoadData",
            "cuMemcpyHtoDAsync_v2",
            "cuMemcpyBatchAsync_v2",
            "cuLaunchKernel",
            "cuLaunchKernelEx",
            "cuKernelGetName",
            "cuPointerGetAttribute",
        ],
    );
    let file = folder.join("run.cutap");
    let mut command = Command::new(cutap());
    command.args(["record", "--sim", "-o"]).arg(&file).arg("--").arg(out().join("without_ring")).args(functions);
    let done = finish(&mut command);
    let said = format!("cutap: {} calls not recorded: the thread's ring could not be made", done.stdout.trim());
    assert_eq!((done.stderr.lines().last(), done.status.code()), (Some(&*said), Some(0)), "{done:?}");
    let shown = finish(Command::new(cutap()).args(["show", "-c"]).arg(&file)).stdout;
    assert_eq!(shown.lines().nth(1), Some(&*said), "{shown}");
}

/// The pause until its parent's next try is not the child's.
#[test]
fn fork_after_descriptors_return() {
    let folder = scratch("forked-meanwhile");
    let file = folder.join("run.cutap");
    let mut command = Command::new(cutap());
    command.args(["record", "-o"]).arg(&file).arg("--").arg(out().join("forked_meanwhile"));
    let done = finish(command.env("LD_LIBRARY_PATH", out()));
    let said = "cutap: 1000 calls not recorded: the thread's ring could not be made\n";
    assert_eq!((&*done.stdout, &*done.stderr, done.status.code()), ("ok\n", said, Some(0)));
    let shown = finish(Command::new(cutap()).args(["show", "-c"]).arg(&file)).stdout;
    assert!(shown.lines().any(|l| l.starts_with("cuDriverGetVersion ") && l.contains(" 50 ")), "{shown}");
}

#[test]
fn tries_to_make_the_folder_leave_nothing_mapped() {
    let folder = scratch("no-names");
    let mut command = Command::new(cutap());
    command.args(["record", "-o"]).arg(folder.join("run.cutap")).arg("--").arg(out().join("no_names"));
    let done = finish(command.env("LD_LIBRARY_PATH", out()));
    assert_eq!((&*done.stdout, done.status.code()), ("ok\n", Some(0)), "{done:?}");
}

#[test]
fn what_cannot_run_leaves_no_folder_of_a_run() {
    for words in ["record", "trace", "run"] {
        let folder = scratch("nothing-left");
        let line = r#"XDG_RUNTIME_DIR="$1" TMPDIR="$1" exec "$0" $2 -- true"#;
        for limit in 3..12 {
            limited(&format!("-n {limit}"), line, &[text(&folder), words]);
            let left: Vec<_> = fs::read_dir(&*folder).unwrap().flatten().map(|e| e.path()).collect();
            assert!(left.is_empty(), "{words}, {limit} descriptors: {left:?}");
        }
    }
}

/// What cutap opens in the program has no number there: other threads may take it for a file of theirs, and children
/// inherit it.
#[test]
fn numbers_of_descriptors_are_the_programs() {
    let folder = scratch("numbers");
    let (file, table) = (folder.join("run.cutap"), folder.join("table"));
    for (words, to) in [("record", &file), ("trace -C", &table)] {
        let done = limited("-c 0", PROGRAM, &[words, text(to), text(&out().join("reused_numbers"))]);
        assert_eq!((done.status.code(), &*done.stdout), (Some(0), "ok\n"), "{words}: {done:?}");
    }
}
