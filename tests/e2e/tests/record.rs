//! A recording loses nothing, however the program ends, and shows what a trace of the same program shows.

use cutap_e2e::{case, cutap, finish, json_lines, normal_form, out, scratch, shown, wait_for};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

fn record(file: &Path, name: &str) -> Command {
    let mut command = Command::new(cutap());
    command.arg("record").arg("-o").arg(file).arg("--").arg(out().join(name)).env("LD_LIBRARY_PATH", out());
    command
}

fn show(file: &Path) -> String {
    finish(Command::new(cutap()).arg("show").arg(file)).everything()
}

#[test]
fn every_end_of_a_program() {
    for end in ["end_exit", "end_kill", "end_segv", "end_abort"] {
        case(end).like("end_in_driver").recorded().golden();
    }
    case("end_in_callback").recorded().golden();
    case("last_words").recorded().golden();
    case("layers").recorded().golden();
}

/// Exports and tables say what threads are called, if not as the program.
#[test]
fn names_of_threads() {
    let folder = scratch("thread-names");
    let (file, trace) = (folder.join("run.cutap"), folder.join("trace"));
    finish(&mut record(&file, "named_threads"));
    assert!(finish(Command::new(cutap()).args(["export", "--chrome"]).arg(&trace).arg(&file)).status.success());
    let events: serde_json::Value = serde_json::from_str(&fs::read_to_string(&trace).unwrap()).unwrap();
    let names = events.as_array().unwrap().iter().filter(|event| event["name"] == "thread_name");
    let names: Vec<_> = names.map(|event| event["args"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["worker ä", "named"]);
    let table = finish(Command::new(cutap()).args(["report", "--by", "thread"]).arg(&file)).stdout;
    let ends: Vec<&str> =
        table.lines().filter_map(|line| line.split_once(" (named_threads")?.1.split_inclusive(')').next()).collect();
    assert_eq!(ends.iter().filter(|end| **end == ", worker ä)").count(), 1, "{table}");
    assert_eq!(ends.iter().filter(|end| **end == ", named)").count(), 1, "{table}");
    assert_eq!(ends.iter().filter(|end| **end == ")").count(), 2, "{table}");
}

/// One thread is inside a call, three have just made 3,000 each.
#[test]
fn every_end_with_threads_still_running() {
    for end in ["return", "exit", "now", "quick", "abort", "segv", "kill", "exec"] {
        let name = format!("busy_{end}");
        case(&name).recorded().counts();
        let text = case(&name).recorded().text(&["-c", "--json"]);
        assert!(text.contains("\"unfinished\":1,"), "{name}: {text}");
    }
}

/// Its last words are those of a trace, and there are none where nothing was missed.
#[test]
fn what_was_not_recorded_is_said_at_the_end() {
    let folder = scratch("not-recorded");
    let said = |words: &[&str], name: &str| {
        let mut command = Command::new(cutap());
        command.args(words).arg("--").arg(out().join(name)).env("LD_LIBRARY_PATH", out());
        let done = finish(&mut command);
        assert_eq!((done.stdout.lines().last(), done.status.code()), (Some("ok"), Some(0)), "{}", done.stderr);
        done.stderr
    };
    let file = folder.join("run.cutap").display().to_string();
    for name in ["no_ring_files", "no_ring_folder"] {
        // What else a trace says is about what it shows.
        let traced = said(&["trace"], name);
        let line = traced.lines().find(|l| l.contains("the thread's ring could not be made")).expect(&traced);
        assert_eq!(said(&["record", "-o", &file], name).trim(), line, "{name}");
    }
    assert_eq!(said(&["record", "-o", &file], "recursion"), "");
}

#[test]
fn processes_and_threads() {
    case("exec").recorded().golden();
    case("fork_before").recorded().golden();
    case("fork_after").recorded().golden();
    case("vfork_after").like("fork_after").recorded().golden();
    case("clone_after").like("fork_after").recorded().golden();
    case("multiprocessing_.py").recorded().counts();
    case("pthread_exit").recorded().golden();
    case("thread_left").recorded().golden();
}

/// Calls that each process of a recording made, by `summary` of one process; in the order of their text.
fn by_process(name: &str) -> Vec<String> {
    let text = case(name).recorded().text(&["--json"]);
    let mut processes = BTreeMap::<(u64, u64), BTreeMap<String, u64>>::new();
    let mut folders = BTreeSet::new();
    for line in json_lines(&text) {
        let process = (line["pid"].as_u64().unwrap_or(0), line["process"].as_u64().unwrap_or(0));
        match line["type"].as_str().unwrap() {
            "process" => assert!(folders.insert(line["folder"].to_string()), "{text}"),
            "call" => {
                let calls = processes.entry(process).or_default();
                *calls.entry(line["name"].as_str().unwrap().to_owned()).or_default() += 1;
            }
            _ => {}
        }
    }
    assert!(folders.len() >= processes.len(), "{text}");
    let mut all: Vec<String> = processes
        .values()
        .map(|calls| calls.iter().map(|(n, c)| format!("{n} {c}")).collect::<Vec<_>>().join(", "))
        .collect();
    all.sort();
    all
}

#[test]
fn each_process_has_its_own_calls() {
    for name in ["fork_before", "fork_after", "vfork_before", "vfork_after", "clone_after"] {
        let (parent, child) = ("cuInit 1, cuStreamSynchronize 1", "cuDriverGetVersion 1, cuMemFree_v2 1");
        assert_eq!(by_process(name), [child, parent], "{name}");
    }
    // By fork, vfork and posix_spawn, each another image; and the program's own, before and after its exec.
    let (child, own) = ("cuMemAlloc_v2 1", "cuInit 1, cuMemFree_v2 1");
    assert_eq!(by_process("exec"), [own, child, child, child]);
    // Two workers by each of fork, spawn and forkserver, and the program.
    let calls = [3, 40, 40, 40, 50, 50, 50].map(|n| format!("cuDriverGetVersion {n}"));
    assert_eq!(by_process("multiprocessing_.py"), calls);
}

/// Children that have their parent's memory, and call: each has its own, however it ends, and the parent continues where
/// it was.
#[test]
fn children_by_vfork_that_call() {
    let mut expected = vec!["cuDriverGetVersion 24, cuFixtureCall 1, cuInit 2, cuStreamSynchronize 1"];
    expected.extend(["cuFixtureCall 1, cuMemFree_v2 30"; 9]);
    expected.extend(["cuMemFree_v2 30"; 17]);
    assert_eq!(by_process("vforks"), expected);
    let text = case("vforks").recorded().text(&["--json"]);
    let lines: Vec<serde_json::Value> = json_lines(&text).collect();
    let processes: Vec<_> = lines.iter().filter(|l| l["type"] == "process").collect();
    let parent = processes.iter().find(|p| p["forked"] == false).unwrap();
    let is_child = |p: &&&serde_json::Value| p["forked"] == true && p["ppid"] == parent["pid"];
    assert_eq!((processes.len(), processes.iter().filter(is_child).count()), (27, 26), "{text}");
    let of = |name: &str, what: &str| -> Vec<serde_json::Value> {
        let its = lines.iter().filter(|l| l["type"] == "call" && l["pid"] == parent["pid"] && l["name"] == name);
        its.map(|l| l[what].clone()).collect()
    };
    assert_eq!((of("cuInit", "depth"), of("cuFixtureCall", "depth")), (vec![0.into(); 2], vec![0.into()]), "{text}");
    assert_eq!(
        (of("cuStreamSynchronize", "depth"), of("cuFixtureCall", "state")),
        (vec![1.into()], vec!["done".into()])
    );
    assert_eq!(of("cuDriverGetVersion", "depth"), [0; 24]);
}

/// The same where the child is the first to call in its parent's memory, where it cannot have a folder, and where its
/// parent is left by a signal handler at that moment: each call is its own process's, and what the child could not do
/// its parent does.
#[test]
fn children_by_vfork_leave_no_mark_in_their_parent() {
    let mut expected = vec!["cuDriverGetVersion 3, cuInit 1"];
    expected.extend(["cuMemFree_v2 1"; 5]);
    expected.extend(["cuMemFree_v2 200"; 2]);
    assert_eq!(by_process("vfork_early"), expected);
}

#[test]
fn every_call_of_many_threads() {
    case("threads_at_once").recorded().counts();
    case("threads_in_turn").recorded().counts();
    case("signal_storm").recorded().counts();
    case("grandchild").recorded().counts();
}

#[test]
fn filters_as_in_a_trace() {
    let folder = scratch("filters");
    let file = folder.join("run.cutap");
    for (name, filter) in [("layers", "driver"), ("layers", "libcublas*"), ("lazy", "cuMemAlloc*"), ("lazy", "error")] {
        let shown = |flags: &[&str]| {
            let text = finish(Command::new(cutap()).arg("show").args(flags).arg(&file)).stdout;
            normal_form(&text).lines().map(|l| format!("{}\n", l.trim_start())).collect::<String>()
        };
        let traced = normal_form(&case(name).text(&["-e", filter]));
        let traced: String = traced.lines().map(|l| format!("{}\n", l.trim_start())).collect();
        finish(&mut record(&file, name));
        assert_eq!(shown(&["-e", filter]), traced, "{name} {filter}: at show");
        let mut only = Command::new(cutap());
        only.args(["record", "-e", filter, "-o"]).arg(&file).arg("--").arg(out().join(name));
        finish(only.env("LD_LIBRARY_PATH", out()));
        assert_eq!(shown(&["-e", filter]), traced, "{name} {filter}: at record and show");
    }
}

/// `show -C` counts what was recorded, as `trace -C` counts what is called.
#[test]
fn counts_of_recorded_calls() {
    let folder = scratch("counts-of-recorded");
    let file = folder.join("run.cutap");
    let done = finish(&mut record(&file, "layers"));
    assert!(done.status.success(), "{}", done.stderr);
    let table = |command: &mut Command| -> Vec<String> {
        let done = finish(command.env("LD_LIBRARY_PATH", out()));
        assert!(done.status.success(), "{}", done.stderr);
        let all = done.everything();
        all.lines()
            .skip_while(|l| !l.starts_with("function "))
            .take_while(|l| !l.starts_with("cutap: "))
            .map(str::to_owned)
            .collect()
    };
    let shown = table(Command::new(cutap()).args(["show", "-C"]).arg(&file));
    let traced = table(Command::new(cutap()).args(["trace", "-C", "--"]).arg(out().join("layers")));
    assert!(shown.len() > 3, "{shown:?}");
    assert_eq!(shown, traced);
}

/// A child that libc knows nothing of is switched like any other, also before its first call, and where its parent is
/// off.
#[test]
fn a_child_by_a_raw_clone_is_switched_alone() {
    for parent in ["on", "off"] {
        let folder = scratch("switched");
        let (file, said, go) = (folder.join("run.cutap"), folder.join("said"), folder.join("go"));
        let mut command = record(&file, "clone_waits");
        let mut front = command.arg(&go).stdout(fs::File::create(&said).unwrap()).spawn().unwrap();
        wait_for("the child", Duration::from_secs(60), || fs::read_to_string(&said).is_ok_and(|t| t.ends_with('\n')));
        let child = fs::read_to_string(&said).unwrap().trim().to_owned();
        let status = fs::read_to_string(format!("/proc/{child}/status")).unwrap();
        let its_parent = status.lines().find_map(|l| l.strip_prefix("PPid:")).unwrap().trim().to_owned();
        let words = match parent {
            "on" => vec![[child.as_str(), "filter", "cuMemAlloc*"].to_vec()],
            _ => vec![
                vec![its_parent.as_str(), "off"],
                vec![child.as_str(), "on"],
                vec![child.as_str(), "filter", "cuMemAlloc*"],
            ],
        };
        for words in words {
            let done = finish(Command::new(cutap()).arg("ctl").args(words));
            assert!(done.status.success(), "{done:?}");
        }
        fs::write(&go, "").unwrap();
        assert_eq!(front.wait().unwrap().code(), Some(0));
        let text = show(&file);
        let calls: Vec<&str> = text.lines().filter(|l| l.starts_with(&format!("{child}/"))).collect();
        assert!(calls.len() == 1 && calls[0].contains("cuMemAlloc_v2("), "{parent}: {text}");
        assert_eq!(text.matches("cuDriverGetVersion(").count(), 1, "the parent's\n{text}");
    }
}

/// Times are those of the program's own clock: a call begins and ends between the moments at which the program made it.
/// What comes between can only make more room, so the least room of all calls says how exact the times are.
#[test]
fn times_are_those_of_the_programs_clock() {
    let folder = scratch("moments");
    let mut least: Vec<i64> = (0..5)
        .map(|_| {
            let file = folder.join("run.cutap");
            let program = finish(&mut record(&file, "moments"));
            let moments = program.stdout.lines().map(|line| {
                let (before, after) = line.split_once(' ').expect("two numbers");
                (before.parse::<i64>().unwrap(), after.parse::<i64>().unwrap())
            });
            let shown = finish(Command::new(cutap()).args(["show", "--json"]).arg(&file)).stdout;
            let lines = json_lines(&shown);
            let calls = lines.filter(|line| line["type"] == "call").map(|call| {
                let number = |field: &str| call[field].as_i64().expect("a number");
                (number("start_ns"), number("start_ns") + number("duration_ns"))
            });
            let (moments, calls): (Vec<_>, Vec<_>) = (moments.collect(), calls.collect());
            assert_eq!((moments.len(), calls.len()), (300, 300), "{}", program.stderr);
            let room = moments.iter().zip(&calls).map(|(m, c)| (c.0 - m.0).min(m.1 - c.1));
            room.min().expect("calls")
        })
        .collect();
    least.sort();
    assert!(least[2] > -120, "{least:?}");
}

/// A process that becomes another program by exec keeps pid and tid, and its rows can be told apart.
#[test]
fn rows_of_a_process_before_and_after_its_exec() {
    let folder = scratch("exec_rows");
    let file = folder.join("run.cutap");
    finish(&mut record(&file, "exec"));
    let report =
        |words: &[&str]| finish(Command::new(cutap()).args(["report", "--by", "thread"]).args(words).arg(&file)).stdout;
    let lines: Vec<serde_json::Value> = json_lines(&report(&["--json"])).collect();
    let rows: Vec<_> = lines.iter().filter(|line| line["type"] != "end").collect();
    let different = |field: &str| rows.iter().map(|row| row[field].to_string()).collect::<BTreeSet<_>>().len();
    assert!(different("pid") < rows.len(), "{rows:?}");
    assert_eq!((different("folder"), different("name")), (rows.len(), rows.len()), "{rows:?}");
    let text = report(&[]);
    assert_eq!(text.matches(" in p").count(), 2, "{text}");
}

/// Four ranks are started in one folder, each by another cutap. Each has a separate file, and `show` names them.
#[test]
fn ranks_in_one_folder_have_files_of_their_own() {
    let folder = scratch("ranks");
    let start = |rank: u32| {
        let variable = ["RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"][rank as usize];
        let mut command = Command::new(cutap());
        command.args(["record", "--"]).arg(out().join("layers")).current_dir(&*folder);
        command.env("LD_LIBRARY_PATH", out()).env(variable, rank.to_string());
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let ranks: Vec<_> = (0..4).map(start).collect();
    for (rank, front) in ranks.into_iter().enumerate() {
        let done = front.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{rank}: {said}");
        assert!(said.contains(&format!("are in run.{rank}.cutap (")), "{rank}: {said}");
        assert!(!shown(&folder.join(format!("run.{rank}.cutap"))).is_empty(), "{rank}");
    }
    let show = finish(Command::new(cutap()).arg("show").current_dir(&*folder));
    assert_eq!(show.status.code(), Some(125));
    let advice = "there are run.0.cutap to run.3.cutap, of the ranks of a job: give them all, or one of them";
    assert!(show.stderr.contains(advice), "{}", show.stderr);
}
