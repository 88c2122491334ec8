//! What `cutap export` writes, read by others: Perfetto's own message definitions, and any reader of JSON.

use super::real::{linked, program, wheel};
use cutap_e2e::{cutap, finish, json_lines, out, scratch};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

fn export(format: &str, to: &Path, from: &Path, filter: Option<&str>) {
    let filter = filter.iter().flat_map(|f| ["-e", f]);
    let done = finish(Command::new(cutap()).args(["export", format]).arg(to).args(filter).arg(from));
    assert!(done.status.success(), "{}", done.stderr);
}

/// Compares with `show --json` by check_perfetto.py; what it says.
fn check(python: &Path, trace: &Path, calls: &Path, flags: &[&str]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("check_perfetto.py");
    let checked = finish(Command::new(python.join("python3")).arg(script).arg(trace).arg(calls).args(flags));
    assert!(checked.status.success(), "{}", checked.stderr);
    checked.stdout.trim().to_owned()
}

/// Recordings of a program that uses all of a runtime, of one whose library launches, of one that is killed within a
/// call, and of several processes and threads.
#[test]
fn perfetto_reads_what_is_exported() {
    let (Some(runtime), Some(python)) = (program("runtime", linked("12.9"), &[]), wheel("perfetto", "0.59")) else {
        return;
    };
    let Some(layered) = crate::layered::program() else { return };
    let folder = scratch("perfetto");
    let (file, trace, calls) = (folder.join("run.cutap"), folder.join("run.pftrace"), folder.join("calls.json"));
    for (program, flows) in
        [(runtime, " 2 flows"), (layered, " 12 flows"), (out().join("end_kill"), ""), (out().join("fork_after"), "")]
    {
        let sim = !flows.is_empty();
        let mut command = Command::new(cutap());
        command.args(["record", "-o"]).arg(&file).args(sim.then_some("--sim")).arg("--").arg(&program);
        let libraries = if sim { Path::new("") } else { out() };
        finish(command.env("LD_LIBRARY_PATH", libraries).env("CALLS", folder.join("calls")).current_dir(&*folder));
        export("--perfetto", &trace, &file, None);
        fs::write(&calls, finish(Command::new(cutap()).args(["show", "--json"]).arg(&file)).stdout).unwrap();
        let memory = folder.join("memory.json");
        let listed = finish(Command::new(cutap()).args(["report", "--allocations", "--json"]).arg(&file)).stdout;
        fs::write(&memory, listed).unwrap();
        let said = check(&python, &trace, &calls, &[memory.to_str().expect("text")]);
        let slices: usize = said.split(' ').next().and_then(|n| n.parse().ok()).expect(&said);
        let whole = fs::read(&trace).unwrap();
        for part in [whole.len() - 1, whole.len() / 2, whole.len() / 3] {
            fs::write(&trace, &whole[..part]).unwrap();
            check(&python, &trace, &calls, &["--cut"]);
        }
        if sim {
            assert!(slices > 500 && said.ends_with(flows), "{said}");
        }
        // The same calls for Chrome; what is cut off there needs only its bracket.
        export("--chrome", &trace, &file, None);
        let text = fs::read_to_string(&trace).unwrap();
        let events: Vec<Value> = serde_json::from_str(&text).expect("JSON");
        assert_eq!(events.iter().filter(|e| e["ph"] != "M").count(), slices, "{text}");
        let end = text[..text.len() / 2].rfind(",\n").unwrap();
        assert!(serde_json::from_str::<Vec<Value>>(&format!("{}]", &text[..end])).is_ok());
    }
}

/// With filters that a call's end decides, a call is told behind those inside it: each has its own times all the same,
/// is inside what is around it, and has their flows. Nested calls of several threads, launches, calls that failed, and
/// one that never ended.
#[test]
fn calls_that_their_end_decides_have_their_own_times() {
    let (Some(runtime), Some(python)) = (program("runtime", linked("12.9"), &[]), wheel("perfetto", "0.59")) else {
        return;
    };
    let Some(layered) = crate::layered::program() else { return };
    let folder = scratch("perfetto_late");
    let (file, trace, calls) = (folder.join("run.cutap"), folder.join("run.pftrace"), folder.join("calls.json"));
    let launches = "cudaLaunchKernel[kernel=*],cuLaunchKernel[kernel=*],cublas*";
    for (program, filters) in [
        (layered, &[(">1ns", " 12 flows"), (launches, " 12 flows"), ("cu*Launch*,cublas*,>1ns", " 12 flows")][..]),
        (runtime, &[(">1ns", " 2 flows"), ("error", " 0 flows")]),
        (out().join("end_kill"), &[(">1ns", "2 slices, 0 flows")]),
    ] {
        let sim = program.parent() != Some(out());
        let mut command = Command::new(cutap());
        command.args(["record", "-o"]).arg(&file).args(sim.then_some("--sim")).arg("--").arg(&program);
        let libraries = if sim { Path::new("") } else { out() };
        finish(command.env("LD_LIBRARY_PATH", libraries).env("CALLS", folder.join("calls")).current_dir(&*folder));
        for (filter, says) in filters {
            export("--perfetto", &trace, &file, Some(filter));
            let shown = finish(Command::new(cutap()).args(["show", "--json", "-e", filter]).arg(&file)).stdout;
            fs::write(&calls, &shown).unwrap();
            let said = check(&python, &trace, &calls, &["--late"]);
            assert!(said.ends_with(says) && !said.starts_with("0 "), "{filter}: {said}");
            // Chrome's have no ends, but durations.
            export("--chrome", &trace, &file, Some(filter));
            let events: Vec<Value> = serde_json::from_str(&fs::read_to_string(&trace).unwrap()).expect("JSON");
            let took = |micros: &Value| micros.as_f64().map(|us| (us * 1000.0).round() as u64);
            let theirs: Vec<_> = events.iter().filter(|e| e["ph"] == "X").map(|e| took(&e["dur"])).collect();
            let lines = json_lines(&shown);
            let ours = lines.filter(|l| l["type"] == "call" && l["state"] == "done").map(|l| l["duration_ns"].as_u64());
            assert_eq!(theirs, ours.collect::<Vec<_>>(), "{filter}");
        }
    }
}

#[test]
fn refusals() {
    let folder = scratch("refusals");
    let (file, text) = (folder.join("run.cutap"), folder.join("text"));
    fs::write(&text, "no recording").unwrap();
    let mut command = Command::new(cutap());
    command.args(["record", "-o"]).arg(&file).arg("--").arg(out().join("layers"));
    finish(command.env("LD_LIBRARY_PATH", out()));
    let (run, other) = (file.to_str().unwrap(), text.to_str().unwrap());
    for (words, said) in [
        (&["--perfetto", run, run][..], "is what is to be exported; give another name"),
        (&["--perfetto", "/no/such/place", run], "cannot write the export to /no/such/place: no such file or folder"),
        (&["--perfetto", "/dev/full", run], "cannot write the export to /dev/full: the disk is full"),
        (&["--chrome", "/dev/null", other], "is not a recording of cutap"),
    ] {
        let refused = finish(Command::new(cutap()).arg("export").args(words));
        assert!(!refused.status.success() && refused.stderr.contains(said), "{words:?}: {}", refused.stderr);
        assert_eq!(refused.stderr.trim_end().lines().count(), 1, "{}", refused.stderr);
    }
}
