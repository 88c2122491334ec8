//! Programs for musl: cutap leaves them alone, counts them and says so. They run as without cutap, and programs for
//! glibc that they start are traced. Without musl-gcc (apt install musl-tools) each test says that it was skipped.

use cutap_e2e::{Counts, Finished, Scratch, counted, cutap, finish, out, scratch, shown, sources, summary, wait_for};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const ONE: &str =
    "cutap: 1 process of another C library than glibc (such as musl): left alone, its calls were not seen\n";
const AT_START: &str = "is built for musl, and cutap traces programs for glibc alone: it runs untraced";

/// The programs, in a separate folder; none, and a line, without the compiler.
fn built() -> Option<Scratch> {
    if Command::new("musl-gcc").arg("--version").output().is_err() {
        println!("skipped: programs for musl (there is no musl-gcc: apt install musl-tools)");
        return None;
    }
    let folder = scratch("musl");
    let compile = |source: &str, output: &str, words: &[&str]| {
        let mut gcc = Command::new("musl-gcc");
        gcc.args(["-O1", "-Wall", "-Wextra", "-Werror"]).arg(sources().join("musl").join(source));
        gcc.args(["-o", output]).args(words).current_dir(&*folder);
        let done = finish(&mut gcc);
        assert!(done.status.success(), "{gcc:?}\n{}", done.stderr);
    };
    compile("one.c", "libtwo.so", &["-shared", "-fPIC", "-DWHICH=2"]);
    compile("one.c", "libthree.so", &["-shared", "-fPIC", "-DWHICH=3"]);
    compile("passes.c", "passes", &["-L.", "-ltwo", "-Wl,-rpath,$ORIGIN"]);
    compile("refused.c", "refused", &[]);
    compile("refused.c", "static", &["-static"]);
    Some(folder)
}

/// Runs a program in the folder.
fn run(folder: &Path, words: &[&str]) -> Finished {
    counts(folder).iter().for_each(|file| fs::remove_file(file).unwrap());
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(folder).env("LD_LIBRARY_PATH", out()).env("CUTAP_TEST", "1");
    command.env("LAZY", out().join("lazy"));
    finish(&mut command)
}

/// Where the fixtures have counted their calls, a file for each process.
fn counts(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    files.filter(|path| path.file_stem().is_some_and(|name| name == "counts")).collect()
}

/// The calls that the last run made.
fn real(folder: &Path) -> Counts {
    let mut all = Counts::new();
    for (function, calls) in counts(folder).iter().flat_map(|file| counted(file)) {
        *all.entry(function).or_default() += calls;
    }
    all
}

fn under(folder: &Path, before: &[&str], words: &[&str]) -> Finished {
    let cutap = cutap().to_str().unwrap();
    run(folder, &[&[cutap], before, &["--"], words].concat())
}

fn said(run: &Finished) -> (&str, Option<i32>) {
    (&run.stdout, run.status.code())
}

/// A script that runs a program for glibc.
const GLIBC: &str = "FIXTURE_COUNTS=counts.$$ \"$LAZY\" && exit 3";
/// It is run by vfork, posix_spawn, system and fork.
const PASSES: [&str; 3] = ["./passes", "./libthree.so", GLIBC];

#[test]
fn it_runs_as_without_cutap_and_what_it_starts_is_traced() {
    let Some(folder) = built() else { return };
    let plain = run(&folder, &PASSES);
    assert_eq!(said(&plain), ("ok\nok\nok\nok\nok\n", Some(7)), "{plain:?}");
    let once = real(&folder);
    let traced = under(&folder, &["trace", "-c", "--json"], &PASSES);
    assert_eq!(said(&traced), said(&plain), "{traced:?}");
    assert_eq!(summary(&traced.stderr), real(&folder));
    assert_eq!((&real(&folder), once["libcuda.so.1:cuInit"]), (&once, 8));
    let text = under(&folder, &["trace"], &PASSES).stderr;
    assert!(
        text.contains(&format!("cutap: passes {AT_START}; programs for glibc that it starts are traced\n")),
        "{text}"
    );
    assert!(text.contains(&format!("{ONE}cutap:   passes\n")), "{text}");
}

#[test]
fn its_vfork_fails_as_without_cutap() {
    let Some(folder) = built() else { return };
    let plain = run(&folder, &["./refused"]);
    if plain.stdout == "no seccomp\n" {
        return println!("skipped: a vfork that fails (no seccomp here)");
    }
    assert_eq!(said(&plain), ("ok\n", Some(7)));
    assert_eq!(said(&under(&folder, &["trace"], &["./refused"])), said(&plain));
}

#[test]
fn children_are_counted_and_named_once() {
    let Some(folder) = built() else { return };
    let script = "for i in 1 2 3; do ./refused; done; \"$0\" ./refused; ./passes ./libthree.so \"$1\"";
    let loader = "/lib/ld-musl-x86_64.so.1";
    let words = ["sh", "-c", script, loader, GLIBC];
    let plain = run(&folder, &words);
    let recorded = under(&folder, &["record", "--run-dir", "run", "-o", "run.cutap"], &words);
    assert_eq!(said(&recorded), said(&plain), "{recorded:?}");
    let lines =
        "cutap: 5 processes of another C library than glibc (such as musl): left alone, their calls were not seen\n";
    assert!(recorded.stderr.contains(lines), "{}", recorded.stderr);
    let names: Vec<&str> = recorded.stderr.lines().filter_map(|l| l.strip_prefix("cutap:   ")).collect();
    // What the kernel has started is the loader, which is musl's library.
    let image = fs::canonicalize(loader).unwrap();
    let mut expected = vec![image.file_name().unwrap().to_str().unwrap(), "passes", "refused"];
    expected.sort();
    assert_eq!(names, expected);
    // The recording has it too, and the run directory.
    for of in ["run.cutap", "run"] {
        let show = finish(Command::new(cutap()).args(["show", "-c"]).arg(folder.join(of)));
        assert!(show.everything().contains(lines), "{of}");
    }
    assert_eq!(shown(&folder.join("run.cutap")), real(&folder));
    assert!(!recorded.stderr.contains(AT_START));
}

#[test]
fn without_children_it_is_counted_only_as_the_program() {
    let Some(folder) = built() else { return };
    let flags = ["trace", "--no-follow-children"];
    let child = under(&folder, &flags, &["sh", "-c", "./refused; exit 7"]);
    assert_eq!((said(&child), child.stderr.contains("another C library")), (("ok\n", Some(7)), false), "{child:?}");
    let program = under(&folder, &flags, &PASSES).stderr;
    assert!(program.contains(ONE) && program.contains(&format!("{AT_START}\n")), "{program}");
    assert!(!program.contains("cuInit"), "{program}");
}

#[test]
fn the_run_waits_for_one_that_lives_longer() {
    let Some(folder) = built() else { return };
    let script = "./passes ./libthree.so \"sleep 0.5; $0\" >late 2>&1 &";
    let recorded = under(&folder, &["record", "-o", "run.cutap"], &["sh", "-c", script, GLIBC]);
    assert!(
        recorded.stderr.contains("(passes), ") && recorded.stderr.contains("added to the recording until"),
        "{recorded:?}"
    );
    let ended = || fs::read_to_string(folder.join("late")).is_ok_and(|text| text.ends_with("ok\n"));
    let whole = || {
        let show = finish(Command::new(cutap()).args(["show", "-c", "--json"]).arg(folder.join("run.cutap")));
        show.status.success() && show.stdout.contains("\"state\":\"ended\"")
    };
    wait_for("the recording's end", Duration::from_secs(60), || ended() && whole());
    assert!(!real(&folder).is_empty());
    assert_eq!(shown(&folder.join("run.cutap")), real(&folder));
}

#[test]
fn hooks_say_that_they_had_no_part_in_it() {
    let Some(folder) = built() else { return };
    let header = sources().join("../../crates/hook/include");
    let mut gcc = Command::new("gcc");
    gcc.args(["-shared", "-fPIC", "-o", "nothing.so", "-I"]).arg(header).arg(sources().join("hooks/nothing.c"));
    assert!(finish(gcc.current_dir(&*folder)).status.success());
    let done = under(&folder, &["run", "--hook", "./nothing.so"], &["sh", "-c", "./refused; exit 5"]);
    assert_eq!(said(&done), ("ok\n", Some(5)), "{done:?}");
    assert!(done.stderr.contains(&format!("{ONE}cutap:   refused\n")), "{done:?}");
}

#[test]
fn a_static_one_is_refused_and_untouched_as_a_child() {
    let Some(folder) = built() else { return };
    let program = under(&folder, &["trace"], &["./static"]);
    assert_eq!(said(&program), ("", Some(125)), "{program:?}");
    assert!(program.stderr.contains("it is statically linked"), "{program:?}");
    let child = under(&folder, &["trace"], &["sh", "-c", "./static; exit 5"]);
    assert_eq!((said(&child), child.stderr.contains("left alone")), (("ok\n", Some(5)), false), "{child:?}");
}
