//! No room: in the file of the recording, in the run directory, by a limit, or because somebody removed the folder. The
//! program continues, one message says so, and what is missing is counted call by call.

use cutap_e2e::{Finished, Scratch, cutap, finish, json_lines, out, scratch, wait_for};
use cutap_wire::diagnostic::{CALL_DROPPED, NO_RING, NOT_WRITTEN};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A small file system of its own, and the folder that it is mounted on.
struct Small(Scratch);

impl Small {
    /// `None`, and why, where this user may not mount one.
    fn new(size: &str) -> Option<Small> {
        let folder = scratch("small");
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size},mode=700"), "tmpfs"])
            .arg(&*folder)
            .output();
        if mount.is_ok_and(|done| done.status.success()) {
            return Some(Small(folder));
        }
        println!("skipped: no small file system to fill: this user may not mount one");
        None
    }

    /// A btrfs with a separate quota, which holds for root too; the folder `limited` is what it limits.
    fn with_quota(size: &str) -> Option<Small> {
        let folder = scratch("quota");
        // This shell stays in the folder that the file system is mounted over.
        let script = "set -e; truncate -s 120M image; mkfs.btrfs -q image; mount -o loop image \"$PWD\"; rm image; cd \"$PWD\"; \
                      btrfs quota enable .; btrfs subvolume create limited; btrfs qgroup limit \"$0\" limited";
        let done = Command::new("sh").args(["-c", script, size]).current_dir(&*folder).output().unwrap();
        let small = Small(folder);
        if done.status.success() {
            return Some(small);
        }
        println!("skipped: a quota that is used up: no btrfs here: {}", String::from_utf8_lossy(&done.stderr));
        None
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&*self.0).status();
    }
}

/// Calls that are shown of a function, and what was counted for a reason.
struct Shown(Vec<Value>);

impl Shown {
    fn of(run: &Path) -> Shown {
        Shown::with(run, 0)
    }
    /// What is shown by a `cutap` that exits with this code.
    fn with(run: &Path, code: i32) -> Shown {
        let show = finish(Command::new(cutap()).args(["show", "-c", "--json"]).arg(run));
        assert_eq!(show.status.code(), Some(code), "{show:?}");
        Shown(json_lines(&show.stdout).collect())
    }
    /// All calls: those of the threads, and the four of the main thread.
    fn calls(&self) -> u64 {
        self.0.iter().filter(|l| l["type"] == "summary").map(|l| l["calls"].as_u64().unwrap()).sum()
    }
    fn counted(&self, reasons: &[usize]) -> u64 {
        let end = self.0.iter().find(|l| l["type"] == "end").unwrap();
        let counts = end["counts"].as_array().unwrap().iter();
        counts.filter(|c| reasons.iter().any(|r| c["reason"] == *r)).map(|c| c["count"].as_u64().unwrap()).sum()
    }
}

/// Number of calls that a last line of `record` says were not recorded.
fn not_recorded(line: &str) -> Option<u64> {
    line.strip_prefix("cutap: ")?.split_once(" calls not recorded: ")?.0.parse().ok()
}

fn record(run: &Path, file: &Path, limit: &str, words: &[&str]) -> Finished {
    let script = "ulimit -f \"$0\"; exec \"$@\"";
    let mut shell = Command::new("bash");
    shell.args(["-c", script, limit]).arg(cutap()).args(["record", "--run-dir"]).arg(run).arg("-o").arg(file).arg("--");
    shell.arg(out().join(words[0])).args(&words[1..]).env("LD_LIBRARY_PATH", out());
    finish(&mut shell)
}

/// With room, what the rings held is added; what was called after that is a number.
fn all_there_or_counted(run: &Path, file: &Path, made: u64) {
    let cut = Shown::with(file, 125).calls();
    assert!(cut > 0 && cut < made, "{cut}");
    let roomy = scratch("roomy");
    let copy: PathBuf = roomy.join("run.cutap");
    fs::copy(file, &copy).unwrap();
    let recover = finish(Command::new(cutap()).arg("recover").arg(run).arg("-o").arg(&copy));
    assert!(recover.status.success(), "{recover:?}");
    let shown = Shown::of(&copy);
    let missing = shown.counted(&[NOT_WRITTEN, CALL_DROPPED, NO_RING]);
    assert!(missing > 0 && shown.calls() > cut, "{missing}");
    assert_eq!(shown.calls() + missing, made);
}

/// Calls that the program says it made, and four of its main thread.
fn sum(stdout: &str) -> u64 {
    4 + stdout.lines().map(|l| l.parse::<u64>().unwrap()).sum::<u64>()
}

#[test]
fn the_files_disk_is_full() {
    let Some(small) = Small::new("256k") else { return };
    let folder = scratch("full-disk");
    let (run, file) = (folder.join("run"), small.0.join("run.cutap"));
    let done = record(&run, &file, "unlimited", &["full_speed", "4", "1500"]);
    assert_eq!(done.stderr.matches("cannot write the recording: the disk is full").count(), 1, "{}", done.stderr);
    assert_eq!((done.stderr.lines().count(), done.status.code()), (1, Some(125)), "{}", done.stderr);
    all_there_or_counted(&run, &file, sum(&done.stdout));
}

#[test]
fn a_file_size_limit() {
    let folder = scratch("limit");
    // Before the limit: a build that was never run must unpack its libraries.
    finish(Command::new(cutap()).args(["env", "-o"]).arg(folder.join("unpacked")));
    let (run, file) = (folder.join("run"), folder.join("run.cutap"));
    let done = record(&run, &file, "300", &["full_speed", "4", "1500"]);
    assert_eq!(done.stderr.matches("the file size limit is reached (ulimit -f)").count(), 1, "{}", done.stderr);
    assert_eq!((done.stderr.lines().count(), done.status.code()), (1, Some(125)), "{}", done.stderr);
    all_there_or_counted(&run, &file, sum(&done.stdout));
}

#[test]
fn a_quota_is_used_up() {
    let Some(disk) = Small::with_quota("1M") else { return };
    let folder = scratch("used-up");
    let (run, file) = (folder.join("run"), disk.0.join("limited/run.cutap"));
    let done = record(&run, &file, "unlimited", &["full_speed", "4", "1500"]);
    assert_eq!(done.stderr.matches("cannot write the recording: the disk quota is used up").count(), 1, "{done:?}");
    assert_eq!((done.stderr.lines().count(), done.status.code()), (1, Some(125)), "{}", done.stderr);
    // btrfs leaves half of a block behind, which cannot be taken back there.
    all_there_or_counted(&run, &file, sum(&done.stdout));
}

#[test]
fn the_run_folders_disk_is_full() {
    let Some(small) = Small::new("4m") else { return };
    let folder = scratch("full-run");
    let (run, file) = (small.0.join("run"), folder.join("run.cutap"));
    // As many rings as fit, each smaller than it would be: nothing is lost while somebody drains, or it is counted
    // where the machine kept the collector from running for longer than a writer waits.
    let done = record(&run, &file, "unlimited", &["full_speed", "8", "500"]);
    assert_eq!(done.status.code(), Some(0), "{}", done.stderr);
    let shown = Shown::of(&file);
    assert_eq!(shown.counted(&[NO_RING]), 0);
    assert_eq!(shown.calls() + shown.counted(&[CALL_DROPPED]), sum(&done.stdout), "{}", done.stderr);
    fs::remove_dir_all(&run).unwrap();
    // More threads than have a place.
    let done = record(&run, &file, "unlimited", &["full_speed", "64", "300"]);
    assert_eq!(done.status.code(), Some(0), "{}", done.stderr);
    let shown = Shown::of(&file);
    let missing = shown.counted(&[CALL_DROPPED, NO_RING]);
    let said: u64 = done.stderr.lines().filter_map(not_recorded).sum();
    assert_eq!(said, missing, "{}", done.stderr);
    assert!(missing > 0 && shown.calls() > 0, "{missing}");
    assert_eq!(shown.calls() + missing, sum(&done.stdout));
}

#[test]
fn the_run_folder_is_removed() {
    let folder = scratch("removed");
    let (run, file, ready) = (folder.join("run"), folder.join("run.cutap"), folder.join("ready"));
    let mut command = Command::new(cutap());
    command.args(["record", "--run-dir"]).arg(&run).arg("-o").arg(&file).arg("--").arg(out().join("full_speed"));
    command.args(["4", "90000"]).arg(&ready).env("LD_LIBRARY_PATH", out()).stdin(Stdio::null());
    command.stdout(fs::File::create(folder.join("stdout")).unwrap());
    let mut front = command.stderr(fs::File::create(folder.join("said")).unwrap()).spawn().unwrap();
    wait_for("all threads have called", Duration::from_secs(100), || ready.exists());
    // The collector has seen all five threads: a ring that it never opened is gone with the folder.
    let rings = || {
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", front.id())).unwrap();
        // Not the program, which opens a ring for a moment when it needs another chunk.
        let collects = |pid: &&str| {
            fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|words| words.windows(9).any(|w| w == b"__collect"))
        };
        let collectors = children.split_whitespace().filter(collects);
        let open = collectors.flat_map(|pid| fs::read_dir(format!("/proc/{pid}/fd")).unwrap());
        open.flatten()
            .filter_map(|fd| fs::read_link(fd.path()).ok())
            .filter(|to| to.extension().is_some_and(|e| e == "ring"))
            .count()
    };
    wait_for("all rings are open", Duration::from_secs(100), || rings() == 5);
    fs::remove_dir_all(&run).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    fs::write(folder.join("ready.stop"), "").unwrap();
    assert_eq!(front.wait().unwrap().code(), Some(0));
    let said = fs::read_to_string(folder.join("said")).unwrap();
    let gone = format!("cutap: the run directory {} was removed while the program ran: ", run.display());
    assert!(said.starts_with(&gone), "{said}");
    // Threads and collector have their rings open, and continue.
    let made = sum(&fs::read_to_string(folder.join("stdout")).unwrap());
    // Where the collector did not get to run for longer than a writer waits, calls were dropped, for no chunk can be
    // added; and counted.
    let shown = Shown::of(&file);
    assert_eq!(shown.calls() + shown.counted(&[CALL_DROPPED]), made);
    assert_eq!(said.lines().skip(1).filter_map(not_recorded).sum::<u64>(), shown.counted(&[CALL_DROPPED]), "{said}");
}
