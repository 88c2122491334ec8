//! What hooks did, in what `cutap export` writes: as `show` says it, read with Perfetto's own definitions and as JSON.

use crate::building::{fixed, fixed_with, hook, text, under};
use crate::real::wheel;
use cutap_e2e::{cutap, finish, scratch};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn what_hooks_did_is_exported() {
    let folder = scratch("hooks-exported");
    let (file, calls) = (folder.join("run.cutap"), folder.join("calls.json"));
    let (perfetto, chrome) = (folder.join("run.pftrace"), folder.join("run.json"));
    let (numbers, fixed) = (fixed_with("numbers", &["-l:libcublas.so.13", "-l:libcurand.so.10"]), fixed("fixed"));
    let (first, grid, arguments) = (hook("first"), hook("grid"), hook("arguments"));
    let python = wheel("perfetto", "0.59");
    // Answered, a changed number and a changed result; two libraries; floats.
    for (hooks, program, marks) in [
        (
            &[&*first][..],
            &[text(&fixed), "7", "5", "-1"][..],
            &["answered by first.so", "first.so: bytesize=0\nfirst.so: result was 1", "first.so: bytesize=6"][..],
        ),
        (&[&first, &grid], &[text(&fixed), "grid", "9"], &["grid.so: gridDimX=1", "first.so: bytesize=10"]),
        (&[&arguments], &[text(&numbers)], &["arguments.so: mean=2.5\narguments.so: stddev=0.5\narguments.so: n=9"]),
    ] {
        let run = under(&["record", "-o", text(&file)], hooks, program, &[]);
        assert!(run.status.success(), "{run:?}");
        let export = |format: &str, to: &Path| {
            let done = finish(Command::new(cutap()).args(["export", format]).arg(to).arg(&file));
            assert!(done.status.success(), "{done:?}");
        };
        export("--chrome", &chrome);
        export("--perfetto", &perfetto);
        let events: Vec<Value> = serde_json::from_slice(&fs::read(&chrome).expect("written")).expect("JSON");
        let told: Vec<&str> = events.iter().filter_map(|e| e["args"]["cutap.hooks"].as_str()).collect();
        let bytes = fs::read(&perfetto).expect("written");
        let raw = String::from_utf8_lossy(&bytes);
        for mark in marks {
            assert!(told.iter().any(|t| t.contains(mark)), "{mark}: {told:?}");
            assert!(raw.contains(mark), "{mark}");
        }
        // As many as show marks, with the same words; calls without hooks have nothing.
        let shown = finish(Command::new(cutap()).arg("show").arg(&file)).stdout;
        let marked: Vec<String> =
            shown.lines().filter_map(|l| Some(l.split_once("> [")?.1.replace("] [", "\n"))).collect();
        assert_eq!(marked.iter().map(|m| m.trim_end_matches(']')).collect::<Vec<_>>(), told, "{shown}");
        let Some(python) = &python else { continue };
        fs::write(&calls, finish(Command::new(cutap()).args(["show", "--json"]).arg(&file)).stdout).expect("writable");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("check_perfetto.py");
        let checked = finish(Command::new(python.join("python3")).arg(script).arg(&perfetto).arg(&calls));
        assert!(checked.status.success(), "{}", checked.stderr);
    }
}
