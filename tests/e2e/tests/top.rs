//! `cutap top`: a hanging program, sums of a recording, a program in namespaces, and the screen in tmux at two widths.

use cutap_e2e::{Scratch, cutap, finish, json_lines, out, scratch, wait_for};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, fs};

const LIMIT: Duration = Duration::from_secs(60);

/// A program that hangs, under `cutap record`.
struct Hanging {
    record: Child,
    folder: Scratch,
}

impl Hanging {
    fn start(kind: &str) -> Hanging {
        let folder = scratch("top");
        let mut record = Command::new(cutap());
        record
            .args(["record", "--sim", "-q", "--run-dir"])
            .arg(folder.join("run"))
            .arg("-o")
            .arg(folder.join("a.cutap"));
        record.arg(out().join("hang_kinds")).arg(kind).env("CUTAP_SIM_SPIN", "spins");
        let record = record.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Hanging { record: record.spawn().expect("cutap starts"), folder }
    }

    /// The process of the program, if it runs.
    fn pid(&self) -> Option<u32> {
        let pids = fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.record.id())).ok()?;
        let is_program =
            |pid: &u32| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe.ends_with("hang_kinds"));
        pids.split_whitespace().filter_map(|pid| pid.parse().ok()).find(is_program)
    }

    fn run(&self) -> PathBuf {
        self.folder.join("run")
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        if let Some(pid) = self.pid() {
            let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
        }
        let _ = self.record.wait();
    }
}

/// `cutap top`, which must succeed.
fn top(words: &[&str]) -> String {
    let done = finish(Command::new(cutap()).arg("top").args(words));
    assert!(done.status.success(), "{words:?}: {done:?}");
    done.stdout
}

/// Times, rates and shares vary; columns are as wide as before.
fn normal(text: &str) -> String {
    let is_unit = |word: &str| {
        let number = ["ns", "us", "ms", "s", "%"].iter().find_map(|unit| word.strip_suffix(unit));
        number.is_some_and(|number| number.parse::<f64>().is_ok())
    };
    let word = |word: &str| {
        let bare = word.trim_end_matches([',', ';']);
        let end = &word[bare.len()..];
        match bare {
            _ if is_unit(bare) => format!("TIME{end}"),
            _ => word.to_owned(),
        }
    };
    let line = |line: &str| {
        // Of a row: rate, two shares, errors, calls, total, name.
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [rate, time, own, errors, calls, _, name @ ..] = &words[..]
            && [rate, time, own].iter().all(|word| word.parse::<f64>().is_ok())
        {
            return format!("RATE % % {errors} {calls} TIME {}", name.join(" "));
        }
        let text: Vec<String> = line.split(' ').map(word).collect();
        let text = text.join(" ");
        match (
            text.split_once(": ").and_then(|(name, rest)| Some((name, rest.split_once(" calls/s")?.1))),
            text.find("thread "),
        ) {
            (Some((name, rest)), _) => format!("{name}: RATE calls/s{rest}"),
            (None, Some(0)) => {
                format!("thread TID{}", text["thread ".len()..].trim_start_matches(|c: char| c.is_ascii_digit()))
            }
            _ => text,
        }
    };
    text.lines().map(|text| line(text) + "\n").collect()
}

fn check_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/top").join(format!("{name}.txt"));
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).and_then(|()| fs::write(&path, text)).expect("writable");
    }
    let golden = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}; UPDATE_GOLDEN=1", path.display()));
    assert_eq!(text, golden, "{name}");
}

/// The open call has the whole interval, though it does not end. By its number, its run directory, and its recording.
#[test]
fn a_program_that_waits() {
    let program = Hanging::start("event");
    wait_for("the program runs", LIMIT, || program.pid().is_some());
    let pid = program.pid().expect("it runs").to_string();
    let (folder, file) = (program.run().display().to_string(), program.folder.join("a.cutap").display().to_string());
    for run in [&pid, &folder, &file] {
        let mut text = String::new();
        wait_for("it waits for the whole interval", LIMIT, || {
            text = top(&["--once", "--interval", "300ms", run]);
            text.contains(": in cu") && text.lines().any(|line| line.contains("   100.0   100.0       0"))
        });
        let waiting: Vec<&str> = text.lines().filter(|line| line.contains("   100.0   100.0 ")).collect();
        assert!(waiting.iter().any(|line| line.ends_with("  cuStreamSynchronize")), "{run}: {text}");
        let json = top(&["--once", "--json", "--interval", "300ms", run]);
        let open = &json_lines(&json).next().expect("a line")["open"][0];
        assert_eq!(open["function"], "cuStreamSynchronize", "{json}");
        assert!(open["open_ns"].as_u64() > Some(300_000_000), "{json}");
    }
    // It ends with its program.
    let mut follows = Command::new(cutap());
    let follows = follows.args(["top", "--interval", "100ms", &folder]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut follows = follows.spawn().expect("cutap starts");
    let first = follows.stdout.as_mut().map(|stdout| stdout.read(&mut [0]));
    assert!(matches!(first, Some(Ok(1))), "{first:?}");
    drop(program);
    let done = follows.wait_with_output().expect("it ends");
    assert!(done.status.success() && done.stderr.ends_with(b"the program has ended\n"), "{done:?}");
}

/// All that was recorded is one interval.
#[test]
fn a_recording() {
    let folder = scratch("top-recorded");
    let file = folder.join("a.cutap");
    let mut record = Command::new(cutap());
    record.args(["record", "-q", "--sim", "--gpu-time", "-o"]).arg(&file).arg(out().join("gpu_work"));
    assert!(finish(&mut record).status.success());
    let file = file.to_str().expect("text");
    let text = normal(&top(&["--sort", "calls", "--top", "6", file]));
    check_golden("recording", &text);
    let filtered = normal(&top(&["--sort", "name", "-e", "cuGraph*", file]));
    check_golden("filtered", &filtered);
    let whole = finish(Command::new(cutap()).args(["report", "--json", "-e", "driver", file])).stdout;
    let calls: u64 = json_lines(&whole).filter_map(|row| row["calls"].as_u64()).sum();
    let json = top(&["--json", "-e", "driver", file]);
    let snapshot = json_lines(&json).next().expect("a line");
    assert_eq!(snapshot["total_calls"].as_u64(), Some(calls), "as report adds up: {whole}");
}

#[test]
fn what_is_no_run() {
    for (words, sentence) in [
        (&["/no/such/run"][..], "cannot read /no/such/run"),
        (&["--interval", "0", "/tmp"], "--interval 0 has no length"),
        (&["/tmp"], "/tmp"),
    ] {
        let done = finish(Command::new(cutap()).arg("top").args(words));
        assert_eq!((done.status.code(), &*done.stdout), (Some(125), ""), "{done:?}");
        assert!(done.stderr.contains(sentence) && done.stderr.lines().count() == 1, "{done:?}");
    }
}

/// The process has another number inside, and the reader is outside.
#[test]
fn a_program_in_namespaces() {
    const UNSHARE: [&str; 5] = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
    if !Command::new("unshare").args(UNSHARE).arg("true").output().is_ok_and(|done| done.status.success()) {
        return println!("skipped: cutap top of a program in namespaces (unshare is not permitted here)");
    }
    let folder = scratch("top-inside");
    let run = folder.join("run");
    let line = format!(
        "eval \"$({} env --sim -o {})\"; exec {} event",
        cutap().display(),
        run.display(),
        out().join("hang_kinds").display()
    );
    let mut inside = Command::new("unshare");
    let mut inside =
        inside.args(UNSHARE).args(["sh", "-c", &line]).stdout(Stdio::null()).spawn().expect("unshare starts");
    let mut text = String::new();
    wait_for("the program waits", LIMIT, || {
        let done = finish(Command::new(cutap()).args(["top", "--once", "--interval", "200ms"]).arg(&run));
        text = done.stdout;
        text.contains(": in cuStreamSynchronize for ") && text.lines().any(|line| line.contains("   100.0   100.0 "))
    });
    inside.kill().and_then(|()| inside.wait().map(|_| ())).expect("it is our child");
    assert!(text.starts_with("hang_kinds: "), "{text}");
}

/// A session of tmux.
struct Tmux {
    name: String,
}

impl Tmux {
    /// None, and a line, without tmux.
    fn start(width: u32, height: u32, command: &str) -> Option<Tmux> {
        if Command::new("tmux").arg("-V").output().is_err() {
            println!("skipped: the screen of cutap top (tmux is not installed)");
            return None;
        }
        let tmux = Tmux { name: format!("cutap-{}-{width}", std::process::id()) };
        let (width, height) = (width.to_string(), height.to_string());
        tmux.run(&["new-session", "-d", "-x", &width, "-y", &height, command]);
        Some(tmux)
    }

    fn run(&self, words: &[&str]) -> String {
        finish(Command::new("tmux").args(["-f", "/dev/null", "-L", &self.name]).args(words)).everything()
    }

    fn keys(&self, keys: &[&str]) {
        self.run(&[&["send-keys"], keys].concat());
    }

    /// The screen once it is as wanted.
    fn expect(&self, why: &str, is_wanted: impl Fn(&str) -> bool) -> String {
        let mut screen = String::new();
        wait_for(why, LIMIT, || {
            screen = self.run(&["capture-pane", "-p"]);
            is_wanted(&screen)
        });
        screen
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

fn rows(screen: &str) -> Vec<&str> {
    screen
        .lines()
        .skip_while(|line| !line.contains("calls/s   time%"))
        .skip(1)
        .take_while(|line| !line.is_empty())
        .collect()
}

#[test]
fn keys_on_screens_of_two_widths() {
    let program = Hanging::start("event");
    wait_for("the program runs", LIMIT, || program.pid().is_some());
    for width in [80, 200] {
        let command =
            format!("{} top --interval 200ms {}; echo code $?; sleep 100", cutap().display(), program.run().display());
        let Some(tmux) = Tmux::start(width, 24, &command) else { return };
        let screen = tmux.expect("the open call has all of the time", |screen| {
            screen.contains(": in cuStreamSynchronize for ") && screen.contains("   100.0   100.0 ")
        });
        assert_eq!(screen.contains("   total  function"), width == 200, "{screen}");
        assert!(screen.contains("by time  q quit  p pause"), "{screen}");
        assert!(rows(&screen)[0].ends_with("  cuStreamSynchronize"), "{screen}");
        tmux.keys(&["n"]);
        let screen = tmux.expect("sorted by name", |screen| screen.contains("by name  q quit"));
        let names: Vec<&str> = rows(&screen).iter().filter_map(|row| row.split_whitespace().last()).collect();
        assert!(names.is_sorted() && names.len() > 3, "{screen}");
        tmux.keys(&["/", "m", "S", "y", "n", "c"]);
        tmux.expect("the filter is typed", |screen| screen.contains("/mSync_"));
        tmux.keys(&["Enter"]);
        tmux.expect("one row", |screen| screen.contains("filter mSync, ") && rows(screen).len() == 1);
        tmux.keys(&["Escape"]);
        tmux.expect("no filter", |screen| !screen.contains("filter mSync") && rows(screen).len() > 3);
        tmux.keys(&["l"]);
        tmux.expect("libraries", |screen| screen.contains("  library") && rows(screen).len() == 1);
        tmux.keys(&["p"]);
        let paused = tmux.expect("a pause", |screen| screen.contains("paused, by name"));
        std::thread::sleep(Duration::from_millis(600));
        assert_eq!(tmux.run(&["capture-pane", "-p"]), paused);
        tmux.keys(&["q"]);
        tmux.expect("the end", |screen| screen.contains("code 0"));
    }
}
