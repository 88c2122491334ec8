//! The examples of the tutorial and of the how-to pages. Each command is run as a reader would, in a folder with the
//! program `vector` of the tutorial, and `train` with ranges of NVTX. Its output must be that of the page. Times,
//! addresses, process ids and sizes of files are masked.
//!
//! An example is a fenced block `console`. Its commands begin with `$ `, and what follows a command is its output; a
//! line `...` stands for any lines. Words after `console`:
//! - `any-order`: program and trace write at the same time, so the order of lines is not compared;
//! - `terminal`: the commands run on a terminal of 100 columns, in any order too;
//! - `exempt=REASON`: not run here. Only the reasons of `EXEMPT` are allowed.
//!
//! A block `LANGUAGE NAME` is a file of that name, which the commands use. `UPDATE_GOLDEN=1` writes real output into
//! the pages: read what it wrote.

use cutap_e2e::{cutap, scratch, sources};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, thread};

/// Why a block is not run here. `tests/gpu/docs.sh` runs those of `gpu`.
const EXEMPT: [&str; 9] = ["gpu", "slurm", "docker", "root", "install", "make", "no-driver", "clang", "perfetto"];
/// Output of a command follows this line in the script's output.
const MARK: &str = "\u{1e}";
const TRIES: usize = 3;
/// Pages that run at the same time.
const WORKERS: usize = 3;
/// What is compared of a line that is cut.
const BEFORE_CUT: usize = 40;

/// A fenced block of a page.
struct Block {
    /// The words after the fence.
    words: Vec<String>,
    /// Its lines, and the number of the first one, from 0.
    lines: Vec<String>,
    start: usize,
}

/// A command with the output that the page has.
struct Example {
    command: String,
    expected: Vec<String>,
}

fn root() -> PathBuf {
    sources().ancestors().nth(2).expect("tests/programs is in the repository").to_owned()
}

fn pages() -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = Vec::new();
    for folder in ["docs/tutorial", "docs/how-to"] {
        let entries = fs::read_dir(root().join(folder)).expect("the folder is there");
        all.extend(entries.map(|entry| entry.expect("an entry").path()));
    }
    all.sort();
    all
}

fn blocks(text: &str) -> Vec<Block> {
    let mut all = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => all.extend(open.take()),
            (Some(words), None) => {
                let words = words.split_whitespace().map(str::to_owned).collect();
                open = Some(Block { words, lines: Vec::new(), start: number + 1 });
            }
            (None, Some(block)) => block.lines.push(line.to_owned()),
            (None, None) => {}
        }
    }
    all
}

impl Block {
    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|w| w == word)
    }

    fn is_console(&self) -> bool {
        self.words.first().is_some_and(|word| word == "console")
    }

    fn exempt(&self) -> Option<&str> {
        self.words.iter().find_map(|word| word.strip_prefix("exempt="))
    }

    fn examples(&self) -> Vec<Example> {
        let mut all: Vec<Example> = Vec::new();
        for line in &self.lines {
            match (line.strip_prefix("$ "), all.last_mut()) {
                (Some(command), _) => all.push(Example { command: command.to_owned(), expected: Vec::new() }),
                (None, Some(example)) => example.expected.push(line.clone()),
                (None, None) => panic!("a block `console` begins with a command: {line}"),
            }
        }
        all
    }

    /// The name of the file that the block is.
    fn file(&self) -> Option<&str> {
        let name = self.words.get(1).filter(|_| !self.is_console())?;
        name.contains('.').then_some(name)
    }
}

/// Runs all commands of a page in one shell. The outputs, one for each command.
fn outputs(blocks: &[Block], folder: &Path) -> Vec<String> {
    for block in blocks {
        if let Some(name) = block.file() {
            fs::write(folder.join(name), block.lines.join("\n") + "\n").expect("the folder is writable");
        }
    }
    let mut script = String::from("shopt -s expand_aliases\n");
    for block in blocks.iter().filter(|b| b.is_console() && b.exempt().is_none()) {
        for Example { command, .. } in block.examples() {
            let _ = writeln!(script, "echo '{MARK}'");
            match block.has("terminal") {
                true => {
                    let _ =
                        writeln!(script, "script -qec 'stty cols 100; {command}' /dev/null < /dev/null | tr -d '\\r'");
                }
                false => {
                    let _ = writeln!(script, "{command}");
                }
            }
        }
    }
    let file = folder.join(".page.sh");
    fs::write(&file, script).expect("the folder is writable");
    let path = format!("{}:{}", cutap().parent().expect("a folder").display(), env::var("PATH").unwrap_or_default());
    let out = fs::File::create(folder.join(".out")).expect("the folder is writable");
    let mut bash = Command::new("timeout");
    bash.args(["120", "bash"]).arg(&file).current_dir(folder).env("PATH", path).env("NO_COLOR", "1");
    bash.stdin(Stdio::null()).stderr(out.try_clone().expect("a descriptor")).stdout(out);
    let status = bash.status().expect("timeout and bash are there");
    assert!(status.code() != Some(124), "a page's commands hang: {}", file.display());
    let text = String::from_utf8_lossy(&fs::read(folder.join(".out")).expect("the output")).into_owned();
    text.split(&format!("{MARK}\n")).skip(1).map(str::to_owned).collect()
}

/// Replaces what differs from run to run.
fn masked(line: &str) -> String {
    let mut out = String::new();
    let mut chars = line.chars().peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        let begins = c.is_ascii_digit() && !before.is_alphanumeric() && before != '_' && before != '#';
        if !begins {
            out.push(c);
            before = c;
            continue;
        }
        let mut token = String::from(c);
        while let Some(next) = chars.peek().filter(|n| n.is_ascii_alphanumeric() || **n == '.') {
            token.push(*next);
            chars.next();
        }
        // Offsets in code follow the compiler.
        let varies = before == '+' || chars.peek() == Some(&'%');
        out += if varies { "N" } else { of_token(&token) };
        before = 'x';
    }
    // Widths of columns follow the times in them.
    let indent = out.len() - out.trim_start().len();
    let indent = if out.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == 'N') { 0 } else { indent };
    let mut words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    for unit in ["bytes", "KiB"] {
        words = sizes_masked(&words, unit);
    }
    // A line is cut at the width of the terminal, before a time of some width.
    if let Some((before, _)) = words.split_once('…') {
        words = before.chars().take(BEFORE_CUT).collect();
    }
    " ".repeat(indent) + &words
}

/// `(28 KiB)` and `19 KiB of calls`: sizes of files.
fn sizes_masked(text: &str, unit: &str) -> String {
    let mut out = Vec::new();
    let words: Vec<&str> = text.split(' ').collect();
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).copied().unwrap_or_default();
        let after = words.get(at + 2).copied().unwrap_or_default();
        let closed = next.strip_prefix(unit).and_then(|rest| rest.strip_prefix(')'));
        let in_brackets = word.starts_with('(') && closed.is_some_and(|rest| matches!(rest, "," | ";" | "." | ""));
        // `44 KiB before, 27 KiB now`: a packed recording.
        let is_packed = next.strip_prefix(unit) == Some("") && matches!(after, "before," | "now");
        let is_file = in_brackets || is_packed || (next == unit && after == "of");
        out.push(if is_file { "(SIZE".to_owned() } else { (*word).to_owned() });
    }
    out.join(" ").replace("(SIZE bytes", "(SIZE").replace("(SIZE KiB", "(SIZE")
}

fn of_token(token: &str) -> &str {
    let number = token.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = token.get(number.len()..).unwrap_or_default();
    let is_number = number.parse::<f64>().is_ok();
    match unit {
        "ns" | "us" | "ms" | "s" if is_number => "TIME",
        _ if token.starts_with("0x") && token.len() > 5 => "ADDRESS",
        "" if is_number && number.len() > 3 => "N",
        _ => token,
    }
}

/// Whether the lines are those of the page, where `...` is any lines.
fn matches(expected: &[String], found: &[String]) -> bool {
    match expected.split_first() {
        None => found.is_empty(),
        Some((first, rest)) if first.trim() == "..." => (0..=found.len()).any(|n| matches(rest, &found[n..])),
        Some((first, rest)) => found.first() == Some(first) && matches(rest, &found[1..]),
    }
}

/// Like `matches` for sorted lines: with `...` others may be there too.
fn contains(expected: &[String], found: &[String]) -> bool {
    let (elided, wanted): (Vec<&String>, Vec<&String>) = expected.iter().partition(|line| *line == "...");
    if elided.is_empty() {
        return wanted.iter().copied().eq(found);
    }
    let count = |of: &String| found.iter().filter(|line| *line == of).count();
    wanted.iter().all(|line| count(line) >= wanted.iter().filter(|other| other == &line).count())
}

/// The lines of an output in the form in which they are compared.
fn compared(lines: impl Iterator<Item = String>, any_order: bool) -> Vec<String> {
    let mut all: Vec<String> = lines.map(|line| masked(&line)).filter(|line| !line.is_empty()).collect();
    if any_order {
        all.sort();
    }
    all
}

/// Runs a page. Its examples that have another output, as text.
fn check(page: &Path, programs: &[PathBuf]) -> Vec<String> {
    let text = fs::read_to_string(page).expect("the page");
    let all = blocks(&text);
    let folder = scratch("docs");
    std::os::unix::fs::symlink(root().join("tests"), folder.join("tests")).expect("a link");
    for program in programs {
        fs::copy(program, folder.join(program.file_name().expect("a name"))).expect("the program");
    }
    let outputs = outputs(&all, &folder);
    let mut wrong = Vec::new();
    let mut at = outputs.iter();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut shift = 0isize;
    for block in all.iter().filter(|b| b.is_console() && b.exempt().is_none()) {
        let any_order = block.has("any-order") || block.has("terminal");
        let mut written: Vec<String> = Vec::new();
        let mut differs = false;
        for Example { command, expected } in block.examples() {
            let found = at.next().map_or("", |text| text.as_str()).trim_end();
            let wanted = compared(expected.iter().cloned(), any_order);
            let is = compared(found.lines().map(str::to_owned), any_order);
            written.push(format!("$ {command}"));
            let same = if any_order { contains(&wanted, &is) } else { matches(&wanted, &is) };
            if same {
                written.extend(expected);
                continue;
            }
            differs = true;
            written.extend(found.lines().map(str::to_owned));
            wrong.push(format!("{}: $ {command}\npage:\n{}\nfound:\n{found}", page.display(), expected.join("\n")));
        }
        if differs && env::var_os("UPDATE_GOLDEN").is_some() {
            let start = block.start.checked_add_signed(shift).expect("a line");
            lines.splice(start..start + block.lines.len(), written.iter().cloned());
            shift += isize::try_from(written.len()).unwrap_or(0) - isize::try_from(block.lines.len()).unwrap_or(0);
        }
    }
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(page, lines.join("\n") + "\n").expect("the page is writable");
        return Vec::new();
    }
    wrong
}

/// The program of the tutorial, built as the tutorial builds it. None without NVIDIA's wheel.
fn vector(folder: &Path) -> Option<PathBuf> {
    let wheels = Command::new("python3").arg(sources().join("wheels.py")).args(["cudart", "12.9"]).output();
    let runtime = wheels.ok().filter(|done| done.status.success())?;
    let runtime = PathBuf::from(String::from_utf8_lossy(&runtime.stdout).trim());
    let program = folder.join("vector");
    let mut gcc = Command::new("gcc");
    gcc.arg("-g").arg("-I").arg(runtime.join("include")).arg(sources().join("demo/vector.c"));
    gcc.arg(runtime.join("lib/libcudart_static.a")).args(["-lpthread", "-ldl", "-lrt", "-o"]).arg(&program);
    assert!(gcc.status().expect("gcc is there").success(), "vector.c does not build");
    Some(program)
}

/// A program with ranges. None without NVIDIA's wheel.
fn train(folder: &Path) -> Option<PathBuf> {
    let wheels = Command::new("python3").arg(sources().join("wheels.py")).args(["nvtx", "13.5"]).output();
    let nvtx = wheels.ok().filter(|done| done.status.success())?;
    let nvtx = PathBuf::from(String::from_utf8_lossy(&nvtx.stdout).trim());
    let program = folder.join("train");
    let mut gcc = Command::new("gcc");
    gcc.arg("-I").arg(nvtx.join("include")).arg(sources().join("ranges/steps.c")).args(["-ldl", "-o"]).arg(&program);
    assert!(gcc.status().expect("gcc is there").success(), "steps.c does not build");
    Some(program)
}

#[test]
fn examples_of_the_pages() {
    let folder = scratch("vector");
    let Some(program) = vector(&folder) else {
        println!("skipped: examples of the documents (no wheel of NVIDIA's runtime)");
        return;
    };
    let train = train(&folder);
    let programs: Vec<PathBuf> = [program].into_iter().chain(train.clone()).collect();
    let programs = &programs;
    let is_possible = |page: &PathBuf| {
        let needs_train = fs::read_to_string(page).expect("the page").contains("./train");
        if needs_train && train.is_none() {
            println!("skipped: {} (no wheel of NVTX)", page.display());
        }
        train.is_some() || !needs_train
    };
    let (next, all) = (AtomicUsize::new(0), pages().into_iter().filter(is_possible).collect::<Vec<_>>());
    let next_page = || all.get(next.fetch_add(1, Ordering::Relaxed));
    // Another job may keep the machine busy, and then cutap folds calls elsewhere: a page may try again.
    let run = |page: &Path| {
        let good = (1..TRIES).map(|_| check(page, programs)).find(Vec::is_empty);
        good.unwrap_or_else(|| check(page, programs))
    };
    let wrong: Vec<String> = thread::scope(|scope| {
        let worker = || std::iter::from_fn(next_page).flat_map(|page| run(page)).collect::<Vec<_>>();
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("pages")).collect()
    });
    assert!(wrong.is_empty(), "{}\n{} examples differ", wrong.join("\n\n"), wrong.len());
}

/// Lines of `--json` have the fields and types of `docs/reference/json-schema.json`, and all types of lines occur.
#[test]
fn json_lines_fit_the_schema() {
    let folder = scratch("schema");
    let Some(program) = vector(&folder) else {
        println!("skipped: JSON lines against their schema (no wheel of NVIDIA's runtime)");
        return;
    };
    let text = fs::read_to_string(root().join("docs/reference/json-schema.json")).expect("the schema");
    let schema: Value = serde_json::from_str(&text).expect("JSON");
    let types = schema["oneOf"].as_array().expect("a list");
    let mut seen = BTreeSet::new();
    let run = |command: &mut Command| command.current_dir(&*folder).output().expect("cutap runs");
    let mut outputs = Vec::new();
    for flags in [
        ["--json", "--stack"],
        ["--json", "-e=lookup,driver"],
        ["--json", "-c"],
        ["--json", "-C"],
        ["--json", "--dump-modules=modules"],
        ["--json", "--gpu-time"],
    ] {
        let mut trace = Command::new(cutap());
        trace.args(["trace", "--sim", "-q", "-o", "out.jsonl"]).args(flags).arg("--").arg(&program);
        assert!(run(&mut trace).status.success(), "{flags:?}");
        outputs.push(fs::read_to_string(folder.join("out.jsonl")).expect("the trace"));
    }
    for (file, memory) in [("a.cutap", "1GiB"), ("b.cutap", "256KiB")] {
        let mut record = Command::new(cutap());
        // Clocks are sampled meanwhile.
        let longer = ["--", "sh", "-c", "\"$0\"; code=$?; sleep 0.5; exit $code"];
        record.args(["record", "--sim", "--stack", "--gpu-time", "-q", "-o", file]).args(longer).arg(&program);
        record.env("CUTAP_SIM_MEMORY", memory);
        run(&mut record);
    }
    for question in [
        "report",
        "report --by thread",
        "report --tree",
        "report --callers cuda*",
        "report --blocking a.cutap",
        "report --folded=calls",
        "report --allocations",
        "report --errors",
        "report --leaks",
        "explain a.cutap",
        "diff a.cutap",
        "show a.cutap",
        "report --by kernel a.cutap",
        "report --copies a.cutap",
        "report --gaps a.cutap",
        "check a.cutap",
    ] {
        let words = question.split(' ');
        let answer = run(Command::new(cutap()).args(words).args(["--json", "b.cutap"]));
        outputs.push(String::from_utf8(answer.stdout).expect("text"));
    }
    match train(&folder) {
        Some(train) => {
            run(Command::new(cutap()).args(["record", "--sim", "-q", "-o", "ranges.cutap"]).arg(train));
            for word in ["range", "step"] {
                let answer = run(Command::new(cutap()).args(["report", "--by", word, "--json", "ranges.cutap"]));
                outputs.push(String::from_utf8(answer.stdout).expect("text"));
            }
        }
        None => seen.extend(["range", "steps", "step"].map(|name| format!("\"{name}\""))),
    }
    for output in outputs {
        for line in output.lines() {
            let line: Value = serde_json::from_str(line).expect("JSON");
            let of = types.iter().find(|of| of["properties"]["type"]["const"] == line["type"]);
            let of = of.unwrap_or_else(|| panic!("no such line: {line}"));
            seen.insert(line["type"].to_string());
            for (name, value) in line.as_object().expect("an object") {
                let property =
                    of["properties"].get(name).unwrap_or_else(|| panic!("{name} is not in the schema: {line}"));
                assert!(fits(value, &property["type"]), "{name} has another type: {line}");
            }
            for name in of["required"].as_array().expect("a list") {
                assert!(line.get(name.as_str().expect("a name")).is_some(), "{name} is not there: {line}");
            }
        }
    }
    // No finding, no graph and no NCCL is in these runs. `exit_codes` of the command line compares a finding.
    // Nor is an allocator of PyTorch: `pools` has those lines.
    let elsewhere = ["finding", "gpu_graph", "communicator", "collective", "collective_finding"];
    let of_pools = ["pool", "pool_line", "pool_refused"];
    seen.extend(elsewhere.into_iter().chain(of_pools).map(|name| format!("\"{name}\"")));
    let all: BTreeSet<String> = types.iter().map(|of| of["properties"]["type"]["const"].to_string()).collect();
    assert_eq!(seen, all);
}

/// Whether a value has one of the types of a property; without types any value fits.
fn fits(value: &Value, types: &Value) -> bool {
    let is = |of: &Value| match of.as_str().unwrap_or_default() {
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    };
    types.as_array().map_or_else(|| is(types), |all| all.iter().any(is))
}

/// A how-to page begins with a command, before its first section; and what is not run has a known reason.
#[test]
fn form_of_the_pages() {
    for page in pages() {
        let (name, text) = (page.display(), fs::read_to_string(&page).expect("the page"));
        let all = blocks(&text);
        for block in all.iter().filter(|block| block.is_console()) {
            assert!(block.exempt().is_none_or(|reason| EXEMPT.contains(&reason)), "{name}: {:?}", block.words);
            assert!(!block.examples().is_empty(), "{name}: a block without a command");
        }
        if page.to_string_lossy().contains("how-to") {
            let head = text.split("\n## ").next().unwrap_or_default();
            assert!(blocks(head).first().is_some_and(Block::is_console), "{name} does not begin with a command");
        }
        let first = text.lines().skip(1).find(|line| !line.is_empty()).unwrap_or_default();
        assert!(first.starts_with("This page is for "), "{name} does not name its reader: {first}");
    }
}

#[test]
fn masks() {
    assert_eq!(masked("cuInit(Flags=0x0) = CUDA_SUCCESS <58.3us>"), "cuInit(Flags=0x0) = CUDA_SUCCESS <TIME>");
    assert_eq!(masked("  at 0x7ffd12 [x] process 4711"), "  at ADDRESS [x] process N");
    assert_eq!(masked("    3   23.6us   3.3%  cuMemAlloc_v2"), "3 TIME N% cuMemAlloc_v2");
    assert_eq!(masked("packed: 44 KiB before, 27 KiB now"), "packed: (SIZE before, (SIZE now");
    assert_eq!(masked("600 calls are in a (28 KiB), none failed"), "600 calls are in a (SIZE), none failed");
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(matches(&lines("a\n...\nd"), &lines("a\nb\nc\nd")));
    assert!(!matches(&lines("a\n...\nd"), &lines("a\nb\nc")));
}
