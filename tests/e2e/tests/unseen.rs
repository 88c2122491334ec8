//! A run that sees nothing says so and why that may be: nobody was reached, a process loaded the driver and shows no
//! call, another cutap took the calls. A run that sees calls says nothing of it, and the exit code is the program's in
//! each case.

use cutap_e2e::{Finished, cutap, finish, out, scratch};
use std::fs;
use std::path::Path;
use std::process::Command;

const ALONE: &str = "which is not known to have loaded libcuda.so.1";
const WHY: &str = "started with a cleaned environment (env -i, sudo)";

/// cutap with these words, where `lazy` and the like find the fixtures.
fn run(words: &[&str]) -> Finished {
    finish(Command::new(cutap()).args(words).env("LD_LIBRARY_PATH", out()).env_remove("CUTAP_RUN").current_dir(out()))
}

/// cutap's own lines.
fn said(run: &Finished) -> Vec<&str> {
    run.stderr.lines().filter(|l| l.starts_with("cutap: ")).collect()
}

fn path(file: &Path) -> &str {
    file.to_str().expect("a scratch folder's path is text")
}

/// `words` that start a program, in each form of a trace and as a recording: the one line that all of them say on
/// standard error.
fn says(words: &[&str], part: &str, code: i32) {
    let folder = scratch("says");
    let (trace, recording) = (folder.join("trace"), folder.join("run.cutap"));
    let forms: [&[&str]; 6] = [
        &["trace"],
        &["trace", "-c"],
        &["trace", "-C"],
        &["trace", "--json"],
        &["trace", "-o", path(&trace)],
        &["record", "-o", path(&recording)],
    ];
    for form in forms {
        let done = run(&[form, &["--"], words].concat());
        assert_eq!(done.status.code(), Some(code), "{form:?} {words:?}: {done:?}");
        let lines = said(&done);
        assert!(lines.len() == 1 && lines[0].contains(part), "{form:?} {words:?}: {part} in {done:?}");
    }
    // Where it is written down, it is there too.
    assert!(fs::read_to_string(&trace).unwrap().contains(part));
    for words in [&["show"][..], &["report"]] {
        let done = run(&[words, &[path(&recording)]].concat());
        assert!(done.status.success(), "{words:?}: {done:?}");
        let text = done.everything();
        assert!(text.contains(part), "{words:?}: {text}");
    }
}

#[test]
fn a_cleaned_environment() {
    let library = format!("LD_LIBRARY_PATH={}", path(out()));
    says(&["env", "-i", &library, "./lazy"], ALONE, 0);
    says(&["env", "-i", "/bin/sh", "-c", "exit 3"], WHY, 3);
    says(
        &["sh", "-c", &format!("env -i {library} ./lazy; exit 4")],
        "cutap was loaded into 2 programs, none of which",
        4,
    );
}

#[test]
fn a_run_that_sees_calls_says_nothing_of_it() {
    for form in [&["trace", "-o", "/dev/null"][..], &["trace"], &["trace", "-C"], &["record", "-o", "/dev/null"]] {
        let done = run(&[form, &["--", "sh", "-c", "./lazy; LD_PRELOAD=libdl.so.2 /bin/true"]].concat());
        assert!(done.status.success() && said(&done).is_empty(), "{form:?}: {done:?}");
    }
}

/// Beside seen calls they are counted. A program that could not be started is none.
#[test]
fn programs_with_a_cleaned_environment_are_counted() {
    let script =
        "./lazy; env -i true; env -u CUTAP_RUN true; (unset LD_PRELOAD; true; /bin/true; /nonexistent; exec true)";
    for form in [&["trace"][..], &["trace", "-C"], &["record", "-o", "/dev/null"]] {
        let done = run(&[form, &["--", "sh", "-c", script]].concat());
        let lines = said(&done);
        assert!(lines.len() == 1 && lines[0].starts_with("cutap: 4 programs were started with"), "{form:?}: {done:?}");
    }
}

/// A child that no library can be loaded into.
#[test]
fn a_static_child() {
    let folder = scratch("static");
    let (source, program) = (folder.join("s.c"), folder.join("static"));
    fs::write(&source, "int main(void) { return 5; }\n").unwrap();
    let built = Command::new("gcc").args(["-static", "-o"]).arg(&program).arg(&source).output();
    if !built.is_ok_and(|b| b.status.success()) {
        return eprintln!("skipped: a static child (gcc -static does not work here)");
    }
    says(&["sh", "-c", &format!("{}; exit $?", path(&program))], "statically linked, setuid", 5);
}

/// The folder is there and cannot be written to: the program runs on as without cutap.
#[test]
fn a_read_only_run_folder() {
    let may = Command::new("unshare").args(["-m", "sh", "-c", "mount --bind /tmp /tmp"]).output();
    if !may.is_ok_and(|o| o.status.success()) {
        return eprintln!("skipped: a read-only run directory (unshare -m and mount are not allowed here)");
    }
    let scratch = scratch("read_only");
    let folder = scratch.join("run");
    let script = "mount --bind \"$1\" \"$1\" && LD_PRELOAD= mount -o remount,ro,bind \"$1\" && ! touch \"$1/x\" 2> /dev/null && exec ./lazy";
    for command in ["trace", "record"] {
        let form = [command, "--run-dir", path(&folder), "-o", "/dev/null", "--"];
        let done = run(&[&form[..], &["unshare", "-m", "sh", "-c", script, "sh", path(&folder)]].concat());
        assert!(done.status.success() && done.stdout.ends_with("ok\n"), "{done:?}");
        assert!(said(&done).len() == 1 && said(&done)[0].contains("a read-only mount"), "{done:?}");
        fs::remove_dir_all(&folder).unwrap();
    }
}

#[test]
fn children_that_were_not_wanted() {
    let done = run(&["trace", "--no-follow-children", "--", "sh", "-c", "./lazy; true"]);
    assert!(said(&done).concat().contains("children were left alone (--no-follow-children)"), "{done:?}");
}

/// No call was wanted: what says so already is said alone.
#[test]
fn other_reasons_have_their_own_lines() {
    for (words, part) in [
        (&["trace", "-e", "cuMemHostAlloc"][..], "nothing matched the filter cuMemHostAlloc"),
        (&["record", "-e", "cuMemHostAlloc", "-o", "/dev/null"], "no call that the filter of this run wants was seen"),
        (&["trace", "--capture-range=cudaProfilerApi"], "no call was made in the capture range"),
    ] {
        let done = run(&[words, &["--", "./elf_tables"]].concat());
        assert!(said(&done).len() == 1 && said(&done)[0].contains(part), "{words:?}: {done:?}");
    }
    // Whom cutap does not reach no filter reaches.
    let done = run(&["trace", "--capture-range=cudaProfilerApi", "--", "env", "-i", "true"]);
    assert!(said(&done).len() == 1 && said(&done)[0].contains(WHY), "{done:?}");
}

/// A process with the driver and without a call, in each form; a forked child that has it from its parent is not one
/// more.
#[test]
fn the_driver_without_a_call() {
    says(&["./elf_tables"], "libcuda.so.1 was loaded in elf_tables (process ", 0);
    says(&["sh", "-c", "./elf_tables; ./elf_tables_exit"], "and no call was seen there: they made none", 0);
    // A parent whose forked children make the calls lacks none.
    let done = run(&["record", "-o", "/dev/null", "--", "./many_rings"]);
    assert!(done.stdout == "60\n" && said(&done).is_empty(), "{done:?}");
    // Beside one whose calls are seen.
    let done = run(&["record", "-o", "/dev/null", "--", "sh", "-c", "./lazy; ./elf_tables"]);
    assert!(said(&done).len() == 1 && said(&done)[0].contains("was loaded in elf_tables (process "), "{done:?}");
    let json = run(&["trace", "--json", "--", "./elf_tables"]);
    let mut lines = json.stderr.lines().filter_map(|l| serde_json::from_str::<serde_json::Value>(l).ok());
    let end = lines.rfind(|l| l["type"] == "end").expect("an end");
    assert!(end["entered"] == 1 && end["inner"] == 0 && end["without_calls"].as_array().unwrap().len() == 1, "{end}");
}

/// The program uses the run that is nearest to it. Both say so, and the exit code stays.
#[test]
fn a_cutap_inside_another() {
    let folder = scratch("inside");
    let (outer, inner, own) = (folder.join("outer.cutap"), folder.join("inner.cutap"), path(cutap()));
    let there = "another cutap was started inside this one: calls of what it started went there, and are not here";
    let script =
        format!("{own} record -o {} -- ./lazy; {own} trace -o /dev/null -- sh -c './lazy; exit 7'", path(&inner));
    for (words, outside) in [
        (&[own, "trace", "-o", "/dev/null", "--", "sh", "-c", "./lazy; exit 7"][..], there),
        (&["sh", "-c", &script], "2 cutaps were started inside this one"),
    ] {
        let done = run(&[&["record", "-o", path(&outer), "--"], words].concat());
        assert_eq!(done.status.code(), Some(7), "{done:?}");
        let inside = |l: &&&str| {
            l.contains("this cutap runs inside another one (run directory /") && l.contains("go to this one only")
        };
        let (lines, runs) = (said(&done), if outside == there { 1 } else { 2 });
        assert_eq!(lines.iter().filter(inside).count(), runs, "{done:?}");
        assert!(lines.len() == runs + 1 && lines[runs].contains(outside), "{done:?}");
        assert!(run(&["show", path(&outer)]).everything().contains(outside));
    }
    assert!(run(&["show", path(&inner)]).stdout.contains("cuInit("), "the inner one has the calls");
    // The shell that was started by cutap sets the variables of another run.
    let script = format!("eval \"$({own} env -o {})\"; ./lazy", path(&folder.join("env")));
    let done = run(&["record", "-o", path(&outer), "--", "sh", "-c", &script]);
    assert!(done.stderr.contains("the calls of what is started with these variables go to this one only"), "{done:?}");
    assert!(said(&done).last().is_some_and(|l| l.contains(there)), "{done:?}");
}

/// What is left in the environment of a run that has ended, or never was, is not another cutap.
#[test]
fn a_run_that_is_over_is_not_around_this_one() {
    let folder = scratch("over");
    let over = folder.join("run");
    assert!(run(&["trace", "--run-dir", path(&over), "-o", "/dev/null", "--", "./lazy"]).status.success());
    for outer in [&*over, Path::new("/nonexistent"), Path::new("/etc"), Path::new("")] {
        let mut command = Command::new(cutap());
        command.args(["trace", "-o", "/dev/null", "--", "./lazy"]).env("CUTAP_RUN", outer).current_dir(out());
        let done = finish(command.env("LD_LIBRARY_PATH", out()));
        assert!(done.status.success() && said(&done).is_empty(), "{done:?}");
    }
}
