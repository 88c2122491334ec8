//! A trace or a recording that is read while the program runs, or whose collector is killed while calls are open.

use super::pack;
use super::run::{LONG, Run, show, signal};
use cutap_e2e::{blocks, shown, wait_for};
use std::fs;
use std::os::unix::process::ExitStatusExt;

/// The file of a recording is never far behind, also where a chunk takes minutes to fill. Parts of chunks go when the
/// file is packed.
#[test]
fn a_recording_can_be_read_while_the_program_runs() {
    let mut run = Run::of("long_calls", &["record"]);
    let is_running = |run: &mut Run| run.front.try_wait().unwrap().is_none();
    wait_for("calls in the file", LONG, || show(&run.file()).matches("cuFixtureSleep(").count() >= 20);
    assert!(is_running(&mut run), "all of it came at the end");
    run.ends();
    assert_eq!(shown(&run.file()), run.real());
    let parts = || {
        let bytes = fs::read(run.file()).unwrap();
        blocks(&bytes).into_iter().filter(|(at, _)| bytes[at + 4] == 9).count()
    };
    assert!(parts() > 0);
    assert_eq!(pack(&run.file()).status.code(), Some(0));
    assert_eq!(parts(), 0);
    assert_eq!(shown(&run.file()), run.real());

    let mut run = Run::of("until_killed", &["record"]);
    wait_for("the open call", LONG, || show(&run.file()).contains("cuFixtureSleep(1000000"));
    // Nothing of the run directory is needed for it.
    let copy = run.folder.join("copy");
    fs::copy(run.file(), &copy).unwrap();
    assert!(show(&copy).contains("= ? <unfinished>"), "{}", show(&copy));
    let pid = fs::read_to_string(run.folder.join("stdout")).unwrap();
    signal("KILL", &[pid.trim().trim_start_matches("waiting ").to_owned()]);
    assert_eq!(run.front.wait().unwrap().signal(), Some(9));
}

/// Calls that had an opening line when the collector was killed get their closing line from the next one.
#[test]
fn another_collector_closes_calls_that_were_opened() {
    let mut run = Run::of("long_calls", &["trace"]);
    for n in 1..=4 {
        signal("KILL", &[run.collector(600 * n)]);
        wait_for("another", LONG, || run.said().lines().count() as u64 == n);
    }
    run.ends();
    let text = fs::read_to_string(run.file()).unwrap();
    let count = |is: fn(&str) -> bool| text.lines().filter(|line| is(line)).count();
    let (begun, opened) = (count(|l| l.contains("cuFixtureSleep(")), count(|l| l.ends_with(" {")));
    assert_eq!((begun, opened, count(|l| l.contains("} cuFixtureSleep"))), (100, 100, 100), "{text}");
}
