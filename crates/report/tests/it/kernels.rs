//! `report --by kernel`, and self times.

use crate::support::program::{CU_LAUNCH_KERNEL, CU_MEM_ALLOC, CUDA_LAUNCH_KERNEL, CUDA_MALLOC, program};
use cutap_report::{By, Tables, write_table_json};
use cutap_trace::synthetic::{Run, Thread};
use cutap_trace::{Aggregator, Filter};
use cutap_wire::names;
use cutap_wire::process::Process;
use cutap_wire::record::note;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;
use std::path::Path;

const KERNEL: u64 = 0x5555_5550;

const OTHER: u64 = 0x5555_5560;

/// Calls, errors, unfinished and nanoseconds of each row.
fn by_kernel(run: &Path, filter: &str) -> Vec<(String, [u64; 4])> {
    let filter = if filter.is_empty() { Filter::default() } else { Filter::parse(filter).unwrap() };
    let mut tables = Tables::new(By::Kernel);
    Aggregator::open(run, &filter).unwrap().run(&mut tables);
    let mut json = Vec::new();
    write_table_json(&tables, &mut json).unwrap();
    let lines = std::str::from_utf8(&json).unwrap().lines();
    let row = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let numbers = ["calls", "errors", "unfinished", "total_ns"].map(|of| line[of].as_u64().unwrap());
        (line["name"].as_str().unwrap().to_owned(), numbers)
    };
    let mut rows: Vec<_> = lines.map(row).collect();
    rows.sort();
    rows
}

fn rows(rows: &[(&str, [u64; 4])]) -> Vec<(String, [u64; 4])> {
    rows.iter().map(|(name, numbers)| ((*name).to_owned(), *numbers)).collect()
}

/// A launch of the runtime, 30 us around what is inside.
fn launch(run: &Run, thread: &mut Thread, named: bool, inside: impl FnOnce(&mut Thread), result: u64) {
    thread.enter(CUDA_LAUNCH_KERNEL, &[]);
    if named {
        thread.write_note(note::KERNEL, 7);
    }
    run.wait(30_000);
    inside(thread);
    thread.exit(result);
}

/// Launches without a kernel name have one row. No launch counts twice.
#[test]
fn unnamed_launches() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = program(&run, 100);
    process.name(names::kind::KERNEL_NAME, 7, 0, 0, "plain", "");
    process.name(names::kind::KERNEL_HANDLE, KERNEL, 0, 0, "plain", "");
    process.name(names::kind::KERNEL_HANDLE, OTHER, 0, 0, "other", "");
    let mut thread = process.thread(100, 4);
    let t = &mut thread;
    launch(&run, t, true, |t| t.call(CU_LAUNCH_KERNEL, &[KERNEL], 5_000, 0), 0);
    // The first launch of a thread: only the driver's call has the name.
    launch(&run, t, false, |t| t.call(CU_LAUNCH_KERNEL, &[KERNEL], 6_000, 0), 0);
    // Refused inside the runtime.
    launch(&run, t, false, |_| (), 9);
    // No kernel at all: what the runtime names is not its name.
    launch(&run, t, true, |_| (), 98);
    // A handle without a name, inside a launch and alone.
    launch(&run, t, false, |t| t.call(CU_LAUNCH_KERNEL, &[0x66], 1_000, 400), 400);
    // What the runtime names is another's name at times; the driver's handle is right.
    launch(&run, t, true, |t| t.call(CU_LAUNCH_KERNEL, &[OTHER], 8_000, 0), 0);
    t.call(CU_LAUNCH_KERNEL, &[0], 2_000, 400);
    t.call(CU_LAUNCH_KERNEL, &[KERNEL], 7_000, 0);
    let asked = |filter: &str| by_kernel(folder.path(), filter);
    let all =
        rows(&[("(kernel not known)", [4, 4, 0, 93_000]), ("other", [1, 0, 0, 38_000]), ("plain", [3, 0, 0, 78_000])]);
    assert_eq!(asked(""), all);
    // Who does not see the driver's calls still has the name that they say.
    let others = ("other", [1, 0, 0, 38_000]);
    assert_eq!(
        asked("runtime"),
        rows(&[("(kernel not known)", [3, 3, 0, 91_000]), others, ("plain", [2, 0, 0, 71_000])])
    );
    let short =
        rows(&[("(kernel not known)", [2, 2, 0, 3_000]), ("other", [1, 0, 0, 8_000]), ("plain", [3, 0, 0, 18_000])]);
    assert_eq!(asked("driver"), short);
    assert_eq!(asked("error"), rows(&[("(kernel not known)", [4, 4, 0, 93_000])]));
    // Of a launch that is too long the driver's part is not.
    assert_eq!(asked("<10us"), short);
    assert_eq!(asked(">33us"), rows(&[others, ("plain", [2, 0, 0, 71_000])]));
}

#[test]
fn unfinished_launches() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = program(&run, 100);
    process.name(names::kind::KERNEL_NAME, 7, 0, 0, "plain", "");
    process.name(names::kind::KERNEL_HANDLE, KERNEL, 0, 0, "plain", "");
    for (tid, named, handle) in [(100, true, KERNEL), (101, false, KERNEL), (102, false, 0)] {
        let mut thread = process.thread(tid, 4);
        // Left by longjmp, then open at the end.
        for _ in 0..2 {
            thread.open.clear();
            thread.enter(CUDA_LAUNCH_KERNEL, &[]);
            if named {
                thread.write_note(note::KERNEL, 7);
            }
            thread.enter(CU_LAUNCH_KERNEL, &[handle]);
        }
    }
    let all = rows(&[("(kernel not known)", [2, 0, 2, 0]), ("plain", [4, 0, 4, 0])]);
    assert_eq!(by_kernel(folder.path(), ""), all);
    assert_eq!(by_kernel(folder.path(), ">1s"), all);
}

/// Self times add up to the totals of the outermost calls.
#[test]
fn self_times() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::with_clock(folder.path(), 3);
    let mut process = program(&run, 100);
    // A clock of which no call takes a whole number of nanoseconds.
    let page = process.path().join(cutap_wire::process::FILE);
    let page = std::fs::OpenOptions::new().read(true).write(true).open(page).unwrap();
    let (at, mut start) = (offset_of!(Process, start_monotonic) as u64, [0; 8]);
    page.read_exact_at(&mut start, at).unwrap();
    page.write_all_at(&(u64::from_le_bytes(start) - 123_456_789).to_le_bytes(), at).unwrap();
    run.wait(1_000_000_000);
    let mut thread = process.thread(100, 32);
    for n in 0..100 {
        thread.enter(CUDA_MALLOC, &[]);
        for inside in 1..5 {
            thread.call(CU_MEM_ALLOC, &[1], n * inside, 0);
        }
        thread.exit(0);
    }
    let sums = |filter: &str| {
        let filter = if filter.is_empty() { Filter::default() } else { Filter::parse(filter).unwrap() };
        let mut tables = Tables::new(By::Function);
        Aggregator::open(folder.path(), &filter).unwrap().run(&mut tables);
        let rows = tables.rows();
        let of = |layer| rows.iter().filter(move |r| r.label.as_ref().unwrap().layer == layer).map(|r| &r.sums);
        let outermost: u64 = of(cutap_trace::Layer::RUNTIME).map(|s| s.total_ns).sum();
        (outermost, rows.iter().map(|r| r.sums.self_ns).sum::<u64>())
    };
    let (outermost, own) = sums("");
    assert!(outermost > 50_000 && outermost % 100 != 0, "{outermost}");
    assert_eq!(outermost, own);
    assert_eq!(sums("runtime"), (outermost, outermost));
}
