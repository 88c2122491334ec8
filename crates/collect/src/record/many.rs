//! A recording of many calls is added up and shown in memory that does not grow with them.

use super::Recorder;
use cutap_report::{By, Output, Summary, Tables};
use cutap_trace::synthetic::{Run, stretch};
use cutap_trace::{Aggregator, EventReader, Filter, ReaderOptions};
use std::fs::File;
use std::path::Path;
use std::process::Command;

/// Set where the test is the only one of its process.
const ALONE: &str = "CUTAP_TEST_ALONE";

/// Resident MiB of this process now.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap() / 1024
}

/// So many that what is kept for each would be seen.
fn calls() -> u32 {
    if std::env::var_os("CUTAP_LARGE").is_some_and(|v| v == "1") { 10_000_000 } else { 400_000 }
}

fn recorded(path: &Path, file: &Path) {
    let run = Run::new(path);
    let mut process = run.process_with_chunks(100, "/bin/prog", 128 * 1024);
    process.driver(&["cuLaunchKernel", "cuMemAlloc_v2", "cuStreamSynchronize"]);
    let (mut one, mut two) = (process.thread(101, 16), process.thread(102, 16));
    for n in 0..2500u64 {
        one.enter(1, &[n, 4096]);
        run.wait(300 + n * 7 % 100);
        one.call(2, &[n % 16], 70 + n % 9, 0);
        one.exit(0);
        two.call(0, &[0x7000_0000 + n * 64, n % 32, 1, 1, 256, 1], 900, 0);
        two.call(2, &[n % 16], 5, u64::from(n % 10 == 0) * 700);
        run.wait(1000);
    }
    let mut recorder = Recorder::begin(path, File::create(file).unwrap(), false).unwrap();
    recorder.round(true, &mut || ()).unwrap();
    recorder.end().unwrap();
}

#[test]
fn many_calls_in_little_memory() {
    // In a separate process: beside other tests what they have would count.
    if std::env::var_os(ALONE).is_none() {
        let mut alone = Command::new(std::env::current_exe().unwrap());
        alone.args(["--exact", "record::many::many_calls_in_little_memory"]).env(ALONE, "1");
        let done = alone.output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
        return assert!(String::from_utf8_lossy(&done.stdout).contains("1 passed"));
    }
    let folder = tempfile::tempdir().unwrap();
    let (short, long) = (folder.path().join("short.cutap"), folder.path().join("long.cutap"));
    recorded(&folder.path().join("run"), &short);
    assert_eq!(stretch(&short, &long, 1).unwrap(), 10_000);
    let times = calls() / 10_000;
    assert_eq!(stretch(&short, &long, times).unwrap(), u64::from(calls()));

    let before = resident();
    let mut tables = Tables::new(By::Function);
    let end = Aggregator::open(&long, &Filter::default()).unwrap().run(&mut tables);
    let (mut text, mut whole) = (Vec::new(), Vec::new());
    cutap_report::write_table(&tables, false, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let row =
        |name: &str| text.lines().find_map(|l| l.strip_prefix(name)).unwrap().split_whitespace().collect::<Vec<_>>();
    let times = u64::from(times);
    assert_eq!(row("cuStreamSynchronize")[..2], [(5000 * times).to_string(), (250 * times).to_string()], "{text}");
    assert_eq!(row("cuMemAlloc_v2")[0], (2500 * times).to_string(), "{text}");
    assert_eq!((end.missing.chunks_lost, end.missing.records_cut, end.missing.nameless, end.open), (0, 0, 0, 0));
    let scanned = resident();
    assert!(scanned < before + 60, "{before} MiB before, {scanned} MiB after");

    // The same by the way that reads every event.
    let mut follow = EventReader::open(&long, ReaderOptions { decode: false, ..ReaderOptions::default() }).unwrap();
    let mut summary = Summary::json(&mut whole);
    follow.poll(true, &mut |event| summary.event(event).unwrap()).unwrap();
    summary.end(&follow.end()).unwrap();
    let whole = String::from_utf8(whole).unwrap();
    assert!(whole.contains(&format!(r#""name":"cuLaunchKernel","calls":{}"#, 2500 * times)), "{whole}");
    let followed = resident();
    assert!(followed < before + 150, "{before} MiB before, {followed} MiB after");
}
