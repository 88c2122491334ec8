//! Collectors and fronts that are killed or stopped: the program does not notice, another collector continues, and each
//! call is shown once.

use cutap_e2e::{
    Finished, blocks, calls_in, counted, cutap, finish, normal_form, out, scratch, shown, summary, wait_for,
};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};

#[path = "killed/exported.rs"]
mod exported;
#[path = "killed/live.rs"]
mod live;
#[path = "killed/pipe.rs"]
mod pipe;
#[path = "killed/run.rs"]
mod run;
#[path = "killed/stopped.rs"]
mod stopped;

use run::{LONG, Run, show, signal};

#[test]
fn another_collector_goes_on_with_a_recording() {
    for how in ["KILL", "STOP"] {
        let mut run = Run::start(&["record"]);
        signal(how, &[run.collector(20_000)]);
        run.ends();
        let (said, text) = (run.said(), show(&run.file()));
        assert_eq!(said.matches("another goes on, and nothing is lost").count(), 1, "{how}: {said}");
        assert_eq!(said.lines().count(), 1, "{how}: {said}");
        assert!(!text.contains("in order") && !text.contains("not here"), "{how}: {text}");
        assert_eq!(shown(&run.file()), run.real(), "{how}");
    }
}

#[test]
fn collectors_are_killed_again_and_again() {
    let mut run = Run::start(&["record"]);
    for n in 1..=3 {
        signal("KILL", &[run.collector(20_000 * n)]);
        wait_for("another", LONG, || run.said().lines().count() as u64 == n);
    }
    run.ends();
    assert_eq!(shown(&run.file()), run.real());
}

#[test]
fn another_collector_goes_on_with_a_trace() {
    for how in ["KILL", "STOP"] {
        let mut run = Run::start(&["trace"]);
        signal(how, &[run.collector(100_000)]);
        run.ends();
        assert_eq!(run.said().matches("another goes on").count(), 1, "{how}: {}", run.said());
        let text = fs::read_to_string(run.file()).unwrap();
        assert_eq!(text.matches("cutap: from here on each line has its own PID/TID\n").count(), 1, "{how}");
        assert_eq!(calls_in(&normal_form(&text)), run.real(), "{how}");
    }
}

/// The last of them says where the rest is, and that it is not only the rest.
#[test]
fn collectors_of_a_trace_are_killed_until_none_is_left() {
    let mut run = Run::start(&["trace"]);
    for n in 1..=5 {
        signal("KILL", &[run.collector(2_000 * n)]);
        wait_for("another", LONG, || run.said().lines().count() as u64 == n);
    }
    signal("KILL", &[run.collector(0)]);
    assert_eq!(run.front.wait().unwrap().code(), Some(125), "{}", run.said());
    let last = run.said().lines().last().unwrap_or_default().to_owned();
    assert!(last.contains("what it did not print stays in "), "{}", run.said());
    assert!(last.ends_with(", which may print again what was printed before)"), "{}", run.said());
}

/// Also where it is killed before it has recorded how far it was.
#[test]
fn a_trace_begins_anew_for_a_collector_that_was_killed_at_once() {
    for _ in 0..3 {
        let mut run = Run::start(&["trace"]);
        signal("KILL", &[run.collector(0)]);
        run.ends();
        assert_eq!(run.said().matches("another goes on").count(), 1, "{}", run.said());
        assert_eq!(calls_in(&normal_form(&fs::read_to_string(run.file()).unwrap())), run.real());
    }
}

/// A trace on standard error stands between the program's own words, and takes none of them away.
#[test]
fn the_programs_words_stay() {
    let folder = scratch("words");
    let said = folder.join("said");
    let script = "\"$0\" & for n in $(seq 150); do echo \"mine $n.\" >&2; sleep 0.01; done; wait";
    let mut command = Command::new(cutap());
    command.args(["trace", "-e", "cuInit", "--run-dir"]).arg(folder.join("run")).args(["--", "sh", "-c", script]);
    command.arg(out().join("steady")).env("LD_LIBRARY_PATH", out()).stdout(Stdio::null());
    let front = command.stderr(fs::File::create(&said).unwrap()).spawn().unwrap();
    let text = || fs::read_to_string(&said).unwrap();
    wait_for("a few words", LONG, || text().contains("mine 30."));
    let mut run = Run { folder, front };
    signal("KILL", &[run.collector_now()]);
    assert_eq!(run.front.wait().unwrap().code(), Some(0));
    let text = text();
    assert_eq!(text.matches("another goes on").count(), 1, "{text}");
    let gone: Vec<u32> = (1..=150).filter(|n| !text.contains(&format!("mine {n}.\n"))).collect();
    assert_eq!(gone, [0; 0], "{text}");
}

/// What was added up before is kept: by a collector in its place, and the one in the place of that.
#[test]
fn sums_and_counts_go_on() {
    for flag in ["-c", "-C"] {
        let mut run = Run::start(&["trace", flag, "--json"]);
        for n in 1..=2 {
            wait_for("calls", LONG, || run.real().values().sum::<u64>() > 15_000 * n);
            signal("KILL", &[run.collector_now()]);
            wait_for("another", LONG, || run.said().lines().count() as u64 == n);
        }
        run.ends();
        assert!(!run.said().contains("lost"), "{flag}: {}", run.said());
        let lines = fs::read_to_string(run.file()).unwrap().replace("\"count\"", "\"summary\"");
        assert_eq!(summary(&lines), run.real(), "{flag}");
    }
}

#[test]
fn a_run_has_one_collector() {
    let mut run = Run::start(&["record"]);
    run.collector(20_000);
    // As the first one was started.
    let words = fs::read(format!("/proc/{}/cmdline", run.collector_now())).unwrap();
    let words: Vec<_> = words.split(|b| *b == 0).skip(1).filter(|w| !w.is_empty()).map(OsStr::from_bytes).collect();
    let second = finish(Command::new(cutap()).args(words));
    assert!(second.stderr.contains("another collector drains"), "{}", second.stderr);
    assert_eq!(second.status.code(), Some(125));
    run.ends();
    assert_eq!(shown(&run.file()), run.real());
}

/// The file is removed, cut or moved while it is written: what is said at the end is true, and is said once.
#[test]
fn the_file_is_removed_or_cut() {
    type Does = fn(&Path);
    let gone: Does = |file| fs::remove_file(file).unwrap();
    let cut: Does = |file| fs::File::options().write(true).open(file).unwrap().set_len(0).unwrap();
    let shorter: Does = |file| fs::File::options().write(true).open(file).unwrap().set_len(15_000).unwrap();
    let moved: Does =
        |file| fs::rename(file, file.with_extension("moved")).and_then(|()| fs::write(file, "mine")).unwrap();
    let cases = [
        ("record", gone, "out was removed while it was written, and what stood in it is gone", 125),
        ("record", cut, "out was cut by somebody else while it was written, and what stood in it is gone", 125),
        ("record", shorter, "out was changed by somebody else while it was written, and is damaged", 125),
        ("record", moved, "out is not the recording any more: that was moved, is whole", 0),
        ("trace", gone, "out was removed while it was written, and what stood in it is gone", 125),
    ];
    let mut runs = Vec::new();
    for (command, does, says, code) in cases {
        let run = Run::start(&[command]);
        run.collector(20_000);
        does(&run.file());
        runs.push((run, says, code));
    }
    for (mut run, says, code) in runs {
        let ended = run.front.wait().unwrap().code();
        let said = run.said();
        assert_eq!((ended, said.lines().count()), (Some(code), 1), "{says}: {said}");
        assert!(said.contains(says), "{says}: {said}");
        assert_eq!(fs::read_to_string(run.folder.join("stdout")).unwrap(), "ok\n");
        if code == 0 {
            assert_eq!(shown(&run.folder.join("out.moved")), run.real());
        }
    }
}

fn pack(file: &Path) -> Finished {
    finish(Command::new(cutap()).arg("pack").arg(file))
}

/// The front dies with its collector: what the run directory holds is taken in, and no call is there twice.
#[test]
fn both_killed_and_recovered() {
    let mut killed = Run::start(&["record"]);
    // The front first: it would start another collector.
    let pids = [killed.front.id().to_string(), killed.collector(20_000)];
    signal("KILL", &pids);
    killed.front.wait().unwrap();
    let (file, run) = (killed.file(), killed.folder.join("run"));
    assert!(show(&file).contains("does not end in order"));
    wait_for("the program's end", LONG, || killed.folder.join("counts.over").exists());
    let left = fs::read(&file).unwrap();
    for said in
        [" of calls of 1 process and 3 threads were added to", "nothing was missing in", "nothing was missing in"]
    {
        let recovered = finish(Command::new(cutap()).arg("recover").arg(&run).arg("-o").arg(&file));
        assert!(recovered.status.success(), "{}", recovered.stderr);
        assert!(recovered.stderr.contains(said), "{recovered:?}");
    }
    let text = show(&file);
    assert!(!text.contains("in order"), "{text}");
    assert_eq!(calls_in(&normal_form(&text)), killed.real());
    let new = killed.folder.join("new.cutap");
    let again = || finish(Command::new(cutap()).arg("recover").arg(&run).arg("-o").arg(&new));
    let done = again();
    // A new file lacks what the collector had read for its own, and that is whole.
    let lacks = " of its calls had been read by a collector for its own output, which alone has ";
    let state = |file: &Path| {
        let read = finish(Command::new(cutap()).args(["show", "--json"]).arg(file));
        let end: serde_json::Value = serde_json::from_str(read.stdout.lines().last().unwrap()).unwrap();
        (read.status.code(), read.stderr.contains(lacks), end["recording"]["state"].as_str().unwrap().to_owned())
    };
    assert_eq!((done.status.code(), done.stderr.contains(lacks)), (Some(125), true), "{done:?}");
    assert_eq!(state(&new), (Some(125), true, "incomplete".to_owned()));
    assert_eq!(state(&file), (Some(0), false, "ended".to_owned()));
    // Not where the collector was killed, but where calls stand that the rings have no more.
    fs::write(&new, &left[..left.len() / 2]).unwrap();
    let done = again();
    assert_eq!((done.status.code(), done.stderr.lines().count()), (Some(125), 2), "{done:?}");
    assert!(done.stderr.contains("new.cutap is not all there was: it was cut off at byte "), "{done:?}");
    assert!(done.stderr.contains("not in the run directory any more"), "{done:?}");
    // Files of the run directory that are damaged.
    let process = fs::read_dir(&run).unwrap().flatten().map(|e| e.path()).find(|p| p.is_dir()).unwrap();
    let head = |name: &str| fs::write(process.join(name), [9; 4096]).unwrap();
    let damages: [(&dyn Fn(), &str); 4] = [
        (
            &|| fs::File::options().write(true).open(process.join("t1.ring")).unwrap().set_len(70_000).unwrap(),
            "t1.ring (it is cut off at byte 70000)",
        ),
        (&|| head("t0.ring"), "t0.ring (its head is damaged)"),
        (&|| fs::remove_file(process.join("t2.ring")).unwrap(), "t2.ring (it is not there or cannot be opened)"),
        (&|| head("process"), "process (it is damaged or not there"),
    ];
    for (damage, says) in damages {
        damage();
        fs::remove_file(&new).unwrap();
        let done = again();
        assert_eq!((done.status.code(), done.stderr.lines().count()), (Some(125), 2), "{done:?}");
        assert!(done.stderr.contains("what could not be read in ") && done.stderr.contains(says), "{says}: {done:?}");
    }
}

/// The collector stays until the last process of the run has ended, cutap itself does not; and where the collector is
/// killed too, what the daemon continues to call is in its folder.
#[test]
fn a_daemon_that_outlives_its_parent_and_the_collector() {
    for (program, alone) in [("daemon", false), ("daemon_late", false), ("daemon", true), ("daemon_late", true)] {
        let mut run = Run::of(program, &["record"]);
        run.ends();
        assert!(!run.folder.join("counts.over").exists(), "cutap waited for {program}");
        let (said, file) = (run.said(), run.file());
        assert!(said.contains(&format!("({program}) still runs; its calls are added")), "{said}");
        if alone {
            let collector = said.rsplit_once("(by process ").expect(&said).1.trim_end_matches([')', '\n']);
            signal("KILL", &[collector.to_owned()]);
        } else {
            assert!(show(&file).contains("is being written"), "{program}");
            let refused = pack(&file);
            assert_eq!((refused.status.code(), refused.stderr.lines().count()), (Some(125), 1), "{refused:?}");
            assert!(refused.stderr.contains("a collector is at work on it"), "{refused:?}");
        }
        fs::write(run.folder.join("go"), "").unwrap();
        wait_for("the daemon's end", LONG, || run.folder.join("counts.over").exists());
        if alone {
            let done = finish(Command::new(cutap()).arg("recover").arg(run.folder.join("run")).arg("-o").arg(&file));
            assert!(done.status.success(), "{done:?}");
        }
        wait_for("the recording's end", LONG, || over(&file));
        assert_eq!(shown(&file), run.real(), "{program}");
        wait_for("the collector's end", LONG, || pack(&file).status.success());
        assert_eq!(shown(&file), run.real(), "{program}");
    }
}

/// A recording to which nobody adds any more.
fn over(file: &Path) -> bool {
    let shown = show(file);
    // Not even of one whose end was written while it was read.
    assert!(!shown.contains("in order"), "{shown}");
    !shown.contains("is being written")
}

/// The collector stays for one that becomes other programs meanwhile: in the middle of an exec nothing tells whose the
/// process is.
#[test]
fn a_daemon_that_execs_again_and_again() {
    let mut run = Run::of("exec_daemon", &["record"]);
    run.ends();
    wait_for("the daemon's end", LONG, || run.folder.join("counts.over").exists());
    wait_for("the recording's end", LONG, || over(&run.file()));
    assert_eq!(show(&run.file()).matches("cuInit(").count(), 151);
}

#[test]
fn recover_refuses_what_it_would_spoil() {
    let mut run = Run::start(&["record"]);
    run.collector(20_000);
    let (folder, file) = (run.folder.join("run"), run.file());
    let recover = |from: &Path, to: &Path| {
        let done = finish(Command::new(cutap()).arg("recover").arg(from).arg("-o").arg(to));
        assert_eq!((done.status.code(), done.stderr.lines().count()), (Some(125), 1), "{done:?}");
        done.stderr
    };
    let new = run.folder.join("new.cutap");
    for to in [&file, &new] {
        assert!(recover(&folder, to).contains("a collector is at work in"));
    }
    let refused = pack(&file);
    assert_eq!(refused.status.code(), Some(125), "{refused:?}");
    assert!(refused.stderr.contains("a collector is at work on it"), "{refused:?}");
    run.ends();
    assert_eq!(shown(&file), run.real());
    assert!(!new.exists());
    assert!(recover(&file, &new).contains("is a file; give the run directory"));
    assert!(recover(&run.folder.join("none"), &new).contains("no such file"));
    let empty = run.folder.join("empty");
    fs::create_dir(&empty).unwrap();
    let said = recover(&empty, &new);
    assert!(said.contains("is not a run directory"), "{said}");
    assert!(!new.exists());
    // What is there is no recording, a newer one, or a damaged one: it is left unchanged.
    let good = fs::read(&file).unwrap();
    let mut newer = good.clone();
    newer[8] = 77;
    let mut damaged = good.clone();
    damaged[24 + 40 * 4] ^= 0xff;
    damaged[30] ^= 0xff;
    let mut all =
        vec![(b"something else".to_vec(), "no recording"), (newer, "no recording"), (damaged, "is damaged at byte")];
    // Heads that are good, and what is behind them is not: the name of a process, its names, its calls.
    for kind in [2, 4, 6] {
        let (_, body) = blocks(&good).into_iter().find(|(at, _)| good[at + 4] == kind).unwrap();
        let mut damaged = good.clone();
        damaged[body] ^= 1;
        all.push((damaged, "is damaged, and what it held is not known"));
    }
    for (bytes, why) in all {
        fs::write(&new, &bytes).unwrap();
        let said = recover(&folder, &new);
        assert!(said.contains(why), "{said}");
        assert!(fs::read(&new).unwrap() == bytes, "{why}: it was changed");
    }
}

/// A run without a collector may be taken in while it continues, and again.
#[test]
fn a_live_run_is_taken_in_twice() {
    let folder = scratch("live");
    let (run, file) = (folder.join("run"), folder.join("run.cutap"));
    let line = "eval $(\"$0\" env -o \"$1\"); exec \"$2\"";
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).arg(cutap()).arg(&run).arg(out().join("steady")).env("LD_LIBRARY_PATH", out());
    shell.env("FIXTURE_COUNTS", folder.join("counts")).stdin(Stdio::null()).stdout(Stdio::null());
    let mut program = shell.spawn().unwrap();
    let mut seen = 0;
    let mut take_in = || {
        let recover = finish(Command::new(cutap()).arg("recover").arg(&run).arg("-o").arg(&file));
        assert!(recover.status.success(), "{recover:?}");
        let now: u64 = shown(&file).values().sum();
        assert!(now >= seen, "{now} after {seen}");
        seen = now;
        now
    };
    wait_for("some calls", LONG, || run.join("control").exists() && fs::read_dir(&run).unwrap().count() > 1);
    wait_for("more calls", LONG, || take_in() > 1000);
    assert!(program.wait().unwrap().success());
    take_in();
    assert_eq!(shown(&file), counted(&folder.join("counts")));
}

/// The kernel marks the end of a child that libc knows nothing of, as it does that of any other: in a trace that goes
/// on, and in what is left when all were killed.
#[test]
fn children_by_raw_clones_have_ended() {
    let mut run = Run::of("clones", &["trace"]);
    let stdout = run.folder.join("stdout");
    wait_for("the children", LONG, || fs::read_to_string(&stdout).is_ok_and(|text| text.ends_with('\n')));
    let pids = fs::read_to_string(stdout).unwrap();
    let pids: Vec<&str> = pids.split_whitespace().collect();
    let running = || {
        let text = show(&run.folder.join("run"));
        pids.iter().map(|pid| text.contains(&format!("process {pid} ("))).collect::<Vec<_>>()
    };
    assert_eq!(running(), [true, false, false, true]);
    signal("KILL", &[run.collector_now(), run.front.id().to_string(), pids[0].to_owned()]);
    run.front.wait().unwrap();
    let last = format!("/proc/{}/stat", pids[3]);
    wait_for("the end of the last", LONG, || fs::read_to_string(&last).map_or(true, |stat| stat.contains(") Z ")));
    assert_eq!(running(), [false; 4]);
}
