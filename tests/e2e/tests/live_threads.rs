//! Many threads that are alive at the same time: all their calls are recorded, and cutap uses few of the mappings that
//! the program's own stacks need.

use cutap_e2e::{cutap, finish, json_lines, out, scratch};
use std::path::Path;
use std::process::Command;

/// How many mappings the process had, and how many calls its threads made.
fn run(record: Option<&Path>, counts: &Path, threads: u64, calls: u64) -> (u64, u64) {
    let program = out().join("live_threads");
    let mut command = Command::new(if record.is_some() { cutap() } else { &program });
    if let Some(file) = record {
        command.args(["record", "-o"]).arg(file).arg("--").arg(&program);
    }
    command.args([threads.to_string(), calls.to_string()]);
    let done = finish(command.env("LD_LIBRARY_PATH", out()).env("FIXTURE_COUNTS", counts));
    assert!(done.status.success(), "{threads} threads: {done:?}");
    let numbers: Vec<u64> = done.stdout.split_whitespace().map(|n| n.parse().unwrap()).collect();
    (numbers[0], numbers[1])
}

/// Calls in a recording.
fn recorded(file: &Path) -> u64 {
    let done = finish(Command::new(cutap()).args(["show", "-c", "--json"]).arg(file));
    let lines = json_lines(&done.stdout);
    lines.filter(|l| l["name"] == "cuDriverGetVersion").filter_map(|l| l["calls"].as_u64()).sum()
}

/// Mappings that cutap adds; all calls are recorded.
fn added(threads: u64, calls: u64) -> u64 {
    let folder = scratch("live");
    let file = folder.join("run.cutap");
    let (plain, _) = run(None, &folder.join("plain"), threads, calls);
    let (traced, made) = run(Some(&file), &folder.join("traced"), threads, calls);
    assert_eq!(recorded(&file), made, "{threads} threads");
    traced - plain
}

/// Threads that the first ones do not share files with, and those that do.
#[test]
fn mappings_of_a_thread() {
    let (few, more) = (added(200, 3), added(600, 3));
    assert!(few <= 200 + 50, "{few} more mappings for 200 threads");
    assert!(more <= 256 + 100, "{more} more mappings for 600 threads");
    // So many calls fill the first chunk and not the second, of which a slow collector would need a third.
    let filled = added(600, 3500);
    assert!(filled <= 600 + 256 + 100, "{filled} more mappings for 600 threads that have filled a chunk");
}

#[test]
fn twenty_thousand_live_threads() {
    const THREADS: u64 = 20_000;
    let number = |path: &str| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let limit = |path: &str| number(path).unwrap_or(u64::MAX);
    let most = limit("/proc/sys/kernel/threads-max")
        .min(limit("/proc/sys/kernel/pid_max"))
        .min(limit("/sys/fs/cgroup/pids.max"))
        .min(limit("/proc/sys/vm/max_map_count") / 2);
    if most < THREADS + 2000 {
        return println!("skipped: twenty thousand live threads (this machine allows {most})");
    }
    let room = rustix::fs::statvfs("/tmp").map_or(0, |fs| fs.f_bavail * fs.f_frsize);
    if room < 8 << 30 {
        return println!("skipped: twenty thousand live threads ({} MiB free in /tmp, 8192 are needed)", room >> 20);
    }
    let more = added(THREADS, 3);
    let quarter = limit("/proc/sys/vm/max_map_count") / 4;
    assert!(more <= quarter, "{more} more mappings");
    assert!(more <= 256 + THREADS / 16, "{more} more mappings");
}
