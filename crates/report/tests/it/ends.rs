//! What the last lines say.

use crate::common::*;
use cutap_report::end_lines;
use cutap_trace::made::Run;
use cutap_wire::{count, names};

#[test]
fn nothing_to_say() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    run.process(1, "/bin/prog").driver(&["cuInit"]);
    assert_eq!(end_lines(&events(folder.path(), "").1), [""; 0]);
}

#[test]
fn long_lists_are_cut_and_names_of_forked_children_are_said_once() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    for pid in [1, 2] {
        let mut process = run.process(pid, "/bin/prog");
        for n in 0..23 {
            process.name(names::kind::GAP, count::LATE_OBJECT as u64, 0, 0, &format!("lib{n:02}.so"), "dlmopen");
        }
        process.count(count::LATE_OBJECT, 23);
        process.count(count::RECORD_DROPPED, 4);
        process.thread(pid, 1).enter(77, &[]);
    }
    let lines = end_lines(&events(folder.path(), "").1);
    assert_eq!(lines[0], "8 events dropped: no room in the run folder");
    assert_eq!(lines[1], "46 libraries opened while running: calls from their constructors were not seen");
    assert_eq!(lines[2], "  lib00.so (dlmopen)");
    assert_eq!(
        lines[21..24],
        ["  lib19.so (dlmopen)", "  and 3 more", "2 functions without a name: their name records were not found"]
    );
    assert_eq!(lines[24], "process 1 (/bin/prog) is still running");
}

#[test]
fn a_runtime_of_a_forked_child_is_named_once() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let parent = program(&run, 1);
    let mut child = run.fork(&parent, 2);
    child.runtime(2, "saxpy", 12090, 10, &["cudaMalloc"]);
    let end = events(folder.path(), "").1;
    assert_eq!(end.instances.len(), 2);
    let lines = end_lines(&end);
    assert_eq!(lines[0], "runtimes seen: 12.9 in saxpy (linked in)");
    assert!(lines[1].starts_with("not seen in saxpy: __cudaRegister*"), "{lines:?}");
    assert!(lines[1].contains("before it is initialised (often cudaRuntimeGetVersion"), "{lines:?}");
    let last = json(folder.path(), "").pop().unwrap();
    assert_eq!(last["without_register_calls"], serde_json::json!(["saxpy"]));
}

#[test]
fn kinds_of_modules_have_names() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(1, "/bin/prog");
    for (kind, file) in [(1, "a.cubin"), (2, "b.fatbin"), (3, "c.ptx"), (9, "d")] {
        process.name(names::kind::MODULE, 100, kind, 0, file, "");
    }
    process.driver(&["cuInit"]);
    process.thread(1, 1).call(0, &[], 10, 0);
    let lines = json(folder.path(), "");
    let kinds: Vec<_> = lines.iter().filter(|l| l["type"] == "module").map(|l| l["kind"].clone()).collect();
    assert_eq!(kinds, [serde_json::json!("cubin"), "fatbin".into(), "ptx".into(), 9.into()]);
}
