//! The layer `hidden`: the functions in the tables that cuGetExportTable returns. Real runtimes: every call, as often as the
//! simulated driver counts it. Tables that are damaged, shared by threads or unloaded: every call that can be seen, and a
//! reason for each table that is left alone.

use crate::real::{Run, Runtime, build, linked, program, run, shared, sim, tally, text};
use crate::{LINKED, SHARED};
use cutap_e2e::{Counts, cutap, finish, json_lines, out, scratch};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

const FOOTPRINT: &str = "made only because runtime calls are watched";
/// No other layer.
const ALONE: &str = "hidden,!library,!runtime,!driver";
/// The tables that are never wrapped.
const LEFT: [&str; 2] = ["a094798c", "d4082055"];

/// The calls that the simulated driver counted in tables that are wrapped.
fn counted_by_driver(run: &Run) -> Counts {
    let file = fs::read_to_string(run.folder.join("hidden")).expect("the driver writes its counts");
    let count = |line: &str| {
        let (name, calls) = line.split_once(' ').expect("a name and a number");
        (name.to_owned(), calls.parse().expect("a number"))
    };
    file.lines().map(count).filter(|(name, _)| !LEFT.iter().any(|left| name.starts_with(left))).collect()
}

fn hidden(run: &Run) -> Counts {
    tally(&run.calls("hidden"), |c| text(c, "name").to_owned())
}

/// The same calls whether or not the runtime reports to cutap, and each one that the driver counted.
fn as_often_as_the_driver_counts(runtime: Runtime) {
    let Some(program) = program("runtime", runtime, &[]) else { return };
    let alone = run(&program, &[], &["--json", "-e", ALONE]);
    let calls = hidden(&alone);
    assert_eq!(calls, counted_by_driver(&alone), "{} alone", runtime.version);
    assert!(calls.contains_key("6bd5fb6c[2]") && calls.get("c693336e[2]").is_some_and(|n| *n > 10), "{calls:?}");
    assert_eq!((alone.counted(FOOTPRINT), alone.counted("hidden tables left alone")), (0, 1), "{}", alone.text);

    let with_all = run(&program, &[], &["--json", "-e", "hidden"]);
    assert_eq!(hidden(&with_all), calls, "{} with all layers", runtime.version);
    let counted: u64 = counted_by_driver(&with_all).values().sum();
    assert_eq!(counted, calls.values().sum::<u64>() + with_all.counted(FOOTPRINT), "{}", runtime.version);
    assert!(with_all.counted(FOOTPRINT) > 20);
    // A call of the runtime is the parent.
    let storage = with_all.calls("hidden").into_iter().filter(|c| c["name"] == "c693336e[2]" && c["depth"] != 0);
    assert!(storage.count() > 10, "{}", with_all.text);

    let off = run(&program, &[], &["--json"]);
    assert_eq!((hidden(&off).len(), off.counted("hidden")), (0, 0), "{}", runtime.version);
}

#[test]
fn as_often_as_the_driver_counts_linked_in() {
    LINKED.into_iter().for_each(as_often_as_the_driver_counts);
}

#[test]
fn as_often_as_the_driver_counts_shared() {
    // 11.8, 12.9 and 13.5.
    SHARED.into_iter().skip(1).step_by(3).chain(SHARED.into_iter().last()).for_each(as_often_as_the_driver_counts);
}

/// Each way to the function that returns a table: no runtime requests this one, so nothing but the route shows it.
#[test]
fn a_table_by_each_route() {
    for runtime in [linked("12.9"), shared("13.0")] {
        let Some(library) = runtime.library() else { continue };
        let rpath = format!("-Wl,-rpath,{}", library.parent().expect("a file in a folder").display());
        let name = format!("hidden_routes-{}", runtime.version);
        let words = [library.display().to_string(), rpath, format!("{}/libcuda.so.1", sim())];
        let program = build("hidden_routes", &name, &words);
        for route in ["link", "dlsym", "cuGetProcAddress", "cudaGetExportTable"] {
            let run = run(&program, &[route], &["--json", "-e", ALONE]);
            let calls = hidden(&run);
            assert_eq!(calls.get("1734dc26[4]"), Some(&3), "{} {route}: {calls:?}", runtime.version);
            assert_eq!(calls, counted_by_driver(&run), "{} {route}", runtime.version);
        }
    }
}

/// The folder of the driver with bad tables, of the NVML that returns the same, and of a profiler.
fn driver() -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let made = FOLDER.get_or_init(|| {
        let folder = out().join("hidden");
        fs::create_dir_all(&folder).expect("the target folder is writable");
        for (source, library) in [
            ("hidden_driver", "libcuda.so.1"),
            ("hidden_driver", "libnvidia-ml.so.1"),
            ("hidden_profiler", "libcupti.so.13"),
        ] {
            let soname = format!("-Wl,-soname,{library}");
            let built = build(source, &format!("{library}-hidden"), &["-shared", "-fPIC", soname.as_str()]);
            fs::copy(built, folder.join(library)).expect("a copy");
        }
        folder
    });
    made.clone()
}

struct Traced {
    lines: Vec<Value>,
    /// Whether the word of the good table was replaced.
    word: String,
}

fn traced(mode: &str, filter: &[&str]) -> Traced {
    traced_program("hidden", mode, filter)
}

fn traced_program(name: &str, mode: &str, filter: &[&str]) -> Traced {
    let program = build(name, name, &["-ldl"]);
    let folder = scratch("hidden");
    let plain = finish(Command::new(&program).arg(mode).env("LD_LIBRARY_PATH", driver()));
    assert_eq!((plain.stdout.as_str(), plain.status.success()), ("ok\n", true), "{plain:?}");
    let mut command = Command::new(cutap());
    command
        .args(["trace", "--json"])
        .args(filter)
        .arg("-o")
        .arg(folder.join("trace"))
        .arg("--")
        .arg(&program)
        .arg(mode);
    let run = finish(command.env("LD_LIBRARY_PATH", driver()).env("TABLES", folder.join("tables")));
    assert_eq!((run.stdout.as_str(), run.status.success()), ("ok\n", true), "{run:?}");
    let lines = fs::read_to_string(folder.join("trace")).expect("a trace");
    let lines = json_lines(&lines).collect();
    Traced { lines, word: fs::read_to_string(folder.join("tables")).unwrap_or_default().trim().to_owned() }
}

impl Traced {
    /// The calls of a layer, in order of their start.
    fn of(&self, layer: &str) -> Vec<Value> {
        let mut calls: Vec<Value> =
            self.lines.iter().filter(|l| l["type"] == "call" && l["layer"] == layer).cloned().collect();
        calls.sort_by_key(|call| call["start_ns"].as_u64());
        calls
    }
    fn calls(&self) -> Counts {
        let calls = self.of("hidden");
        for call in &calls {
            assert_eq!((text(call, "state"), &call["args"][5]), ("done", &"0x6".into()), "{call}");
        }
        tally(&calls, |c| text(c, "name").to_owned())
    }
    /// Tables that were left alone, with the reason.
    fn left(&self) -> Vec<String> {
        let end = self.lines.iter().find(|l| l["type"] == "end").expect("an end");
        let gaps = end["gaps"].as_array().expect("a list").iter();
        gaps.map(|g| format!("{} {}", text(g, "what"), g["more"].as_str().unwrap_or("-"))).collect()
    }
}

fn counts(of: &[(&str, u64)]) -> Counts {
    of.iter().map(|(name, calls)| ((*name).to_owned(), *calls)).collect()
}

/// A damaged size word, a table that cannot be written, pointers that lead elsewhere, tables shorter than known: left
/// alone, each with its reason, once.
#[test]
fn tables_that_are_left_alone() {
    let run = traced("bad", &["-e", "hidden"]);
    let seen = [("10000000[1]", 2), ("10000000[2]", 2), ("21318c60[1]", 2), ("21318c60[2]", 2)];
    assert_eq!((run.calls(), run.word.as_str()), (counts(&seen), "replaced"));
    let mut left = run.left();
    left.sort();
    let expected = [
        "11000000 its size word is damaged",
        "12000000 its size word is damaged",
        "13000000 a pointer in it leads outside the library's code",
        "14000000 no size word, and no known length",
        "15000000 its page could not be made writable",
        "16000000 it is not aligned",
        "c693336e a pointer in it leads outside the library's code",
    ];
    assert_eq!(left, expected);
}

#[test]
fn two_threads_request_a_table_at_once() {
    for _ in 0..5 {
        let run = traced("threads", &["-e", "hidden"]);
        assert_eq!(run.calls(), counts(&[("10000000[1]", 2000), ("10000000[2]", 2000)]));
    }
}

#[test]
fn the_library_is_unloaded_and_loaded_again() {
    let run = traced("reload", &["-e", "hidden"]);
    assert_eq!(run.calls(), counts(&[("10000000[1]", 4), ("10000000[2]", 4)]));
}

#[test]
fn no_word_is_replaced_that_nobody_asked_for() {
    for filter in [&[][..], &["-e", "*"], &["-e", "hidden:21318c60[*]"], &["-e", "hidden,!hidden:10000000[?]"]] {
        let run = traced("reload", filter);
        assert_eq!((run.calls(), run.word.as_str()), (Counts::new(), "unchanged"), "{filter:?}");
    }
    let run = traced("reload", &["-e", "10000000[2]"]);
    assert_eq!((run.calls(), run.word.as_str()), (counts(&[("10000000[2]", 4)]), "unchanged"));
}

/// A call that a hidden function makes is its child: it starts later, ends earlier, and is one deeper.
#[test]
fn calls_below_are_children() {
    let run = traced_program("hidden_others", "nested", &["-e", "hidden"]);
    let number = |call: &Value, field: &str| call[field].as_u64().unwrap_or_else(|| panic!("no {field} in {call}"));
    let end = |call: &Value| number(call, "start_ns") + number(call, "duration_ns");
    let [each] = &run.of("hidden")[..] else { panic!("{:?}", run.lines) };
    let driver = run.of("driver");
    let init = driver.iter().find(|call| call["name"] == "cuInit").expect("the call inside");
    assert_eq!((text(each, "name"), number(each, "depth") + 1), ("17000000[1]", number(init, "depth")));
    assert!(number(each, "start_ns") <= number(init, "start_ns") && end(init) <= end(each), "{each} {init}");
    assert_eq!(each["args"].as_array().map(Vec::len), Some(6), "{each}");
}

/// A table that a profiler shares with the program is wrapped, and the profiler's calls have its name. A table that
/// only the profiler requests is unchanged.
#[test]
fn a_profiler_beside_the_program() {
    let run = traced_program("hidden_others", "profiler", &["-e", "hidden"]);
    let who: Vec<(String, String)> = run
        .of("hidden")
        .iter()
        .map(|call| (text(call, "name").to_owned(), text(call, "caller_library").to_owned()))
        .collect();
    let expected = [("10000000[1]", "hidden_others"), ("10000000[1]", "libcupti.so.13")];
    assert_eq!(who, expected.map(|(name, library)| (name.to_owned(), library.to_owned())));
    assert_eq!(run.left(), ["18000000 requested by a profiler"]);
}

/// `libcupti:hidden`: the calls of one library or program, while it is traced and from a recording; and a table of
/// slowest calls has the caller of each.
#[test]
fn the_calls_of_one_library() {
    let program = build("hidden_others", "hidden_others", &["-ldl"]);
    let folder = scratch("hidden-callers");
    let file = folder.join("run.cutap");
    let mut command = Command::new(cutap());
    command.args(["record", "-e", "hidden", "-o"]).arg(&file).arg("--").arg(&program).arg("profiler");
    let ran = finish(command.env("LD_LIBRARY_PATH", driver()));
    assert!(ran.status.success(), "{ran:?}");
    let ask = |words: &[&str]| finish(Command::new(cutap()).args(words).arg(&file)).stdout;
    for (filter, caller) in [
        ("libcupti:hidden", "libcupti.so.13"),
        ("libcupti:10000000[*]", "libcupti.so.13"),
        ("libcupti.so.13:10000000[1]", "libcupti.so.13"),
        ("hidden_others:hidden", "hidden_others"),
    ] {
        let live = traced_program("hidden_others", "profiler", &["-e", filter]);
        let from_file: Vec<Value> =
            json_lines(&ask(&["show", "--json", "-e", filter])).filter(|l| l["type"] == "call").collect();
        for calls in [live.of("hidden"), from_file] {
            let [call] = &calls[..] else { panic!("{filter}: {calls:?}") };
            assert_eq!((text(call, "name"), text(call, "caller_library")), ("10000000[1]", caller), "{filter}");
        }
        assert_eq!((live.of("driver").len(), live.of("runtime").len()), (0, 0), "{filter}");
        let slowest = ask(&["report", "--slowest", "-e", filter]);
        assert!(slowest.contains("10000000[1](1, 2, ") && slowest.contains(&format!(" [{caller}]\n")), "{slowest}");
    }
    let none = finish(Command::new(cutap()).args(["report", "-e", "libcublas:hidden"]).arg(&file));
    assert!(none.stderr.contains("nothing matched the filter libcublas:hidden"), "{none:?}");
    assert!(!none.stderr.contains("means the library that has the function"), "{none:?}");
}

/// Reports find a hidden function by its slot, by its known name, and as `show` prints it.
#[test]
fn callers_of_a_hidden_function() {
    let Some(program) = program("runtime", linked("12.9"), &[]) else { return };
    let folder = scratch("hidden-names");
    let file = folder.join("run.cutap");
    let ran = finish(Command::new(cutap()).args(["record", "--sim", "-e", "hidden", "-o"]).arg(&file).arg(program));
    assert!(ran.status.success(), "{ran:?}");
    let report = |words: &[&str]| finish(Command::new(cutap()).arg("report").args(words).arg(&file)).stdout;
    let shown = finish(Command::new(cutap()).args(["show", "-e", "c693336e[2]"]).arg(&file)).stdout;
    let calls = shown.lines().filter(|l| l.contains("] c693336e[2]:storage_get(")).count();
    assert!(calls > 10, "{shown}");
    for name in ["c693336e[2]", "hidden:c693336e[2]", "storage_get", "c693336e[2]:storage_get"] {
        let callers = report(&["--callers", name]);
        let row = callers.lines().nth(1).unwrap_or_default();
        assert!(row.starts_with("c693336e[2]:storage_get [libcuda.so.1] "), "{name}: {callers}");
        assert_eq!(row.split_whitespace().nth(2), Some(&*calls.to_string()), "{name}: {callers}");
    }
    for name in ["c693336e[2]", "hidden:c693336e[2]"] {
        let under = report(&["-e", &format!("under:{name}")]);
        assert!(under.contains("\nc693336e[2]:storage_get [cuda] "), "{name}: {under}");
    }
    let none = report(&["-e", "under:c693336e[9]"]);
    assert_eq!(none, "there is no call to show\n");
}

#[test]
fn tables_of_nvml() {
    let run = traced_program("hidden_others", "nvml", &["-e", "hidden"]);
    assert_eq!(
        (run.calls(), run.left().as_slice()),
        (counts(&[("10000000[1]", 1)]), &["14000000 no size word, and no known length".to_owned()][..])
    );
}
