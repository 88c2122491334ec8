//! Collectors that are stopped, and not killed: for a moment, and before they drain.

use super::run::{LONG, Run, signal};
use cutap_e2e::{shown, wait_for};
use std::time::{Duration, Instant};

#[test]
fn one_that_was_stopped_for_a_moment_is_left_alone() {
    let mut run = Run::start(&["record"]);
    let collector = [run.collector(20_000)];
    let since = Instant::now();
    signal("STOP", &collector);
    std::thread::sleep(Duration::from_millis(300));
    signal("CONT", &collector);
    let stopped = since.elapsed();
    run.ends();
    match stopped < Duration::from_millis(900) {
        true => assert_eq!(run.said(), ""),
        false => println!("skipped: on this busy machine 300 ms took {stopped:?}, and a second is too long"),
    }
    assert_eq!(shown(&run.file()), run.real());
}

/// Before it drains, nobody would notice by its heartbeat: cutap ends with the reason, or continues with another where
/// the stop came later.
#[test]
fn one_that_is_stopped_at_its_start() {
    let mut before = 0;
    for _ in 0..20 {
        let mut run = Run::start(&["record"]);
        let collector = loop {
            if let Some(collector) = run.collector_if_any() {
                break collector;
            }
        };
        signal("STOP", &[collector]);
        wait_for("the end", LONG, || run.front.try_wait().unwrap().is_some());
        match run.front.wait().unwrap().code() {
            Some(0) => assert_eq!(shown(&run.file()), run.real()),
            code => {
                before += 1;
                assert_eq!(code, Some(125));
                assert!(run.said().contains("stopped before it was ready; the program was not run"), "{}", run.said());
            }
        }
        if before == 2 {
            return;
        }
    }
    println!("skipped: of 20 collectors {before} were stopped before they were ready");
}
