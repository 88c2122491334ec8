//! `cutap where` and `record --on-hang`: programs that hang on the simulated driver, while they hang and when they were
//! killed.

use cutap_e2e::{Scratch, cutap, finish, json_lines, out, scratch, wait_for};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, fs};

const LIMIT: Duration = Duration::from_secs(60);

/// A program that hangs, under `cutap record`.
struct Hanging {
    record: Child,
    folder: Scratch,
    kind: &'static str,
}

impl Hanging {
    fn start(kind: &'static str, flags: &[&str]) -> Hanging {
        let folder = scratch("where");
        let mut record = Command::new(cutap());
        record.args(["record", "--sim"]).args(flags).arg("-o").arg(folder.join("run.cutap"));
        record.arg(out().join("hang_kinds")).arg(kind).env("CUTAP_SIM_SPIN", "spins");
        record.envs([("RANK", "3"), ("WORLD_SIZE", "4"), ("SLURM_JOB_ID", "77"), ("SLURM_JWT", "secret")]);
        let stderr = fs::File::create(folder.join("stderr")).expect("the folder is writable");
        let record = record.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr).spawn().expect("cutap starts");
        Hanging { record, folder, kind }
    }

    fn file(&self) -> PathBuf {
        self.folder.join("run.cutap")
    }

    fn stderr(&self) -> String {
        fs::read_to_string(self.folder.join("stderr")).unwrap_or_default()
    }

    /// The process of the program, if it runs.
    fn running_pid(&self) -> Option<u32> {
        let pids = fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.record.id())).ok()?;
        let is_program =
            |pid: &u32| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe.ends_with("hang_kinds"));
        pids.split_whitespace().filter_map(|pid| pid.parse().ok()).find(is_program)
    }

    /// The process of the program.
    fn pid(&self) -> u32 {
        wait_for("the program runs", LIMIT, || self.running_pid().is_some());
        self.running_pid().expect("it was waited for")
    }

    /// What `where` says once it says this.
    fn once(&self, run: &str, needle: &str) -> String {
        let mut text = String::new();
        wait_for(&format!("{}: {needle}", self.kind), LIMIT, || {
            text = finish(Command::new(cutap()).arg("where").arg(run)).stdout;
            text.contains(needle)
        });
        text
    }

    fn kill(&mut self) {
        finish(Command::new("kill").args(["-9", &self.pid().to_string()]));
        self.record.wait().expect("it is our child");
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        if let Some(pid) = self.running_pid() {
            let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
        }
        let _ = self.record.kill();
        let _ = self.record.wait();
    }
}

/// Numbers that differ from run to run are replaced: times, process ids, addresses of code and pipes.
fn normal(text: &str, pid: u32) -> String {
    let is_time = |word: &str| {
        let word = word.trim_end_matches([',', ';']);
        let number = ["ns", "us", "ms", "s"].iter().find_map(|unit| word.strip_suffix(unit));
        number.is_some_and(|number| !number.is_empty() && number.parse::<f64>().is_ok())
    };
    let word = |word: &str| match word {
        _ if is_time(word) => "TIME".to_owned(),
        _ if word == pid.to_string() => "PID".to_owned(),
        _ if word.starts_with("(pipe:[") => "(pipe)".to_owned(),
        _ if word.starts_with("fn=0x") => "fn=CODE,".to_owned(),
        _ => word.to_owned(),
    };
    let line = |line: &str| {
        let words: Vec<String> = line.split(' ').map(word).collect();
        let line = words.join(" ");
        match line.split_once("  thread ") {
            Some((before, after)) => {
                let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
                format!("{before}  thread TID{after}")
            }
            None => line,
        }
    };
    text.lines().map(|text| line(text) + "\n").collect()
}

fn check_golden(kind: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/where").join(format!("{kind}.txt"));
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).and_then(|()| fs::write(&path, text)).expect("writable");
    }
    let golden = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}; UPDATE_GOLDEN=1", path.display()));
    assert_eq!(text, golden, "{kind}");
}

/// While it hangs, by its number and by its file; and when it was killed, by its file.
fn names(kind: &'static str, needle: &str) {
    let mut program = Hanging::start(kind, &[]);
    let pid = program.pid();
    let live = program.once(&pid.to_string(), needle);
    let by_file = program.once(program.file().to_str().expect("text"), needle);
    let (live, by_file) = (normal(&live, pid), normal(&by_file, pid));
    assert_eq!(live, by_file, "{kind}");
    program.kill();
    let killed = normal(&program.once(program.file().to_str().expect("text"), needle), pid);
    let of_system = |line: &&str| !line.trim_start().starts_with("sleeps in");
    let without: String = live.lines().filter(of_system).map(|line| format!("{line}\n")).collect();
    assert_eq!(killed, format!("rank 3: its program was ended by SIGKILL\n{without}"), "{kind}: killed");
    check_golden(kind, &live);
}

#[test]
fn a_kernel_that_spins() {
    names("spin", "waits for kernel spins");
}

#[test]
fn a_host_function_that_never_returns() {
    names("host_function", "waits for cuLaunchHostFunc");
}

#[test]
fn an_event_that_is_never_reached() {
    names("event", "waited for through event#1");
}

#[test]
fn memory_that_a_spinning_kernel_may_use() {
    names("free", "in cuMemFree_v2");
}

#[test]
fn a_host_function_that_wants_the_lock_of_its_waiter() {
    names("host_lock", "waits for cuLaunchHostFunc");
}

/// Neither thread is in a call of CUDA: the system says that both sleep in a lock.
#[test]
fn two_threads_with_two_locks() {
    let program = Hanging::start("locks", &[]);
    let pid = program.pid();
    let mut text = String::new();
    wait_for("both threads are listed", LIMIT, || {
        text = finish(Command::new(cutap()).arg("where").arg(pid.to_string())).stdout;
        text.matches("since cuLaunchKernel").count() == 2 && text.matches("sleeps in futex").count() != 1
    });
    if !text.contains("sleeps in") {
        return println!("skipped: the system calls of two_threads_with_two_locks (this system does not tell them)");
    }
    check_golden("locks", &normal(&text, pid));
}

#[test]
fn a_full_pipe() {
    let program = Hanging::start("pipe", &[]);
    let pid = program.pid();
    let text = program.once(&pid.to_string(), "since cuCtxSynchronize");
    if !text.contains("sleeps in") {
        return println!("skipped: the system call of a_full_pipe (this system does not tell it)");
    }
    check_golden("pipe", &normal(&program.once(&pid.to_string(), "sleeps in write"), pid));
}

/// A process that was stopped is not said to sleep in a call.
#[test]
fn a_process_that_was_stopped() {
    let program = Hanging::start("spin", &[]);
    let pid = program.pid();
    program.once(&pid.to_string(), "waits for kernel spins");
    finish(Command::new("kill").args(["-STOP", &pid.to_string()]));
    let text = program.once(&pid.to_string(), "is stopped by a signal; SIGCONT lets it go on");
    assert!(!text.contains("sleeps in"), "{text}");
}

/// The collector saves the answer and prints one line; the file has it after a kill.
#[test]
fn a_hang_is_saved() {
    is_saved("spin");
}

/// Another thread asks again and again whether the work is done. It makes no progress.
#[test]
fn a_hang_that_a_thread_polls() {
    is_saved("polled");
}

fn is_saved(kind: &'static str) {
    let mut program = Hanging::start(kind, &["--on-hang", "500ms"]);
    let pid = program.pid();
    wait_for("the hang is noticed", LIMIT, || program.stderr().contains("the program hangs"));
    program.kill();
    let said = program.stderr();
    let lines: Vec<&str> = said.lines().filter(|line| line.contains("the program hangs")).collect();
    let [line] = lines[..] else { panic!("{said}") };
    assert!(line.contains(&format!("pid {pid} waits ")), "{line}");
    assert!(line.contains("in cuStreamSynchronize(hStream=stream#1) for kernel spins (cuLaunchKernel)"), "{line}");
    let text = finish(Command::new(cutap()).arg("where").arg(program.file())).stdout;
    assert!(text.contains("saved while it hung (record --on-hang)\nrank 3  pid "), "{text}");
}

/// A program that computes on the host waits for nothing, and one that wants another thread's lock neither.
#[test]
fn no_false_alarm() {
    for kind in ["computes", "locks"] {
        let mut program = Hanging::start(kind, &["--on-hang", "200ms"]);
        let pid = program.pid();
        program.once(&pid.to_string(), "in no recorded call");
        std::thread::sleep(Duration::from_secs(2));
        program.kill();
        assert!(!program.stderr().contains("hangs"), "{kind}: {}", program.stderr());
    }
}

/// The answers of several hosts are files, and are read together.
#[test]
fn answers_are_joined() {
    let program = Hanging::start("spin", &[]);
    let pid = program.pid();
    let text = program.once(&pid.to_string(), "waits for kernel spins");
    let answer = finish(Command::new(cutap()).args(["where", "--json"]).arg(pid.to_string())).stdout;
    let documents: Vec<Value> = json_lines(&answer).collect();
    let [document] = &documents[..] else { panic!("{answer}") };
    assert_eq!((&document["type"], &document["rank"]), (&"where".into(), &3.into()));
    assert_eq!(document["launcher"]["SLURM_JOB_ID"], "77");
    assert!(document["launcher"]["SLURM_JWT"].is_null() && document["boot_id"].is_string(), "{document}");
    // That of another rank, on another host.
    let other = answer.replace("\"rank\":3", "\"rank\":1");
    let host = document["host"].as_str().expect("the host has a name");
    let other = other.replace(&format!("\"host\":\"{host}\""), "\"host\":\"elsewhere\"");
    let files = [("a.json", &answer), ("b.json", &other)].map(|(name, text)| {
        let file = program.folder.join(name);
        fs::write(&file, text).expect("the folder is writable");
        file
    });
    let joined = finish(Command::new(cutap()).arg("where").args(&files)).stdout;
    let first: Vec<&str> = joined.lines().filter(|line| line.starts_with("rank ")).collect();
    assert!(first.len() == 2 && first[0].starts_with("rank 1  elsewhere  pid "), "{joined}");
    assert!(first[1].starts_with(&format!("rank 3  {host}  pid ")), "{joined}");
    let alone = finish(Command::new(cutap()).arg("where").arg(&files[0])).stdout;
    assert_eq!(normal(&alone, pid), normal(&text, pid));
    let report = finish(Command::new(cutap()).args(["report", "--collectives"]).arg(&files[0]));
    assert!(report.stderr.contains("is an answer of cutap where --json; cutap where "), "{report:?}");
    // A file that cannot be read does not hide the other ones.
    let empty = program.folder.join("empty.cutap");
    fs::write(&empty, "").expect("the folder is writable");
    let done = finish(Command::new(cutap()).arg("where").args(&files).arg(&empty));
    assert_eq!((done.status.code(), &done.stdout), (Some(125), &joined), "{done:?}");
    assert!(done.stderr.contains("1 of 3 runs could not be read"), "{done:?}");
    // Other lines in such a file are left out.
    let noisy = program.folder.join("noisy.json");
    fs::write(&noisy, format!("srun: job 77 started\n{answer}\n{other}")).expect("the folder is writable");
    let done = finish(Command::new(cutap()).arg("where").arg(&noisy));
    assert_eq!(done.stdout, joined);
    assert!(done.stderr.starts_with("cutap: 1 line of ") && done.stderr.contains(" is left out: "), "{done:?}");
}

#[test]
fn what_is_no_answer_is_refused() {
    let folder = scratch("where-bad");
    for (name, text) in [("other.json", "{\"type\":\"call\"}"), ("cut.json", "{\"type\":\"where\",\"run")] {
        let file = folder.join(name);
        fs::write(&file, text).expect("the folder is writable");
        let done = finish(Command::new(cutap()).arg("where").arg(&file));
        assert_eq!(done.status.code(), Some(125), "{done:?}");
        assert!(done.stderr.contains("is no answer of cutap where --json"), "{done:?}");
    }
    let flight = finish(Command::new(cutap()).args(["record", "--on-hang", "1", "--flight-recorder", "1M", "true"]));
    assert!(flight.stderr.contains("--on-hang reads the recording while the program runs"), "{flight:?}");
}

/// Where a run was made is in its notes and in JSON.
#[test]
fn the_launcher_is_kept() {
    let mut program = Hanging::start("spin", &[]);
    let pid = program.pid();
    program.once(&pid.to_string(), "waits for kernel spins");
    program.kill();
    let notes = finish(Command::new(cutap()).args(["report", "--notes"]).arg(program.file())).stdout;
    assert!(notes.contains(" as rank 3, boot ") && notes.contains(": RANK=3 SLURM_JOB_ID=77 WORLD_SIZE=4"), "{notes}");
    let lines = finish(Command::new(cutap()).args(["show", "--json"]).arg(program.file())).stdout;
    let end = json_lines(&lines).find(|line| line["type"] == "end").expect("JSON has an end");
    assert_eq!((&end["host"]["rank"], &end["host"]["launcher"]["WORLD_SIZE"]), (&3.into(), &"4".into()));
}
