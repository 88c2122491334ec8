//! Rings that are full: by default nothing is lost, a lossy run counts exactly what it dropped, and a flight recorder
//! what it wrote over. 64 threads call as fast as they can; CUTAP_LARGE=1 makes each run 10 s long.

use cutap_e2e::{Finished, Scratch, counted, cutap, finish, json_lines, out, scratch, wait_for};
use cutap_wire::diagnostic::{CALL_DROPPED_LOSSY, CALL_WAITED};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(100);

/// Calls as they were shown and as they were said to be missing.
#[derive(Debug)]
struct Shown {
    allocations: u64,
    launches: u64,
    dropped: u64,
    waited: u64,
    overwritten: u64,
    end: Value,
}

impl Shown {
    /// What `record` says of them at its end: nothing where there was room for all.
    fn said_of_dropped(&self) -> Vec<String> {
        let said = format!("cutap: {} calls dropped: their thread's ring was full (--lossy)", self.dropped);
        if self.dropped > 0 { vec![said] } else { Vec::new() }
    }
    fn of(run: &Path) -> Shown {
        Shown::while_written(run, 0)
    }
    /// Of rings in which threads were writing: each may be put aside in the middle of a record.
    fn while_written(run: &Path, threads: u64) -> Shown {
        let show = finish(Command::new(cutap()).args(["show", "-c", "--json"]).arg(run));
        assert!(show.status.success() && show.stderr.is_empty(), "{show:?}");
        let lines: Vec<Value> = json_lines(&show.stdout).collect();
        let calls =
            |name: &str| lines.iter().filter(|l| l["name"] == name).map(|l| l["calls"].as_u64().unwrap()).sum::<u64>();
        let end = lines.iter().find(|l| l["type"] == "end").unwrap().clone();
        for never in ["nameless", "chunks_lost", "chunks_taken", "failed"] {
            assert_eq!(end[never], 0, "{never}: {end}");
        }
        assert!(end["records_cut"].as_u64().is_some_and(|n| n <= threads), "{end}");
        let reason = |n: usize| {
            let count = end["counts"].as_array().unwrap().iter().find(|c| c["reason"] == n);
            count.map_or(0, |c| c["count"].as_u64().unwrap())
        };
        Shown {
            allocations: calls("cuMemAlloc_v2"),
            launches: calls("cuLaunchKernel"),
            dropped: reason(CALL_DROPPED_LOSSY),
            waited: reason(CALL_WAITED),
            overwritten: end["overwritten"].as_u64().unwrap(),
            end,
        }
    }
}

fn milliseconds(short: &'static str) -> &'static str {
    if std::env::var_os("CUTAP_LARGE").is_some() { "10000" } else { short }
}

/// The program under `cutap record` with these words; how many calls it made.
fn record(folder: &Scratch, words: &[&str], ms: &str, more: &[&str]) -> (Finished, u64) {
    let mut command = Command::new(cutap());
    command.arg("record").args(words).arg("-o").arg(folder.join("run.cutap")).arg("--").arg(out().join("full_speed"));
    let done = finish(command.args(["64", ms]).args(more).env("LD_LIBRARY_PATH", out()));
    assert_eq!(done.stdout.lines().count(), 64, "{done:?}");
    let made = done.stdout.lines().map(|l| l.parse::<u64>().unwrap()).sum();
    (done, made)
}

#[test]
fn by_default_nothing_is_lost() {
    let folder = scratch("full");
    let (done, made) = record(&folder, &[], milliseconds("200"), &[]);
    assert_eq!((done.status.code(), &*done.stderr), (Some(0), ""));
    let shown = Shown::of(&folder.join("run.cutap"));
    assert_eq!((shown.allocations, shown.launches, shown.dropped, shown.overwritten), (made, 2, 0, 0));
    assert_eq!(shown.end["unfinished"], 0);
}

/// Threads that wait for room when their process ends have not called, and that is said.
#[test]
fn what_waits_when_the_process_ends_is_counted() {
    const THREADS: u64 = 4;
    let mut waited = 0;
    for _ in 0..8 {
        let folder = scratch("short");
        let (numbers, file) = (folder.join("numbers"), folder.join("run.cutap"));
        let mut command = Command::new(cutap());
        command.arg("record").arg("-o").arg(&file).arg("--").arg(out().join("cut_short")).arg(&numbers);
        let done = finish(command.env("LD_LIBRARY_PATH", out()));
        assert_eq!((done.status.code(), &*done.stdout), (Some(0), "ok\n"), "{done:?}");
        let begun = fs::read(&numbers).unwrap();
        let begun: u64 = begun.as_chunks::<8>().0.iter().map(|n| u64::from_le_bytes(*n)).sum();
        let shown = Shown::while_written(&file, THREADS);
        // A thread may be about to call, or have just begun to wait.
        let rest = begun - shown.allocations - shown.waited;
        assert!(rest <= THREADS && shown.waited <= THREADS && shown.allocations > 100_000, "{begun} {shown:?}");
        waited += shown.waited;
        if rest == 0 && waited > 0 {
            return;
        }
    }
    panic!("never were all calls there or said to have waited; waited: {waited}");
}

#[test]
fn a_lossy_recording_counts_what_it_dropped() {
    let folder = scratch("lossy");
    let (done, made) = record(&folder, &["--lossy"], milliseconds("200"), &[]);
    let shown = Shown::of(&folder.join("run.cutap"));
    assert_eq!(
        (done.status.code(), done.stderr.lines().map(str::to_owned).collect()),
        (Some(0), shown.said_of_dropped())
    );
    assert_eq!(shown.allocations + shown.dropped, made, "{shown:?}");
    assert_eq!((shown.launches, &shown.end["unfinished"]), (2, &0.into()));
}

/// With nobody to drain, some are dropped for sure, and the last one, which fits nowhere, among them.
#[test]
fn a_lossy_run_without_a_collector() {
    let folder = scratch("lossy-env");
    let run = folder.join("run");
    let line = "eval $(\"$0\" env --lossy -o \"$1\"); exec \"$2\" 4 \"$3\"";
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).arg(cutap()).arg(&run).arg(out().join("full_speed")).arg("1500");
    let done = finish(shell.env("LD_LIBRARY_PATH", out()));
    let made: u64 = done.stdout.lines().map(|l| l.parse::<u64>().unwrap()).sum();
    let shown = Shown::of(&run);
    assert_eq!(shown.allocations + shown.dropped, made, "{shown:?}");
    assert!(shown.dropped > 0 && shown.allocations > 4 * 50_000, "{shown:?}");
    assert_eq!((shown.launches, &shown.end["unfinished"]), (2, &0.into()));
}

/// The end of the note on calls that a flight recorder did not keep although later ones depend on them.
const NO_ROOM_FOR_STATE: &str = "calls that later calls depend on not kept by the flight recorder: no room";

#[test]
fn a_flight_recorder_keeps_the_newest() {
    for crash in [false, true] {
        let folder = scratch("flight");
        let none = folder.join("none");
        let more = [none.to_str().unwrap(), "crash"];
        let (done, made) =
            record(&folder, &["--flight-recorder", "256K"], milliseconds("500"), if crash { &more } else { &[] });
        // A million allocations without a free are more than it keeps for later calls.
        let is_other = |line: &&str| !line.ends_with(NO_ROOM_FOR_STATE);
        assert_eq!(done.stderr.lines().find(is_other), None);
        assert_eq!((done.status.code(), done.stderr.lines().count()), (if crash { None } else { Some(0) }, 1));
        let shown = Shown::of(&folder.join("run.cutap"));
        assert_eq!(shown.allocations + shown.overwritten, made, "{shown:?}");
        assert!(shown.overwritten > made / 2 && shown.allocations > 64 * 200, "{shown:?}");
        // The main thread made few calls, and kept them; its last launch has the name that was told first.
        assert_eq!(shown.launches, 2);
    }
}

#[test]
fn a_flight_recorder_is_written_out_while_it_flies() {
    let folder = scratch("dump");
    let (file, dump, ready) = (folder.join("run.cutap"), folder.join("dump.cutap"), folder.join("ready"));
    let mut command = Command::new(cutap());
    command.args(["record", "--flight-recorder", "256K", "-o"]).arg(&file).arg("--").arg(out().join("full_speed"));
    command.args(["8", "90000"]).arg(&ready).env("LD_LIBRARY_PATH", out()).stdin(Stdio::null());
    let front = command.stdout(fs::File::create(folder.join("stdout")).unwrap()).spawn().unwrap();
    wait_for("all threads have called", LONG, || ready.exists());
    let ctl = |pid: String, file: &Path| finish(Command::new(cutap()).args(["ctl", &pid, "dump", "-o"]).arg(file));
    let program = program_of(front.id());
    for _ in 0..3 {
        let done = ctl(program.clone(), &dump);
        assert!(done.status.success() && done.stderr.is_empty(), "{done:?}");
        let shown = Shown::while_written(&dump, 8);
        // Each thread's last 256 KiB, less a chunk.
        assert!(shown.allocations > 8 * 500 && shown.overwritten > 0, "{shown:?}");
        // Threads wait for the dump itself, and nothing has ended.
        assert_eq!(shown.waited, 0, "{shown:?}");
        let again = ctl(program.clone(), &dump);
        assert!(again.stderr.contains("give a new file") && again.status.code() == Some(125), "{again:?}");
        fs::remove_file(&dump).unwrap();
    }
    let front_itself = ctl(front.id().to_string(), &dump);
    assert!(front_itself.stderr.contains("give the number of the program"), "{front_itself:?}");
    fs::write(folder.join("ready.stop"), "").unwrap();
    let mut front = front;
    assert_eq!(front.wait().unwrap().code(), Some(0));
    let made: u64 = fs::read_to_string(folder.join("stdout")).unwrap().lines().map(|l| l.parse::<u64>().unwrap()).sum();
    let shown = Shown::of(&file);
    assert_eq!(shown.allocations + shown.overwritten, made, "{shown:?}");
    let gone = ctl(program, &dump);
    assert!(gone.stderr.contains("there is no process"), "{gone:?}");
}

/// Whichever signal ends the program: no handler of ours runs in it, for the rings outlive it.
#[test]
fn flight_recorder_on_fatal_signal() {
    for (name, number) in [("TERM", 15), ("KILL", 9), ("SEGV", 11), ("USR1", 10)] {
        let folder = scratch("signal");
        let (file, counts) = (folder.join("run.cutap"), folder.join("counts"));
        let mut command = Command::new(cutap());
        command.args(["record", "--flight-recorder", "64K", "-o"]).arg(&file).arg("--").arg(out().join("steady"));
        command.env("LD_LIBRARY_PATH", out()).env("FIXTURE_COUNTS", &counts).stdin(Stdio::null());
        let mut front = command.stdout(Stdio::null()).spawn().unwrap();
        let made = || counted(&counts).get("libcuda.so.1:cuMemAlloc_v2").copied().unwrap_or(0);
        wait_for("many calls", LONG, || made() > 12_000);
        assert_eq!(fs::metadata(&file).unwrap().len(), 24, "nothing but the head is written before the end");
        let program = program_of(front.id());
        assert!(Command::new("sh").args(["-c", "kill -s \"$0\" \"$1\"", name, &program]).status().unwrap().success());
        assert_eq!(front.wait().unwrap().signal(), Some(number));
        let shown = Shown::while_written(&file, 2);
        // Each of the two threads may have begun a call that did not reach the driver.
        let all = shown.allocations + shown.overwritten;
        assert!((made()..=made() + 2).contains(&all), "{name}: {} of {shown:?}", made());
        assert!(shown.overwritten > 0 && shown.allocations > 2000, "{name}: {shown:?}");
    }
}

/// The program that this front runs.
fn program_of(front: u32) -> String {
    let collects = |pid: &String| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|words| words.windows(9).any(|w| w == b"__collect"))
    };
    children_of(front).into_iter().find(|pid| !collects(pid)).expect("the program is a child of the front")
}

fn children_of(pid: u32) -> Vec<String> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    children.split_whitespace().map(str::to_owned).collect()
}

/// Stacks make rings full sooner, and change nothing of what is counted.
#[test]
fn with_stacks() {
    for full in [&["--lossy"][..], &["--flight-recorder", "64K"]] {
        let folder = scratch("stacked");
        let words = [full, &["--stack", "--stack-size", "512"]].concat();
        let (done, made) = record(&folder, &words, "30", &[]);
        let file = folder.join("run.cutap");
        let shown = Shown::of(&file);
        let said = done.stderr.lines().filter(|l| !l.contains(" stacks not kept, or only in part: "));
        let said = said.filter(|l| !l.ends_with(NO_ROOM_FOR_STATE)).map(str::to_owned);
        assert_eq!((done.status.code(), said.collect()), (Some(0), shown.said_of_dropped()), "{full:?}");
        assert!(!done.stderr.contains("no room in the run directory"), "{full:?}: {}", done.stderr);
        assert_eq!(shown.allocations + shown.dropped + shown.overwritten, made, "{full:?} {shown:?}");
        if full.len() > 1 {
            let text = finish(Command::new(cutap()).arg("show").arg(&file)).stdout;
            let frames = text.lines().filter(|l| l.contains("    at ") && l.contains("full_speed")).count() as u64;
            assert!(shown.overwritten > 0 && frames >= shown.allocations, "{frames} frames of {shown:?}");
        }
    }
}

/// Of processes that have ended the last ones are kept, and the calls of the others are counted.
#[test]
fn a_flight_recorder_of_many_processes_has_a_bound() {
    let folder = scratch("many");
    let (file, run) = (folder.join("run.cutap"), folder.join("run"));
    let of = |size: &str, words: &[&str]| {
        let mut command = Command::new(cutap());
        command.args(["record", "--flight-recorder", size, "-o"]).arg(&file).arg("--run-dir").arg(&run);
        command.arg("--").arg(out().join("children")).args(["60", "2000"]).args(words).env("LD_LIBRARY_PATH", out());
        let done = finish(&mut command);
        assert_eq!((done.status.code(), &*done.stdout, &*done.stderr), (Some(0), "ok\n", ""));
        let processes = fs::read_dir(&run).unwrap().flatten().map(|e| e.path());
        let processes: Vec<_> = processes.filter(|p| p.is_dir()).collect();
        let files = processes.iter().flat_map(|p| fs::read_dir(p).unwrap().flatten());
        let bytes: u64 = files.map(|f| f.metadata().unwrap().blocks() * 512).sum();
        fs::remove_dir_all(&run).unwrap();
        let shown = Shown::of(&file);
        fs::remove_file(&file).unwrap();
        assert_eq!(shown.allocations + shown.overwritten, 60 * 2000, "{shown:?}");
        (processes.len(), bytes)
    };
    let (all, _) = of("64K,1G", &[]);
    assert_eq!(all, 61);
    // Also of those that ended just before the program did.
    for words in [&[][..], &["now"]] {
        let (kept, bytes) = of("64K,1M", words);
        // The program's own folder, and its last children's.
        assert!((3..20).contains(&kept) && bytes < 1500 << 10, "{words:?}: {kept} processes, {bytes} bytes");
    }
}

/// A run that waits for its beginning to the end says so, whoever reads it.
#[test]
fn a_range_that_never_begins_is_said() {
    let folder = scratch("range");
    let [file, left] = ["run.cutap", "left"].map(|name| folder.join(name));
    let under = |words: &[&str]| {
        let mut command = Command::new(cutap());
        command.args(words).args(["--capture-range=cudaProfilerApi", "--run-dir"]).arg(&left);
        let done = finish(command.arg("--").arg(out().join("slow")).env("LD_LIBRARY_PATH", out()));
        assert_eq!(done.status.code(), Some(0), "{done:?}");
        done.stderr
    };
    let said = |text: &str| text.matches("cutap: nothing was recorded: no call was made in the capture range").count();
    let recorded = under(&["record", "-o", file.to_str().unwrap()]);
    assert_eq!(said(&recorded), 1, "{recorded}");
    for words in [&["show"][..], &["show", "-c"], &["report"]] {
        let shown = finish(Command::new(cutap()).args(words).arg(&file)).everything();
        assert_eq!(said(&shown), 1, "{words:?}: {shown}");
    }
    for words in [&["trace"][..], &["trace", "-c"], &["trace", "-C"]] {
        fs::remove_dir_all(&left).unwrap();
        let traced = under(words);
        assert_eq!(said(&traced), 1, "{words:?}: {traced}");
    }
}
