//! Collectives over ranks: `cutap where` of several ranks and `report --collectives`, with real processes and a
//! stand-in for NCCL (tests/programs/collectives). Each job makes one mistake.

#[path = "view/page.rs"]
#[allow(dead_code)] // Only the JSON of a page is read here.
mod page;

#[path = "collectives/job.rs"]
mod job;

use cutap_e2e::{cutap, finish, json_lines, out, scratch, sources};
use job::{Job, program};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The last line, with a time that differs from run to run replaced.
fn normal_last(text: &str) -> String {
    let last = text.lines().last().unwrap_or_default();
    match last.split_once(" before the others") {
        Some((head, rest)) => {
            let (head, _) = head.rsplit_once(' ').unwrap_or((head, ""));
            format!("{head} TIME before the others{rest}")
        }
        None => last.to_owned(),
    }
}

const REDUCE: &str = "ncclAllReduce(count=1024, datatype=ncclFloat16, op=ncclSum)";

/// The ranks without the last one, and the last one.
fn ranks(count: usize) -> (&'static str, &'static str) {
    if count == 2 { ("rank 0", "rank 1") } else { ("ranks 0 to 2", "rank 3") }
}

/// `call 11 of comm#1: rank 0 A, rank 1 B; 10 calls agree`: the few are first.
fn mismatch(count: usize, number: u32, right: &str, wrong: &str) -> String {
    let (others, last) = ranks(count);
    let (right, wrong) = (format!("{others} {right}"), format!("{last} {wrong}"));
    let sides = if count == 2 { format!("{right}, {wrong}") } else { format!("{wrong}, {right}") };
    format!("first mismatch: call {number} of comm#1: {sides}; {} calls agree", number - 1)
}

fn not_arrived(count: usize, number: u32, why: &str) -> String {
    let (others, last) = ranks(count);
    format!("not arrived: call {number} of comm#1: {last} {why}, {others} {REDUCE}; {} calls agree", number - 1)
}

/// Of jobs with these mistakes and last lines, what `where` says while they hang. Once they were killed, the last
/// line is the same.
fn names(count: usize, mistakes: &[(&'static str, String)]) -> Vec<String> {
    // All begin before the first one is waited for.
    let jobs: Vec<Job> = mistakes.iter().map(|(kind, _)| Job::start(kind, count)).collect();
    let each = jobs.into_iter().zip(mistakes).map(|(mut job, (kind, last))| {
        let text = job.once(last);
        job.kill();
        let report = job.report(&[]);
        assert_eq!(&normal_last(&report.stdout), last, "{kind} of {count}: {report:?}");
        let killed = finish(Command::new(cutap()).arg("where").args(job.files())).stdout;
        assert_eq!(&normal_last(&killed), last, "{kind} of {count}");
        text
    });
    each.collect()
}

fn arguments_differ(count: usize) {
    let all = "ncclAllReduce(count=1024)";
    let (half, single) = ("ncclAllReduce(datatype=ncclFloat16)", "ncclAllReduce(datatype=ncclFloat32)");
    let operations = ("ncclAllReduce(op=ncclSum)", "ncclAllReduce(op=ncclMax)");
    let mistakes = [
        ("count", mismatch(count, 11, all, "ncclAllReduce(count=512)")),
        ("datatype", mismatch(count, 11, half, single)),
        ("operation", mismatch(count, 11, operations.0, operations.1)),
        ("root", mismatch(count, 12, "ncclBroadcast(root=0)", "ncclBroadcast(root=1)")),
    ];
    names(count, &mistakes);
}

fn calls_differ(count: usize) {
    let (_, last) = ranks(count);
    let two = ["call 18 of comm#1", "call 6 of comm#2"];
    let (few, many, [first, second]) =
        if count == 2 { ("rank 0", "rank 1", two) } else { ("rank 3", "ranks 0 to 2", [two[1], two[0]]) };
    let order = format!(
        "different order: {few} called {first} before {second}, {many} the other way round: each waits for the other, \
         for both calls are in one stream"
    );
    let mistakes = [
        ("function", mismatch(count, 11, "ncclAllReduce", "ncclBroadcast")),
        ("skipped", mismatch(count, 11, "ncclAllReduce", "ncclBroadcast")),
        ("order", order),
    ];
    let texts = names(count, &mistakes);
    let [function, _, order] = &texts[..] else { panic!("{texts:?}") };
    let of_last = function.lines().skip_while(|line| !line.starts_with(last)).nth(1).unwrap_or_default();
    assert!(function.contains(&format!("          waits for {REDUCE}, call 11 of comm#1\n")), "{function}");
    assert_eq!(of_last, "          waits for ncclBroadcast(count=1, datatype=ncclInt64, root=0), call 11 of comm#1");
    assert!(order.contains(", call 18 of comm#1\n") && order.contains(", call 6 of comm#2\n"), "{order}");
}

fn ranks_are_absent(count: usize) {
    let (others, last) = ranks(count);
    let killed = "did not call it: its program was ended by SIGKILL, TIME before the others";
    let none = format!("not arrived: {last} did not call ncclCommInitRank for comm#1 yet; {others} called it");
    let mistakes = [
        ("missing", not_arrived(count, 11, "did not arrive yet")),
        ("stopped", not_arrived(count, 11, "did not arrive yet")),
        ("killed", not_arrived(count, 11, killed)),
        ("no_init", none),
        ("no_receive", not_received(count)),
    ];
    names(count, &mistakes);
}

/// The last rank does not receive what the one before it sends.
fn not_received(count: usize) -> String {
    let (wrong, sender) = (count - 1, count - 2);
    format!(
        "not arrived: rank {wrong} has not received what rank {sender} sent in comm#1 before call 13: \
         ncclSend(count=32, datatype=ncclFloat32, peer={wrong}), transfer 6 of the two"
    )
}

#[test]
fn arguments_of_two_ranks_differ() {
    arguments_differ(2);
}

#[test]
fn arguments_of_four_ranks_differ() {
    arguments_differ(4);
}

#[test]
fn calls_of_two_ranks_differ() {
    calls_differ(2);
}

#[test]
fn calls_of_four_ranks_differ() {
    calls_differ(4);
}

#[test]
fn one_of_two_ranks_is_absent() {
    ranks_are_absent(2);
}

#[test]
fn one_of_four_ranks_is_absent() {
    ranks_are_absent(4);
}

/// Nothing is wrong with these, whatever they do: calls that fail have no number.
#[test]
fn healthy_jobs() {
    let kinds = [
        ("healthy", 16),
        ("nonblocking", 16),
        ("before_init", 16),
        ("failed", 16),
        ("groups", 32),
        ("transfers", 16),
        ("graph", 28),
    ];
    let mut jobs: Vec<(Job, u32)> = kinds.into_iter().map(|(kind, calls)| (Job::start(kind, 2), calls)).collect();
    for (job, calls) in &mut jobs {
        job.wait();
        let report = job.report(&[]);
        let expected = format!("no mismatch: {calls} calls of comm#1 agree on ranks 0, 1");
        assert_eq!(report.stdout.lines().last(), Some(expected.as_str()), "{}: {report:?}", job.kind);
        let complete = format!("{calls:>10} {calls:>8} {calls:>8}  rank 1, destroyed");
        assert!(report.stdout.contains(&complete), "{}: {}", job.kind, report.stdout);
    }
}

/// While a recording is written it has a thread of few calls later than one of many. No answer of that time takes a
/// call for another one.
#[test]
fn a_recording_that_is_behind_names_no_rank() {
    let mut job = Job::start("threads", 2);
    let mut answers = 0;
    while job.ranks.iter_mut().any(|rank| rank.try_wait().expect("it is our child").is_none()) {
        let text = finish(Command::new(cutap()).arg("where").args(job.files())).stdout;
        assert!(!text.contains("mismatch: call") && !text.contains("different order"), "{text}");
        answers += usize::from(text.contains("agree"));
    }
    assert!(answers > 0, "no answer while the job ran");
    assert_eq!(job.report(&[]).stdout.lines().last(), Some("no mismatch: 136 calls of comm#1 agree on ranks 0, 1"));
}

/// With GPU time, the rank that works shortest for a call says how long the transfer is.
#[test]
fn bandwidth_of_collectives() {
    let folder = scratch("collectives-gpu");
    let file = |rank: usize| folder.join(format!("run.{rank}.cutap"));
    let ranks = [0, 1].map(|rank| {
        let mut record = Command::new(cutap());
        record.args(["record", "--sim", "--gpu-time", "-q", "-o"]).arg(file(rank)).arg("--").arg(program());
        record.arg("healthy").arg(folder.join("id")).env("NCCL_STAND_IN_COPIES", "1");
        record.envs([("RANK", rank.to_string()), ("WORLD_SIZE", "2".to_owned())]).stderr(Stdio::null());
        record.spawn().expect("cutap starts")
    });
    ranks.into_iter().for_each(|mut rank| assert!(rank.wait().expect("it is our child").success()));
    let mut report = Command::new(cutap());
    let report = finish(report.args(["report", "--collectives", "--json"]).args([0, 1].map(file))).stdout;
    let rows: Vec<Value> = json_lines(&report).filter(|line| line["type"] == "collective").collect();
    assert_eq!(rows.len(), 2, "{report}");
    for (row, bytes) in rows.iter().zip([2048, 32]) {
        let (ns, rate) = (row["gpu_ns"].as_u64().expect("GPU time"), row["bytes_per_second"].as_u64().expect("a rate"));
        // The mean is rounded.
        let range = bytes * 1_000_000_000 / (ns + 1)..=bytes * 1_000_000_000 / ns.max(1);
        assert!(ns > 0 && range.contains(&rate), "{row}");
    }
    let text = finish(Command::new(cutap()).args(["report", "--collectives"]).args([0, 1].map(file))).stdout;
    assert!(text.contains("     calls   spread      max     gpu   bandwidth  came last\n"), "{text}");
}

/// Each rank has one of two, in the order of its key.
#[test]
fn split_communicators() {
    let mut job = Job::start("split", 4);
    job.wait();
    let report = job.report(&["--json"]).stdout;
    let lines: Vec<Value> = json_lines(&report).filter(|line| line["type"] == "communicator").collect();
    let member = |of: &Value| (of["rank"].as_str().unwrap().to_owned(), of["rank_in_communicator"].as_u64().unwrap());
    let members = |line: &Value| -> Vec<(String, u64)> {
        line["members"].as_array().expect("a list").iter().map(member).collect()
    };
    let facts = |line: &Value| (line["ranks"].as_u64(), line["agreed"].as_u64(), members(line));
    let rank = |label: &str, rank: u64| (label.to_owned(), rank);
    assert_eq!(facts(&lines[1]), (Some(2), Some(8), vec![rank("rank 0", 1), rank("rank 2", 0)]), "{report}");
    assert_eq!(facts(&lines[2]), (Some(2), Some(8), vec![rank("rank 1", 1), rank("rank 3", 0)]), "{report}");
}

/// Without one rank, with one more, and by several unique ids.
#[test]
fn shrunk_grown_and_scalable_communicators() {
    let jobs = ["shrunk", "grown", "scalable"].map(|kind| Job::start(kind, 4));
    let facts = jobs.map(|mut job| {
        job.wait();
        let report = job.report(&["--json"]).stdout;
        let lines = json_lines(&report).filter(|line| line["type"] == "communicator");
        let facts = |line: Value| {
            let member = |of: &Value| of["rank_in_communicator"].as_u64().unwrap_or(99);
            let members: Vec<u64> = line["members"].as_array().expect("a list").iter().map(member).collect();
            (line["made_by"].as_str().unwrap_or("").to_owned(), line["agreed"].as_u64().unwrap_or(0), members)
        };
        lines.map(facts).collect::<Vec<_>>()
    });
    let of = |made_by: &str, agreed: u64, ranks: u64| (made_by.to_owned(), agreed, (0..ranks).collect::<Vec<u64>>());
    let world = || of("ncclCommInitRank", 16, 4);
    assert_eq!(facts[0], [world(), of("ncclCommShrink", 8, 3)]);
    assert_eq!(facts[1], [world(), of("ncclCommInitRank", 0, 3), of("ncclCommGrow", 8, 4)]);
    assert_eq!(facts[2], [of("ncclCommInitRankScalable", 16, 4)]);
}

/// The page of ranks has the lines of the report.
#[test]
fn ranks_in_a_picture() {
    let mut job = Job::start("split", 4);
    job.wait();
    let file = job.folder.join("view.html");
    let mut view = Command::new(cutap());
    let done = finish(view.args(["view", "--no-open", "-o"]).arg(&file).args(job.files()));
    assert!(done.status.success(), "{done:?}");
    let drawn = page::Page::read(&file).json("tables")["collectives"].clone();
    let report = job.report(&["--json"]).stdout;
    let lines: Vec<Value> = json_lines(&report).filter(|line| line["type"] != "end").collect();
    assert!(lines.iter().any(|line| line["type"] == "collective"), "{report}");
    assert_eq!(drawn, Value::from(lines));
}

/// The ranks are one process, which shows in one recording.
#[test]
fn ranks_of_one_process() {
    let mut healthy = Job::start("one_process", 1);
    healthy.wait();
    let report = healthy.report(&[]);
    assert_eq!(normal_last(&report.stdout), "no mismatch: 8 calls of comm#1 agree on ranks 0, 1", "{report:?}");
    let sides = "rank 0 ncclAllReduce(count=4), rank 1 ncclAllReduce(count=5)";
    let last = format!("first mismatch: call 6 of comm#1: {sides}; 5 calls agree");
    names(1, &[("one_process_count", last)]);
}

/// A communicator that was aborted has ended: what it held is not complete.
#[test]
fn an_aborted_communicator() {
    let mut job = Job::start("aborted", 2);
    job.wait();
    let report = job.report(&[]).stdout;
    let expected = "not arrived: call 13 of comm#1: rank 1 aborted the communicator before it, rank 0 \
                    ncclAllReduce(count=7, datatype=ncclFloat32, op=ncclSum); 12 calls agree";
    assert_eq!(report.lines().last(), Some(expected));
    assert!(report.contains("        13       13       12  rank 0, aborted\n"), "{report}");
}

/// A recording that begins late gets the numbers of the others, and that is said.
#[test]
fn a_late_recording_is_aligned() {
    let mut job = Job::start_with("late", 4, &["--capture-range", "cudaProfilerApi"]);
    let last = "first mismatch: call 11 of comm#1: rank 3 ncclAllReduce(count=512), ranks 0 to 2 \
                ncclAllReduce(count=1029); 4 calls agree from call 7";
    job.once(last);
    job.kill();
    let report = job.report(&[]).stdout;
    let lines: Vec<&str> = report.lines().rev().take(2).collect();
    assert_eq!(lines[0], last);
    assert!(lines[1].contains("rank 3 begins late or lacks calls: its calls were aligned by signatures"), "{report}");
}

/// Answers of several nodes are read together; a rank without a file is not known, and no other one is blamed.
#[test]
fn answers_and_missing_files() {
    let mut job = Job::start("missing", 4);
    let last = not_arrived(4, 11, "did not arrive yet");
    job.once(&last);
    job.kill();
    let files = job.files();
    let answers: Vec<PathBuf> = files
        .iter()
        .map(|file| {
            let answer = finish(Command::new(cutap()).args(["where", "--json"]).arg(file)).stdout;
            // That of another host, whose clock is another one.
            let is_first = file == &files[0];
            let answer = if is_first { answer.replace("\"boot_id\":\"", "\"boot_id\":\"other") } else { answer };
            let path = file.with_extension("json");
            fs::write(&path, answer).expect("the folder is writable");
            path
        })
        .collect();
    let joined = finish(Command::new(cutap()).arg("where").args(&answers)).stdout;
    assert_eq!(joined.lines().last(), Some(last.as_str()), "{joined}");
    let without = finish(Command::new(cutap()).arg("where").args(&answers[..3])).stdout;
    let expected = "no mismatch: 12 calls of comm#1 agree on ranks 0 to 2; rank 3 is not known: no call in these files";
    assert_eq!(without.lines().last(), Some(expected), "{without}");
    let alone = finish(Command::new(cutap()).arg("where").arg(&answers[1])).stdout;
    let expected = "nothing to compare: only rank 1 of comm#1 is known; ranks 0, 2, 3 are not known: no call in these \
                    files";
    assert!(alone.contains(", call 9 of comm#1\n"), "{alone}");
    assert_eq!(alone.lines().last(), Some(expected), "{alone}");
    let twice = finish(Command::new(cutap()).arg("where").args([&answers[1], &answers[2], &files[1]])).stdout;
    let doubt = format!("comm#1: rank 1 is in two files, {0} and {0}: give each once", files[1].display());
    assert!(twice.contains(&doubt), "{twice}");
}

/// The fields of each line are those of the schema.
#[test]
fn lines_are_in_the_schema() {
    let schema = fs::read_to_string(sources().join("../../docs/reference/json-schema.json")).expect("the schema");
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let types = schema["oneOf"].as_array().expect("a list");
    let mut jobs = [Job::start("order", 2), Job::start("count", 2)];
    jobs[0].once(
        "different order: rank 0 called call 18 of comm#1 before call 6 of comm#2, rank 1 the other way round: each \
         waits for the other, for both calls are in one stream",
    );
    jobs[1].once(&mismatch(2, 11, "ncclAllReduce(count=1024)", "ncclAllReduce(count=512)"));
    for job in &mut jobs {
        job.kill();
        let report = job.report(&["--json"]).stdout;
        let lines = || json_lines(&report).filter(|line| line["type"] != "end");
        assert!(lines().any(|line| line["type"] == "collective_finding"), "{report}");
        for line in lines() {
            let of = types.iter().find(|of| of["properties"]["type"]["const"] == line["type"]);
            let of = of.unwrap_or_else(|| panic!("no such line: {line}"));
            let fields: Vec<&String> = line.as_object().expect("an object").keys().collect();
            let described: Vec<&String> = of["properties"].as_object().expect("an object").keys().collect();
            assert_eq!(fields, described, "{line}");
        }
    }
}

/// A program without NCCL has no collectives.
#[test]
fn no_collectives() {
    let folder = scratch("collectives-none");
    let file = folder.join("run.cutap");
    let mut record = Command::new(cutap());
    finish(record.args(["record", "--sim", "-q", "-o"]).arg(&file).arg("--").arg(out().join("hang_kinds")));
    let report = finish(Command::new(cutap()).args(["report", "--collectives"]).arg(&file));
    assert!(report.stdout.starts_with("no collective of NCCL was called"), "{report:?}");
}
