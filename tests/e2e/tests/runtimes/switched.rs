//! `cutap ctl PID on, off, filter`, --filter, --capture-range=cudaProfilerApi and -C: what is switched shows in the
//! counts of each function, exactly, for runtimes whose own flags are switched from outside and for driver calls.

use crate::real::{Runtime, linked, program, shared, sim};
use cutap_e2e::{Finished, cutap, finish, json_lines, scratch};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

pub const RUNTIMES: [Runtime; 3] = [linked("12.9"), linked("13.0"), shared("12.4")];

/// Calls a round.
const ROUND: [(&str, u64); 3] = [("cudaGetDevice", 10), ("cuStreamQuery", 5), ("cudaMemset", 3)];

pub struct Ran {
    run: Finished,
    pub lines: Vec<Value>,
}

/// Runs the program with these words between its rounds; `CTL` in one is `cutap ctl PID`.
pub fn trace(program: &Path, flags: &[&str], between: &[&str]) -> Ran {
    let folder = scratch("switched");
    let file = folder.join("trace");
    let ctl = format!("{} ctl $PPID", cutap().display());
    let mut command = Command::new(cutap());
    command.arg("trace").args(flags).args(["--sim", "--json", "-o"]).arg(&file).arg("--").arg(program);
    command.args(between.iter().map(|b| b.replace("CTL", &ctl))).env_remove("LD_LIBRARY_PATH");
    let run = finish(&mut command);
    assert!(run.status.success() && run.stdout.ends_with("done\n"), "{}{}", run.stdout, run.stderr);
    let text = fs::read_to_string(&file).expect("a trace");
    let lines = json_lines(&text).collect();
    Ran { run, lines }
}

impl Ran {
    /// Calls of a function.
    pub fn made(&self, name: &str) -> u64 {
        self.lines.iter().filter(|l| l["name"] == name).map(|l| l["calls"].as_u64().unwrap_or(1)).sum()
    }
    /// Calls of the functions of a round.
    fn counts(&self) -> BTreeMap<&str, u64> {
        let mut counts: BTreeMap<&str, u64> = ROUND.iter().map(|f| (f.0, 0)).collect();
        for line in &self.lines {
            let name = line["name"].as_str().unwrap_or_default();
            if let Some(count) = counts.get_mut(name) {
                assert_ne!(line["state"], "unfinished", "{line}");
                *count += line["calls"].as_u64().unwrap_or(1);
            }
        }
        counts
    }
    fn is(&self, rounds: [u64; 3]) {
        let expected = ROUND.iter().zip(rounds).map(|(f, rounds)| (f.0, f.1 * rounds)).collect();
        assert_eq!(self.counts(), expected, "{}{}", self.run.stdout, self.run.stderr);
    }
}

#[test]
fn off_and_on() {
    for program in RUNTIMES.into_iter().filter_map(|r| program("switched", r, &[])) {
        trace(&program, &[], &["true"]).is([2, 2, 2]);
        let run = trace(&program, &[], &["CTL off", "true", "CTL on", "CTL on", "CTL off"]);
        run.is([3, 3, 3]);
        assert!(run.run.stdout.contains("off in ") && run.run.stdout.contains("calls are recorded"));
        let end = run.lines.last().expect("the last line");
        let to: Vec<&str> =
            end["switched"].as_array().expect("a list").iter().filter_map(|s| s["to"].as_str()).collect();
        assert_eq!(to, ["off", "on", "off"], "{end}");
    }
}

/// The process that is named is switched, and what it starts from then on; --all is all of them.
#[test]
fn one_process_of_several() {
    for program in RUNTIMES.into_iter().filter_map(|r| program("switched", r, &[])) {
        let folder = scratch("alone");
        let at = |name: &str| folder.join(name).display().to_string();
        let wait = |name: &str| format!("until [ -e {} ]; do sleep 0.01; done", at(name));
        // Another program runs meanwhile: one round before this one is switched, one after.
        let other = format!("touch {}; {}", at("up"), wait("go"));
        let begin = format!("('{}' '{other}' && touch {}) > /dev/null & {}", program.display(), at("over"), wait("up"));
        let end = format!("touch {}; {}", at("go"), wait("over"));
        let run = trace(&program, &[], &[&begin, "CTL off", &end]);
        run.is([2 + 2, 2 + 2, 2 + 2]);
        let said = run.lines.last().expect("the last line")["switched"][0]["pid"].as_u64();
        assert_eq!(said, run.lines.iter().find_map(|l| l["pid"].as_u64()), "{said:?}");
        ["up", "go", "over"].iter().for_each(|name| fs::remove_file(at(name)).unwrap());
        trace(&program, &[], &[&begin, "CTL --all off", &end]).is([2 + 1, 2 + 1, 2 + 1]);

        // What it starts begins as it is: forked, or as another program with shells between.
        trace(&program, &[], &["FORK", "CTL off", "true", "JOIN"]).is([1 + 1 + 1, 3, 3]);
        trace(&program, &[], &["CTL off", "FORK", "CTL on", "JOIN"]).is([1 + 1, 2, 2]);
        let started = format!("{} true", program.display());
        trace(&program, &[], &["CTL off", &started, "CTL on", &started]).is([1 + 1 + 1 + 2, 5, 5]);
        trace(&program, &[], &["FORK", "CTL filter cudaMemset", "JOIN", "true"]).is([1 + 1 + 2, 1 + 1 + 2, 1 + 2 + 2]);
    }
}

/// One that has armed nothing yet is switched too: it, its children that arm nothing either, and the program that takes
/// its place.
#[test]
fn before_its_first_call() {
    let Some(program) = program("switched", RUNTIMES[0], &[]) else { return };
    let folder = scratch("before");
    let script = folder.join("script");
    for starts in ["P true", "(P true; :)", "x=$(P true; (P true; :); :)", "{ P true; } | cat"] {
        let starts = starts.replace('P', &program.display().to_string());
        let script_text = format!(
            "{0} ctl $$ off; {starts}; {0} ctl $$ on; {starts}; exec {1} true",
            cutap().display(),
            program.display()
        );
        fs::write(&script, script_text).unwrap();
        let started = starts.matches(" true").count() as u64;
        let rounds = 2 * (started + 1);
        trace(Path::new("/bin/sh"), &[], &[script.to_str().unwrap()]).is([rounds, rounds, rounds]);
    }
}

#[test]
fn a_filter_while_it_runs() {
    for program in RUNTIMES.into_iter().filter_map(|r| program("switched", r, &[])) {
        let between =
            ["CTL filter cudaMemset", "CTL filter '!cudaMemset,!cuMemset*'", "CTL filter all", "CTL filter driver"];
        trace(&program, &[], &between).is([1 + 1 + 1, 1 + 1 + 1 + 1, 1 + 1 + 1]);
    }
    // What was not armed at the start cannot be: pointers are fetched once. And a trace prints what it was started
    // with.
    let Some(program) = program("switched", RUNTIMES[0], &[]) else { return };
    let run = trace(&program, &["--filter", "cudaMemset"], &["CTL filter all"]);
    run.is([0, 0, 2]);
    assert!(run.run.stdout.contains("stay unseen"), "{}", run.run.stdout);
}

/// Counting goes by the filter too, for functions of the driver and of runtimes.
#[test]
fn a_filter_while_calls_are_counted() {
    for program in RUNTIMES.into_iter().filter_map(|r| program("switched", r, &[])) {
        trace(&program, &["-C"], &["CTL filter cudaMemset", "true", "CTL filter all"]).is([2, 2, 4]);
        trace(&program, &["-C"], &["CTL filter driver", "CTL filter '!driver'", "CTL filter all"]).is([3, 3, 3]);
    }
}

/// A program that is started under a filter is armed as the run began: `filter all` undoes the filter for it, too.
#[test]
fn what_is_started_under_a_filter_is_armed() {
    for program in RUNTIMES.into_iter().filter_map(|r| program("switched", r, &[])) {
        let inner = format!("{} '{} ctl $PPID filter all'", program.display(), cutap().display());
        for filter in ["cudaMemset", "driver", "runtime"] {
            // One round before the filter, and that of the inner program behind `filter all`.
            let rounds = match filter {
                "driver" => [2, 5, 2],
                "runtime" => [5, 2, 5],
                _ => [2, 2, 5],
            };
            trace(&program, &[], &[&format!("CTL filter {filter}"), &inner]).is(rounds);
        }
    }
    let Some(program) = program("switched", RUNTIMES[0], &[]) else { return };
    let inner = format!("{} '{} ctl $PPID filter all'", program.display(), cutap().display());
    trace(&program, &["--filter", "cudaMemset,cuStreamQuery"], &["CTL filter cudaMemset", &inner]).is([0, 2, 5]);
}

/// Whoever reads a recording is told that calls are missing, and of which time.
#[test]
fn a_recording_says_when_it_was_off() {
    let Some(program) = program("switched", RUNTIMES[0], &[]) else { return };
    let folder = scratch("off");
    let file = folder.join("run.cutap");
    let ctl = format!("{} ctl $PPID", cutap().display());
    let mut command = Command::new(cutap());
    command.args(["record", "--sim", "-o"]).arg(&file).arg("--").arg(program).env_remove("LD_LIBRARY_PATH");
    let between = ["CTL off", "CTL on", "CTL filter driver", "CTL off"].map(|b| b.replace("CTL", &ctl));
    let ran = finish(command.args(between));
    assert!(ran.status.success() && ran.stdout.ends_with("done\n"), "{}{}", ran.stdout, ran.stderr);
    for words in [&["show"][..], &["report"], &["report", "--tree"], &["report", "--leaks"]] {
        let read = finish(Command::new(cutap()).args(words).arg(&file)).everything();
        for sentence in [
            " and what it started was off from ",
            " after the start (cutap ctl): calls made then are missing",
            " and what it started was changed ",
            " after the start (cutap ctl or --duration) to the end: calls made then are missing",
        ] {
            assert!(read.contains(sentence), "{words:?} {sentence}: {read}");
        }
    }
}

#[test]
fn between_start_and_stop_of_a_profiler() {
    for program in RUNTIMES.into_iter().filter_map(|r| program("switched", r, &[])) {
        let run = trace(
            &program,
            &["--capture-range=cudaProfilerApi"],
            &["true", "START", "true", "STOP", "true", "START", "STOP"],
        );
        run.is([3, 3, 3]);
    }
}

#[test]
fn only_counted() {
    for program in RUNTIMES.into_iter().filter_map(|r| program("switched", r, &[])) {
        let run = trace(&program, &["-C"], &["true", "CTL off", "CTL status", "CTL on"]);
        run.is([3, 3, 3]);
        assert!(run.lines.iter().all(|l| l["type"] != "call"), "{:?}", run.lines.first());
        let status = &run.run.stdout;
        assert!(status.contains("recording: off") && status.contains("(running)"), "{status}");
        trace(&program, &["-C", "-e", "cudaMemset"], &["true"]).is([0, 0, 2]);
    }
}

/// What was counted is in the tables that it can be in, and is spoken of where it cannot.
#[test]
fn counts_are_reported() {
    let Some(program) = program("switched", RUNTIMES[0], &[]) else { return };
    let folder = scratch("counted");
    let run = folder.join("run");
    let mut command = Command::new(cutap());
    command.args(["trace", "-C", "--sim", "-o"]).arg(folder.join("trace")).arg("--run-dir").arg(&run).arg("--");
    let ran = finish(command.arg(program).arg("true").env_remove("LD_LIBRARY_PATH"));
    assert!(ran.status.success(), "{}", ran.stderr);
    let read = |words: &[&str]| finish(Command::new(cutap()).args(words).arg(&run));
    let lines = json_lines(&read(&["report", "--json"]).stdout).collect();
    Ran { run: read(&["report"]), lines }.is([2, 2, 2]);
    let driver = read(&["report", "--by", "layer"]).stdout;
    assert!(driver.lines().any(|l| l.starts_with("driver ") && l.contains(" - ")), "{driver}");
    assert!(read(&["report", "-e", "cudaMemset"]).stdout.contains(" 6      0 "), "{}", read(&["report"]).stdout);
    for words in [&["report", "--by", "thread"][..], &["report", "--tree"], &["report", "--leaks"], &["show"]] {
        let told = read(words);
        assert!(
            told.stderr.contains(" calls were only counted (-C, --chatter=count): cutap report "),
            "{words:?}: {}",
            told.stderr
        );
    }
}

/// A word of the process says where its run is; all else is refused in one sentence.
#[test]
fn wrong_processes_and_words() {
    let folder = scratch("wrong");
    let own = std::process::id().to_string();
    let cases: [(&[&str], &str); 6] = [
        (&["4194305", "off"], "there is no process 4194305"),
        (&[&own, "off"], "was not started by cutap trace"),
        (&["nowhere", "on"], "neither a process nor a run directory"),
        (&[folder.to_str().unwrap(), "status"], "neither a process nor a run directory"),
        (&[&own, "sideways"], "sideways"),
        (&["nowhere"], "neither a process nor a run directory"),
    ];
    for (words, sentence) in cases {
        let run = finish(Command::new(cutap()).arg("ctl").args(words));
        assert!(!run.status.success() && run.stderr.contains(sentence), "{words:?}: {}", run.stderr);
    }
    assert!(!sim().is_empty());
}

/// Without a collector: the folder that was named is switched too, and stays after the program.
#[test]
fn by_folder() {
    let Some(program) = program("switched", RUNTIMES[0], &[]) else { return };
    let folder = scratch("folder");
    let run = folder.join("run");
    let script = r#"eval "$("$0" env --sim -o "$1")"; "$2" "$0 ctl $1 off > $1.off" true "$0 ctl $1 on > $1.on""#;
    let ran = finish(Command::new("sh").args(["-c", script]).arg(cutap()).args([&run, &program]));
    assert!(ran.status.success(), "{}{}", ran.stdout, ran.stderr);
    let shown = finish(Command::new(cutap()).arg("show").arg(&run).args(["-c", "--json"]));
    let lines = json_lines(&shown.stdout).collect();
    Ran { run: shown, lines }.is([2, 2, 2]);
}

/// A user without any rights switches what is his, and no other user's.
#[test]
fn without_root() {
    let Some(program) = program("switched", RUNTIMES[0], &[]) else { return };
    let drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--no-new-privs"];
    let may = Command::new(drop[0]).args(&drop[1..]).arg("true").output().is_ok_and(|done| done.status.success());
    if !may {
        return println!("skipped: ctl without root: only root can become another user");
    }
    // The build may lie where other users cannot look.
    let folder = scratch("user");
    let (copy, own, file) = (folder.join("cutap"), folder.join("switched"), folder.join("trace"));
    fs::copy(cutap(), &copy).unwrap();
    fs::copy(program, &own).unwrap();
    let open = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    open(&folder);
    let ctl = format!("{} ctl $PPID", copy.display());
    let as_user = |words: &[&str]| {
        let mut command = Command::new(drop[0]);
        command.args(&drop[1..]).args(words).env("HOME", "/nonexistent").env_remove("LD_LIBRARY_PATH");
        finish(command.env_remove("XDG_RUNTIME_DIR").env_remove("XDG_CACHE_HOME").current_dir(&*folder))
    };
    let [copy, own, out] = [&copy, &own, &file].map(|path| path.to_str().unwrap());
    let capabilities = "grep '^CapEff:.*[1-9a-f]' /proc/self/status && exit 1; true";
    let words = [copy, "trace", "--sim", "--json", "-o", out, "--", own];
    let between = [capabilities, "CTL off", "true", "CTL on", "CTL filter cudaMemset", "CTL --all off"];
    let between = between.map(|b| b.replace("CTL", &ctl));
    let run = as_user(&[&words[..], &between.each_ref().map(String::as_str)].concat());
    assert!(run.status.success() && run.stdout.ends_with("done\n"), "{}{}", run.stdout, run.stderr);
    let text = fs::read_to_string(&file).expect("a trace");
    let lines = json_lines(&text).collect();
    Ran { run, lines }.is([3, 3, 4]);

    let refused = as_user(&[copy, "ctl", &std::process::id().to_string(), "off"]);
    assert!(refused.stderr.contains("belongs to another user") && refused.stderr.lines().count() == 1, "{refused:?}");
    assert_eq!(refused.status.code(), Some(125));
}
