//! `--python`: the frames of each call are those that `sys._getframe` has, in every version of Python that is here.

use cutap_e2e::{cutap, finish, json_lines, scratch, sources};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Frames that a call has at most.
const MOST: usize = 128;

/// Function, file and line of each frame, the innermost first.
type Frames = Vec<(String, String, u64)>;

fn program() -> PathBuf {
    sources().join("python/lines.py")
}

/// Every Python from 3.8 on that is here.
fn pythons() -> Vec<PathBuf> {
    let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let versions = fs::read_dir(home.join(".pyenv/versions")).into_iter().flatten().flatten();
    let installed = versions.map(|version| version.path().join("bin/python3"));
    let system = (8..=14).map(|minor| PathBuf::from(format!("/usr/bin/python3.{minor}")));
    let all: Vec<PathBuf> = installed.chain(system).filter(|python| python.exists() && is_known(python)).collect();
    if all.is_empty() { vec!["python3".into()] } else { all }
}

fn is_known(python: &Path) -> bool {
    let script = "import sys, ctypes; sys.exit(not (3, 8) <= sys.version_info[:2] <= (3, 14))";
    finish(Command::new(python).args(["-c", script])).status.success()
}

fn record(python: &Path, words: &[&str], file: &Path) -> String {
    let mut command = Command::new(cutap());
    command.args(["record", "--sim", "-q"]).args(words).arg("-o").arg(file).arg("--").arg(python).arg(program());
    let ran = finish(&mut command);
    assert!(ran.status.success(), "{}: {}", python.display(), ran.everything());
    ran.stdout
}

fn shown(words: &[&str], file: &Path) -> String {
    let ran = finish(Command::new(cutap()).args(words).arg(file));
    assert!(ran.status.success(), "{}", ran.everything());
    ran.stdout
}

/// What the program printed of each thread's calls, in their order.
fn printed(stdout: &str) -> BTreeMap<u64, Vec<Frames>> {
    let mut threads: BTreeMap<u64, Vec<Frames>> = BTreeMap::new();
    for line in json_lines(stdout) {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let frame = |frame: &Value| (text(&frame[0]), text(&frame[1]), frame[2].as_u64().unwrap());
        let frames = line[2].as_array().unwrap().iter().map(frame).collect();
        threads.entry(line[1].as_u64().unwrap()).or_default().push(frames);
    }
    threads
}

/// What the recording has.
fn recorded(file: &Path) -> BTreeMap<u64, Vec<(Frames, String)>> {
    let json = shown(&["show", "--json", "-e", "cuCtxSynchronize,cuMemFree"], file);
    let mut calls: Vec<Value> = json_lines(&json).filter(|line| line["type"] == "call").collect();
    calls.sort_by_key(|call| call["start_ns"].as_u64());
    let mut threads: BTreeMap<u64, Vec<(Frames, String)>> = BTreeMap::new();
    for call in calls {
        let stack = call["stack"].as_array().unwrap_or_else(|| panic!("no frames: {call}"));
        let of_python = stack.iter().filter(|frame| frame["object"] == "Python");
        let text = |frame: &Value, name: &str| frame[name].as_str().unwrap_or("?").to_owned();
        let frame = |f: &Value| (text(f, "function"), text(f, "file"), f["line"].as_u64().unwrap_or(0));
        let end = call["stack_end"].as_str().unwrap().to_owned();
        threads.entry(call["tid"].as_u64().unwrap()).or_default().push((of_python.map(frame).collect(), end));
    }
    threads
}

#[test]
fn lines_are_those_that_python_has() {
    let folder = scratch("python");
    for python in pythons() {
        let file = folder.join("run.cutap");
        let stdout = record(&python, &["--python", "--force"], &file);
        let (printed, recorded) = (printed(&stdout), recorded(&file));
        assert_eq!(printed.keys().collect::<Vec<_>>(), recorded.keys().collect::<Vec<_>>(), "{}", python.display());
        assert_eq!(printed.len(), 9, "threads");
        for (tid, of_thread) in &printed {
            let found = &recorded[tid];
            assert_eq!(of_thread.len(), found.len(), "{}: calls of {tid}", python.display());
            for (frames, (found, end)) in of_thread.iter().zip(found) {
                let is_cut = frames.len() > MOST;
                assert_eq!(end, if is_cut { "truncated" } else { "whole" });
                assert_eq!(frames[..frames.len().min(MOST)], found[..], "{}", python.display());
            }
        }
    }
}

/// With native frames, the order of the Python frames is the same, and none is lost.
#[test]
fn native_frames_are_between_them() {
    let folder = scratch("python");
    let file = folder.join("run.cutap");
    let python = pythons().pop().unwrap();
    let stdout = record(&python, &["--python", "--stack"], &file);
    let (printed, recorded) = (printed(&stdout), recorded(&file));
    for (tid, of_thread) in &printed {
        for (frames, (found, _)) in of_thread.iter().zip(&recorded[tid]) {
            assert_eq!(frames[..frames.len().min(MOST)], found[..], "{}", python.display());
        }
    }
    let text = shown(&["show", "-e", "cuCtxSynchronize"], &file);
    let called_back: Vec<&str> = text.lines().skip_while(|line| !line.contains("at called_back.")).take(40).collect();
    let place = |word: &str| called_back.iter().position(|line| line.contains(word));
    let (callback, sorts) = (place("<lambda>").or(place("called_back.")), place("at qsort"));
    assert!(callback < sorts && sorts < place("at called_back lines.py"), "{called_back:?}");
}

#[test]
fn reports_of_lines() {
    let folder = scratch("python");
    let (file, python) = (folder.join("run.cutap"), Path::new("python3"));
    record(python, &["--python"], &file);
    let table = shown(&["report", "--by", "line"], &file);
    let row = |name: &str| table.lines().find(|line| line.trim_start().starts_with(name)).map(str::to_owned);
    let wait = row("lines.py:30 wait").unwrap_or_else(|| panic!("{table}"));
    assert!(wait.split_whitespace().nth(2).unwrap().parse::<u64>().unwrap() > 400, "{wait}");
    let callers = shown(&["report", "--callers", "cuMemFree"], &file);
    assert!(callers.contains("  code of Python") && callers.contains("    main lines.py:"), "{callers}");
    let text = shown(&["show", "-e", "cuCtxSynchronize"], &file);
    assert!(text.contains("    at f <string>:3 [Python, no file]\n"), "{text}");
}

/// A filter chooses other calls; without the flag, there is no frame and no report.
#[test]
fn chosen_calls() {
    let folder = scratch("python");
    let (file, python) = (folder.join("run.cutap"), Path::new("python3"));
    record(python, &["--python=cuInit"], &file);
    let json = shown(&["show", "--json"], &file);
    let with_frames: Vec<Value> = json_lines(&json).filter(|line| line.get("stack").is_some()).collect();
    assert_eq!(with_frames.iter().map(|call| call["name"].as_str().unwrap()).collect::<Vec<_>>(), ["cuInit"]);
    record(python, &["--force"], &file);
    let refused = finish(Command::new(cutap()).args(["report", "--by", "line"]).arg(&file));
    assert!(!refused.status.success() && refused.stderr.contains("cutap record --python"), "{}", refused.everything());
}

/// Threads, signals, forks and the garbage collector at the same time, up to the end of the interpreter.
#[test]
fn storm() {
    let folder = scratch("python");
    let file = folder.join("run.cutap");
    let seconds = env::var("CUTAP_STORM_SECONDS").unwrap_or_else(|_| "0.7".to_owned());
    for python in pythons() {
        let run = |words: &[&str]| {
            let mut command = Command::new(cutap());
            command.args(["record", "--sim", "-q", "--force"]).args(words).arg("-o").arg(&file).arg("--").arg(&python);
            let ran = finish(command.arg(sources().join("python/storm.py")).arg(&seconds));
            assert!(ran.status.success(), "{}: {}", python.display(), ran.everything());
            ran.stdout
        };
        assert_eq!(run(&["--python"]), "child 7\nchild 7\nchild 7\ndone\n", "{}", python.display());
        let notes = shown(&["report", "--notes"], &file);
        assert!(!notes.contains("Python"), "{notes}");
    }
}

/// A program closes a library with Python in it: no call goes there any more. Four are met.
#[test]
fn python_that_is_unloaded() {
    let folder = scratch("python");
    let build = |name: &str, words: &[&str]| {
        let place = folder.join(name);
        let mut gcc = Command::new("gcc");
        gcc.args(["-O1", "-Wall", "-o"]).arg(&place).arg(sources().join("python/unloaded.c")).args(words);
        let done = finish(gcc.arg("-ldl"));
        assert!(done.status.success(), "{}", done.everything());
        place
    };
    let library = build("libpython3.11.so.1.0", &["-DLIBRARY", "-shared", "-fPIC"]);
    let program = build("unloaded", &[]);
    let file = folder.join("run.cutap");
    let mut record = Command::new(cutap());
    record.args(["record", "--sim", "-q", "--python", "-o"]).arg(&file).arg("--").arg(program).arg(library);
    let ran = finish(&mut record);
    assert!(ran.status.success(), "{}", ran.everything());
    assert!(ran.stdout.starts_with("asked it\nasked it\n") && ran.stdout.ends_with("ok\n"), "{}", ran.everything());
}

/// Another code object comes in the place of one, and differs only in lines in the middle.
#[test]
fn replaced_code() {
    let folder = scratch("python");
    let file = folder.join("run.cutap");
    for python in pythons() {
        let mut record = Command::new(cutap());
        record.args(["record", "--sim", "-q", "--python", "--force", "-o"]).arg(&file).arg("--").arg(&python);
        let ran = finish(record.arg(sources().join("python/replaced.py")));
        assert!(ran.status.success(), "{}: {}", python.display(), ran.everything());
        let printed: Value = json_lines(&ran.stdout).next().expect("a line");
        if printed["replaced"].as_u64() < Some(5) {
            println!("skipped: {}: memory of code objects was not used again", python.display());
            continue;
        }
        let json = shown(&["show", "--json", "-e", "cuMemFree"], &file);
        let mut lines: Vec<u64> = Vec::new();
        for call in json_lines(&json).filter(|line| line["type"] == "call" && line["args"][0] == "0x27") {
            let stack = call["stack"].as_array().unwrap_or_else(|| panic!("no frames: {call}"));
            let frame = stack.iter().find(|frame| frame["function"] == "f").unwrap_or_else(|| panic!("{call}"));
            lines.push(frame["line"].as_u64().unwrap_or(0));
        }
        let expected: Vec<u64> = (0..21).map(|n| 243 + n % 2).collect();
        assert_eq!(lines, expected, "{}", python.display());
    }
}

/// `python -m cutap` of the wheel starts the program that is in it, and puts this Python in front of a script.
#[test]
fn wheel() {
    let folder = scratch("python");
    let root = sources().join("../..");
    let mut build = Command::new("python3");
    build.arg(root.join("xtask/wheel/build.py")).args(["/bin/echo", "1.2.3"]).arg(folder.join("dist"));
    let built = finish(&mut build);
    assert!(built.status.success(), "{}", built.everything());
    let name = built.stdout.trim();
    assert!(name.contains("/cutap-1.2.3-py3-none-manylinux_2_") && name.ends_with("_x86_64.whl"), "{name}");
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target"]).arg(folder.join("site")).arg(name);
    let installed = finish(&mut pip);
    assert!(installed.status.success(), "{}", installed.everything());
    let plugins = fs::read_to_string(folder.join("site/cutap-1.2.3.dist-info/entry_points.txt")).unwrap();
    assert!(plugins.contains("[pytest11]\ncutap = cutap.pytest_plugin\n"), "{plugins}");
    let file = name.rsplit('/').next().unwrap();
    assert!(fs::read_to_string(folder.join("dist/SHA256SUMS")).unwrap().ends_with(&format!("  {file}\n")));
    fs::write(folder.join("train.py"), "").unwrap();
    let says = |words: &[&str]| {
        let mut python = Command::new("python3");
        python.args(["-m", "cutap"]).args(words).current_dir(&*folder).env("PYTHONPATH", folder.join("site"));
        let ran = finish(&mut python);
        assert!(ran.status.success(), "{}", ran.everything());
        ran.stdout
    };
    let script = says(&["record", "--python", "train.py", "3"]);
    let words: Vec<&str> = script.split_whitespace().collect();
    assert!(
        matches!(words[..], ["record", "--python", python, "train.py", "3"] if python.contains("/python")),
        "{script}"
    );
    assert_eq!(says(&["report", "--leaks"]), "report --leaks\n");
    assert_eq!(says(&["record", "sh", "train.py"]), "record sh train.py\n");
}
