//! Calls that never ended last until the end of the run, in sums of calls and in sums of events.

use crate::support::program::{CU_LAUNCH_KERNEL, CU_MEM_ALLOC, CUDA_MALLOC, MS, events, program};
use cutap_report::{By, Output};
use cutap_report::{CallTree, Summary, Tables};
use cutap_trace::synthetic::{Run, START_NS};
use cutap_trace::{Aggregator, Event, Filter};
use cutap_wire::{MAGIC, PAGE, VERSION, control};
use std::mem::offset_of;
use std::path::Path;

/// A driver's call hangs in a runtime's call from 1 ms on, while another thread works until 12 s.
fn hangs(folder: &Path, ended: Option<u64>) {
    let run = Run::new(folder);
    let mut process = program(&run, 100);
    let mut one = process.thread(100, 4);
    let mut two = process.thread(101, 4);
    run.wait(MS);
    one.enter(CUDA_MALLOC, &[1]);
    run.wait(MS);
    one.call(CU_MEM_ALLOC, &[2], MS, 2);
    one.enter(CU_MEM_ALLOC, &[3]);
    run.wait(11_996 * MS);
    two.call(CU_LAUNCH_KERNEL, &[4], MS, 0);
    ended.into_iter().for_each(|ms| process.set_ended(START_NS + ms * MS));
}

/// The control page, with the collector's last sign of life.
fn watched(folder: &Path, ms: u64) {
    let mut page = vec![0; PAGE];
    let mut put = |at: usize, bytes: &[u8]| page[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &MAGIC.to_le_bytes());
    put(offset_of!(control::Control, version), &VERSION.to_le_bytes());
    put(offset_of!(control::Control, heartbeat), &(START_NS + ms * MS).to_le_bytes());
    std::fs::write(folder.join(control::FILE), page).unwrap();
}

/// Name, calls, unfinished ones, milliseconds in all and without nested calls, of each function.
type Sums = Vec<(String, u64, u64, u64, u64)>;

fn of_calls(run: &Path) -> Sums {
    let mut tables = Tables::new(By::Function);
    let end = Aggregator::open(run, &Filter::default()).unwrap().run(&mut tables);
    assert_eq!(end.open, 2);
    let rows = tables.rows();
    let row =
        |r: &cutap_report::Row| (r.name.clone(), r.sums.calls, r.sums.open, r.sums.total_ns / MS, r.sums.self_ns / MS);
    rows.iter().map(row).collect()
}

fn of_events(run: &Path) -> Sums {
    let (events, end) = events(run, "");
    let mut bytes = Vec::new();
    let mut summary = Summary::json(&mut bytes);
    events.iter().for_each(|event: &Event| summary.event(event).unwrap());
    summary.end(&end).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let number = |line: &serde_json::Value, key: &str| line[key].as_u64().unwrap();
    let lines = lines.filter(|line| line["type"] == "summary");
    let mut sums: Sums = lines
        .map(|l| {
            let ms = |key| number(&l, key) / MS;
            (
                l["name"].as_str().unwrap().into(),
                number(&l, "calls"),
                number(&l, "unfinished"),
                ms("total_ns"),
                ms("self_ns"),
            )
        })
        .collect();
    sums.sort_by_key(|sum| std::cmp::Reverse(sum.4));
    sums
}

#[test]
fn until_the_end_of_the_run() {
    for (watched_ms, ended_ms, end) in
        [(None, None, 12_000), (Some(20_000), None, 20_000), (Some(20_000), Some(15_000), 15_000)]
    {
        let folder = tempfile::tempdir().unwrap();
        hangs(folder.path(), ended_ms);
        watched_ms.into_iter().for_each(|ms| watched(folder.path(), ms));
        let expected: Sums = vec![
            // One of them took 1 ms, the other began after 3 ms.
            ("cuMemAlloc_v2".into(), 2, 1, end - 3 + 1, end - 3 + 1),
            ("cudaMalloc".into(), 1, 1, end - 1, 1),
            ("cuLaunchKernel".into(), 1, 0, 1, 1),
        ];
        let mut sums = of_calls(folder.path());
        sums.sort_by_key(|sum| (std::cmp::Reverse(sum.4), std::cmp::Reverse(sum.3)));
        assert_eq!(sums, expected);
        let mut sums = of_events(folder.path());
        sums.sort_by_key(|sum| (std::cmp::Reverse(sum.4), std::cmp::Reverse(sum.3)));
        assert_eq!(sums, expected);
    }
}

/// A failure inside a call that never ended is its own: the next thread's calls have not passed it on.
#[test]
fn a_failure_inside_one() {
    let folder = tempfile::tempdir().unwrap();
    hangs(folder.path(), None);
    let mut tree = CallTree::default();
    Aggregator::open(folder.path(), &Filter::default()).unwrap().run(&mut tree);
    let failures = tree.failures();
    assert_eq!(failures.len(), 1, "{failures:?}");
    assert!(failures[0].causes.is_empty() && failures[0].failed.path.len() == 2, "{failures:?}");
}
