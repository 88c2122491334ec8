//! `--stack`: the frames of a call are what glibc's own unwinder finds, or cutap says why there are no more.

use cutap_e2e::{blocks, case, cutap, finish, json_lines, out, scratch};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// A run: what the program printed, and its calls in the order in which they were made.
struct Ran {
    printed: Vec<String>,
    calls: Vec<Value>,
    text: String,
}

fn command(file: &Path, words: &[&str], program: &Path) -> Command {
    let mut command = Command::new(cutap());
    command.args(words).arg("-o").arg(file).arg("--").arg(program);
    command.env("FIXTURE_COUNTS", file.with_extension("counts")).env("LD_LIBRARY_PATH", out());
    command
}

/// Records, and shows both ways.
fn record(words: &[&str], program: &Path) -> Ran {
    let folder = scratch("stacks");
    let file = folder.join("run.cutap");
    let words: Vec<&str> = ["record"].iter().chain(words).copied().collect();
    let ran = finish(&mut command(&file, &words, program));
    assert!(ran.status.success(), "{}", ran.everything());
    let (json, text) = (shown(&file, &["--json"]), shown(&file, &[]));
    Ran { printed: ran.stdout.lines().map(str::to_owned).collect(), calls: calls(&json), text }
}

fn shown(file: &Path, words: &[&str]) -> String {
    let shown = finish(Command::new(cutap()).arg("show").args(words).arg(file));
    assert!(shown.status.success(), "{}", shown.everything());
    shown.stdout
}

fn calls(json: &str) -> Vec<Value> {
    let lines = json_lines(json);
    let mut calls: Vec<Value> = lines.filter(|l| l["type"] == "call").collect();
    calls.sort_by_key(|c| c["start_ns"].as_u64());
    calls
}

/// Addresses of the frames, each once however many functions are inlined there.
fn addresses(call: &Value) -> Vec<String> {
    let frames = call["stack"].as_array().unwrap_or_else(|| panic!("no stack: {call}"));
    frames.iter().filter(|f| f["inlined"] == false).map(|f| f["address"].as_str().unwrap().to_owned()).collect()
}

fn functions(call: &Value) -> Vec<&str> {
    let frames = call["stack"].as_array().unwrap_or_else(|| panic!("no stack: {call}"));
    frames.iter().filter(|f| f["inlined"] == false).map(|f| f["function"].as_str().unwrap_or("?")).collect()
}

/// The frames of each call are those that the program printed right before, apart from the first, in which it does
/// both.
fn same_as_printed(ran: &Ran) {
    let names: Vec<&str> = ran.printed.iter().filter_map(|l| l.split_once(' ').map(|l| l.0)).collect();
    assert_eq!(names, ["plain", "recursive", "aligned", "callback", "deep", "thread", "handler", "alternate", "fibre"]);
    assert_eq!(ran.calls.len(), names.len());
    for (line, call) in ran.printed.iter().zip(&ran.calls) {
        let (name, printed) = line.split_once(' ').unwrap();
        let (printed, found): (Vec<&str>, _) = (printed.split(' ').collect(), addresses(call));
        let end = call["stack_end"].as_str().unwrap();
        match name {
            "deep" | "alternate" => {
                assert_eq!(end, "truncated", "{name}");
                assert!(found.len() < printed.len() && found.len() > 4, "{name}: {found:?} of {printed:?}");
            }
            // Neither unwinder knows who calls a fibre's first function.
            "fibre" => assert_eq!((end, found.len()), ("unknown", printed.len())),
            _ => assert_eq!((end, found.len()), ("whole", printed.len()), "{name}: {found:?}, printed {printed:?}"),
        }
        assert_eq!(found[1..], printed[1..found.len()], "{name}");
    }
}

#[test]
fn frames_are_what_glibc_finds() {
    let ran = record(&["--stack"], &out().join("stacks"));
    same_as_printed(&ran);
    let named = |n: usize| functions(&ran.calls[n]);
    assert_eq!(named(0)[..3], ["inner", "outer", "main"]);
    assert_eq!(named(1)[..3], ["inner", "outer", "recursive"]);
    assert_eq!(named(1).iter().filter(|f| **f == "recursive").count(), 21);
    assert_eq!(named(2)[..4], ["inner", "outer", "aligned", "main"]);
    assert!(named(3)[2] == "compare" && named(3).iter().any(|f| f.starts_with("qsort")), "{:?}", named(3));
    assert_eq!(named(5)[..3], ["inner", "outer", "thread"]);
    assert_eq!(named(6)[..4], ["inner", "outer", "handler", "<signal handler called>"]);
    assert_eq!(named(7)[..4], ["inner", "outer", "handler", "<signal handler called>"]);
    assert_eq!(named(8)[..3], ["inner", "outer", "fibre"]);
}

#[test]
fn a_stripped_program() {
    let ran = record(&["--stack"], &out().join("stacks_stripped"));
    same_as_printed(&ran);
    assert_eq!(functions(&ran.calls[0])[..3], ["?", "?", "?"]);
    let line = ran.text.lines().find(|l| l.starts_with("    at ")).expect("a frame");
    assert!(line.starts_with("    at stacks_stripped+0x"), "{line}");
}

#[test]
fn as_text() {
    let ran = record(&["--stack", "--stack-size=64K"], &out().join("stacks"));
    // What lies in libc has other names and lines on each system.
    let own = |l: &&str| !l.contains("[libc.so") && !l.contains("at libc.so") && !l.starts_with("cutap:");
    let lines: Vec<String> = ran.text.lines().filter(own).map(plain).collect();
    let golden = include_str!("../golden/stacks.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/stacks.txt");
        std::fs::write(path, lines.join("\n") + "\n").unwrap();
        return;
    }
    assert_eq!(lines, golden.lines().collect::<Vec<_>>(), "{}", ran.text);
    let folder = scratch("stacks");
    let trace = folder.join("trace");
    let live = finish(&mut command(&trace, &["trace", "--stack", "--stack-size=64K"], &out().join("stacks")));
    assert!(live.status.success(), "{}", live.everything());
    let live = std::fs::read_to_string(&trace).unwrap();
    assert_eq!(live.lines().filter(own).map(plain).collect::<Vec<_>>(), lines, "live");
}

/// Without ids, times, and what a compiler decides.
fn plain(line: &str) -> String {
    let line = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == '/');
    let line = if line.starts_with("  ") { format!("    {}", line.trim_start()) } else { line.trim_start().to_owned() };
    let cut = |line: &str, from: &str, to: fn(char) -> bool| match line.split_once(from) {
        Some((head, tail)) => format!("{head}{from}{}", tail.trim_start_matches(to)),
        None => line.to_owned(),
    };
    let line = cut(&line, "+0x", |c| c.is_ascii_hexdigit());
    match line.rsplit_once(" <") {
        Some((head, _)) if line.ends_with('>') && head.contains(" = ") => head.to_owned(),
        _ => line,
    }
}

#[test]
fn size() {
    let cut = record(&["--stack", "--stack-size", "512"], &out().join("stacks"));
    assert_eq!((functions(&cut.calls[1])[0], cut.calls[1]["stack_end"].as_str()), ("inner", Some("truncated")));
    let whole = record(&["--stack", "--stack-size", "64K"], &out().join("stacks"));
    assert_eq!(whole.calls[4]["stack_end"], "whole");
    assert_eq!(functions(&whole.calls[4]).iter().filter(|f| **f == "recursive").count(), 181);
    assert!(whole.text.contains(" x180\n"), "a recursion is one line");
    // Without the word there are no stacks, and nothing is said of them.
    let none = record(&[], &out().join("stacks"));
    assert!(none.calls.iter().all(|c| c.get("stack").is_none()) && !none.text.contains("stack"));
}

#[test]
fn plugins_come_and_go() {
    let ran = record(&["--stack"], &out().join("stacks_plugins"));
    let named: Vec<_> = ran.calls.iter().filter(|c| c.get("stack").is_some()).map(functions).collect();
    assert_eq!(named.len(), 4, "{}", ran.text);
    for (functions, plugin) in named.iter().zip(["one_begins", "two_begins", "one_begins"]) {
        assert_eq!(functions[..2], ["from_plugin", plugin]);
        assert!(functions.contains(&"open_and_close") && functions.contains(&"main"), "{functions:?}");
    }
    assert_eq!(named[3][0], "main");
    let objects: Vec<_> = ran.calls[1]["stack"].as_array().unwrap().iter().map(|f| f["object"].clone()).collect();
    assert_eq!(objects[1], "stacks_plugin_two.so");
}

/// One name at one place for files that differ, in a folder that the reader is not in: each call has the frames of the
/// file that was there then. Of a file that is not what it was there are addresses, and nothing is made up.
#[test]
fn a_file_that_is_built_anew_and_opened_again() {
    let folder = scratch("reloaded");
    let files = ["one", "two"].map(|name| {
        let file = folder.join(name);
        std::fs::copy(out().join(format!("stacks_plugin_{name}.so")), &file).unwrap();
        file
    });
    let (file, now) = (folder.join("run.cutap"), folder.join("now.so"));
    let ran = |which: &[usize]| {
        let mut program = command(&file, &["record", "--stack"], &out().join("stacks_reloaded"));
        let done = finish(program.arg(&*folder).args(which.iter().map(|n| &files[*n])));
        assert!(done.status.success(), "{}", done.everything());
        let calls = calls(&shown(&file, &["--json"]));
        let named: Vec<Vec<String>> =
            calls.iter().map(|call| functions(call).into_iter().map(str::to_owned).collect()).collect();
        assert_eq!(named.len(), which.len(), "{named:?}");
        named
    };
    for (which, there) in [(&[0, 1, 0][..], 0), (&[0, 1], 1), (&[0, 0, 1], 1), (&[0, 1, 0, 1], 1)] {
        for (names, n) in ran(which).iter().zip(which) {
            assert_eq!(names[0], "from_plugin", "{which:?}");
            match *n == there {
                true => assert_eq!(
                    (&*names[1], names.last().unwrap().as_str()),
                    (["one_begins", "two_begins"][*n], "_start")
                ),
                false => assert_eq!(names[1..], ["?"], "{which:?}"),
            }
        }
        let told = format!("{} (changed since)", now.canonicalize().unwrap().display());
        assert!(shown(&file, &[]).contains(&told), "{which:?}");
    }
}

#[test]
fn a_filter() {
    let ran = record(&["--stack=cuMemAlloc,!cuInit"], &out().join("stacks_plugins"));
    let with: Vec<_> = ran.calls.iter().filter(|c| c.get("stack").is_some()).collect();
    assert_eq!(with.len(), 4, "{}", ran.text);
    assert!(with.iter().all(|c| c["name"] == "cuMemAlloc_v2"));
    // Through the call around it, without a frame of cutap's own.
    assert_eq!(functions(with[3])[..3], ["called_back", "cuFixtureCall", "main"]);
}

#[test]
fn folded_and_exported() {
    let folder = scratch("stacks");
    let file = folder.join("run.cutap");
    let ran = finish(&mut command(&file, &["record", "--stack"], &out().join("stacks_plugins")));
    assert!(ran.status.success(), "{}", ran.everything());
    let report = |words: &[&str]| finish(Command::new(cutap()).arg("report").args(words).arg(&file));
    let lines: Vec<String> = report(&["--folded"]).stdout.lines().map(str::to_owned).collect();
    let ends = |end: &str| lines.iter().filter(|l| l.starts_with("main;") && l.ends_with(end)).count();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert_eq!(
        (ends(";one_begins;from_plugin;cuMemAlloc_v2 2"), ends(";two_begins;from_plugin;cuMemAlloc_v2 1")),
        (1, 1)
    );
    assert_eq!(ends("main;cuFixtureCall 1"), 1, "{lines:?}");
    let json: Vec<Value> = json_lines(&report(&["--folded", "--json"]).stdout).collect();
    let stacks: Vec<&Value> = json.iter().filter(|l| l["type"] == "stack").collect();
    assert_eq!(stacks.iter().map(|s| s["calls"].as_u64().unwrap()).sum::<u64>(), 4);
    assert!(stacks.iter().all(|s| s["total_ns"].as_u64().unwrap() > 0));
    let times = report(&["--folded=time"]).stdout;
    let sum: u64 = times.lines().map(|l| l.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
    // The clock of so short a run is measured again by each reader.
    let told = stacks.iter().map(|s| s["total_ns"].as_u64().unwrap()).sum::<u64>();
    assert!(sum.abs_diff(told) < told / 4, "{sum} {told}");
    let refused = report(&["--folded", "-e", "cuInit"]);
    assert!(!refused.status.success() && refused.stderr.contains("has no stacks"), "{}", refused.everything());
    let exported = folder.join("out");
    for form in ["--chrome", "--perfetto"] {
        let done = finish(Command::new(cutap()).args(["export", form]).arg(&exported).arg(&file));
        assert!(done.status.success(), "{}", done.everything());
        let bytes = String::from_utf8_lossy(&std::fs::read(&exported).unwrap()).into_owned();
        assert!(bytes.contains("cutap.stack") && bytes.contains("at from_plugin+0x"), "{form}");
    }
}

/// The recording says itself that no stacks were kept: its calls are not read for that, so none is found damaged.
#[test]
fn without_stacks_folded_says_so_at_once() {
    let folder = scratch("stacks");
    let file = folder.join("run.cutap");
    let mut full_speed = Command::new(cutap());
    full_speed.args(["record", "-o"]).arg(&file).arg("--").arg(out().join("full_speed")).args(["2", "100"]);
    let ran = finish(full_speed.env("LD_LIBRARY_PATH", out()));
    assert!(ran.status.success(), "{}", ran.everything());
    let mut bytes = std::fs::read(&file).unwrap();
    for (at, body) in blocks(&bytes) {
        // One that is packed: all chunks of rings are.
        if bytes[at + 5] != 0 {
            bytes[body] ^= 0xff;
        }
    }
    std::fs::write(&file, bytes).unwrap();
    let report = |words: &[&str]| finish(Command::new(cutap()).arg("report").args(words).arg(&file));
    assert!(report(&["--leaks"]).stderr.contains("damaged"), "{}", report(&["--leaks"]).everything());
    for words in [&["--folded"][..], &["--folded=time"], &["--folded", "--json"]] {
        let refused = report(words);
        assert_eq!((refused.status.code(), &*refused.stdout), (Some(125), ""), "{refused:?}");
        let said = format!("cutap: {} has no stacks; they are kept with cutap record --stack\n", file.display());
        assert_eq!(refused.stderr, said);
    }
}

#[test]
fn files_that_are_gone_or_changed() {
    let folder = scratch("stacks");
    let (file, program) = (folder.join("run.cutap"), folder.join("program"));
    std::fs::copy(out().join("stacks_plugins"), &program).unwrap();
    let ran = finish(&mut command(&file, &["record", "--stack"], &program));
    assert!(ran.status.success(), "{}", ran.everything());
    assert!(shown(&file, &[]).contains("at from_plugin"));
    std::fs::copy(out().join("stacks"), &program).unwrap();
    let changed = shown(&file, &[]);
    assert!(changed.contains(&format!("{} (changed since)", program.display())), "{changed}");
    assert!(changed.contains("at program+0x") && !changed.contains("from_plugin"), "{changed}");
    std::fs::remove_file(&program).unwrap();
    let gone = shown(&file, &[]);
    assert!(gone.contains(&format!("{} (not here)", program.display())), "{gone}");
}

/// Stacks that end above an unmapped page, are left by exceptions and jumps, are those of children: the program notices
/// nothing.
#[test]
fn programs_run_as_without() {
    for name in
        ["guard_page", "small_stack", "registers", "fork_after", "vfork_after", "exception", "longjmp", "pthread_exit"]
    {
        let text = case(name).text(&["--stack", "--stack-size=64K"]);
        assert!(text.lines().any(|l| l.contains("  at ")), "{name}: {text}");
        assert!(!text.contains("stacks that could not be read") && !text.contains("stacks not kept"), "{name}: {text}");
    }
}
