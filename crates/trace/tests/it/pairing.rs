//! Enter and exit records become calls, in time order.

use crate::common::*;
use cutap_trace::synthetic::Run;
use cutap_trace::{Event, EventReader, ReaderOptions, State};
use std::ops::ControlFlow;

#[test]
fn nested_calls_with_results_times_and_depth() {
    for tsc in [0, 3] {
        let folder = tempfile::tempdir().unwrap();
        let run = Run::with_clock(folder.path(), tsc);
        let mut process = run.process(100, "/bin/prog");
        process.driver(&["cuInit", "cuMemAlloc_v2"]);
        process.slot(0, 1, (6, 0, 2), "cuInit");
        let mut thread = process.thread(101, 4);
        run.wait(20_000_000);
        thread.enter(0, &[1, 2, 3, 4, 5, 6, 7, 8]);
        run.wait(1_000);
        thread.call(1, &[], 500, 2);
        thread.exit(0);
        let read = all(folder.path());
        assert_eq!(read.lines, ["> cuInit", "  > cuMemAlloc_v2", "  < cuMemAlloc_v2 = 2 500ns", "< cuInit = 0 1500ns"]);
        let Event::Enter(call) = &read.events[1] else { panic!("{:?}", read.events[1]) };
        assert_eq!(call.args.words(), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(call.start_ns, cutap_trace::synthetic::START_NS + 20_000_000);
        assert_eq!((call.thread.tid, call.thread.process.pid), (101, 100));
        assert_eq!(read.end.processes.running.len(), 1, "its mutex is held");
        thread.end();
        assert_eq!(all(folder.path()).end.processes.running.len(), 0);
    }
}

#[test]
fn threads_and_processes_merge_in_time_order() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::with_clock(folder.path(), 2);
    let mut first = run.process(100, "/bin/a");
    first.driver(&["a0", "a1"]);
    let mut second = run.process(200, "/bin/b");
    second.driver(&["b0"]);
    let (mut one, mut two, mut other) = (first.thread(100, 8), first.thread(101, 8), second.thread(200, 8));
    for round in 0..200 {
        one.enter(0, &[round]);
        run.wait(10);
        other.enter(0, &[]);
        run.wait(10);
        two.call(1, &[], 10, 0);
        run.wait(10);
        other.exit(0);
        run.wait(10);
        one.exit(0);
        run.wait(10);
    }
    let read = all(folder.path());
    let times: Vec<u64> = read.events.iter().filter_map(time_of).collect();
    assert_eq!(times.len(), 1200);
    assert!(times.is_sorted());
    let round = ["> a0", "> b0", "> a1", "< a1 = 0 10ns", "< b0 = 0 30ns", "< a0 = 0 50ns"];
    assert_eq!(read.lines[..6], round);
    assert_eq!(read.lines[1194..], round);
}

#[test]
fn calls_left_by_exceptions_and_by_the_end_of_their_thread() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&["f0", "f1", "f2"]);
    let mut thread = process.thread(101, 4);
    let outer = thread.enter(0, &[]);
    thread.enter(1, &[]);
    thread.enter(2, &[]);
    // An exception caught inside f0, which then calls on.
    thread.open.truncate(1);
    thread.call(2, &[], 5, 0);
    thread.enter(1, &[]);
    // Another, and f0 returns with what was inside still open.
    thread.exit_of(outer, 7);
    thread.open.clear();
    thread.enter(0, &[]);
    thread.reused_by(102);
    thread.call(1, &[], 5, 0);
    thread.enter(2, &[]);
    thread.end();
    let read = all(folder.path());
    assert_eq!(
        read.lines,
        [
            "> f0",
            "  > f1",
            "    > f2",
            "    < f2 unwound",
            "  < f1 unwound",
            "  > f2",
            "  < f2 = 0 5ns",
            "  > f1",
            "  < f1 unwound",
            "< f0 = 7 5ns",
            "> f0",
            "< f0 unwound",
            "> f1",
            "< f1 = 0 5ns",
            "> f2",
        ]
    );
    let left: Vec<_> = read.end.unfinished.iter().map(|e| (e.call.function.name.to_string(), e.state)).collect();
    assert_eq!(left, [("f2".to_owned(), State::Unfinished)]);
}

/// A thread that ended a second ago, of which the reader has read only the beginning, did not leave its calls.
#[test]
fn writer_far_ahead_of_reader() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process_with_chunks(100, "/bin/prog", 1 << 20);
    process.driver(&["outer", "inner"]);
    let (_alive, mut thread) = (process.thread(100, 2), process.thread(101, 8));
    thread.enter(0, &[]);
    for _ in 0..40_000 {
        thread.call(1, &[], 5, 0);
    }
    thread.exit(7);
    thread.end();
    // Nothing is handed out, so no more is read than has room in memory.
    let options = ReaderOptions { hold_back_ns: u64::MAX, ..ReaderOptions::default() };
    let mut follow = EventReader::open(folder.path(), options).unwrap();
    let mut lines = Vec::new();
    for (round, last) in [false, false, false, true].into_iter().enumerate() {
        let now = cutap_trace::monotonic() + round as u64 * 600_000_000;
        follow.poll_at(now, last, &mut |e| lines.extend(line(e))).unwrap();
        assert_eq!(lines.is_empty(), !last);
    }
    assert_eq!((lines.len(), lines.last().unwrap().as_str()), (80_002, "< outer = 7 200000ns"));
}

#[test]
fn frames_that_say_that_they_are_left() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&["f0", "f1", "f2"]);
    let mut thread = process.thread(101, 4);
    thread.enter(0, &[]);
    thread.enter(1, &[]);
    thread.enter(2, &[]);
    // The innermost one was jumped to, and says nothing.
    thread.open.pop();
    thread.unwound();
    thread.unwound();
    assert_eq!(
        all(folder.path()).lines,
        ["> f0", "  > f1", "    > f2", "    < f2 unwound", "  < f1 unwound", "< f0 unwound"]
    );
}

#[test]
fn fibres_return_from_calls_that_were_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&["f0", "f1"]);
    let mut thread = process.thread(101, 4);
    let a = thread.enter(0, &[]);
    let b = thread.enter(1, &[]);
    thread.exit_of(a, 1);
    run.wait(10);
    thread.exit_of(b, 2);
    assert_eq!(all(folder.path()).lines, ["> f0", "  > f1", "  < f1 unwound", "< f0 = 1 0ns", "  < f1 = 2 10ns late"]);
}

#[test]
fn a_parent_too_far_back_is_still_the_parent() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process_with_chunks(100, "/bin/prog", 4 << 20);
    process.driver(&["outer", "inner"]);
    let mut thread = process.thread(101, 1);
    thread.enter(0, &[]);
    for _ in 0..65_540 {
        thread.call(1, &[], 1, 0);
    }
    thread.exit(0);
    let read = all(folder.path());
    assert_eq!(read.lines.len(), 2 + 2 * 65_540);
    assert!(read.lines.iter().all(|l| !l.contains("unwound")));
    assert_eq!(read.lines.last().unwrap(), "< outer = 0 65540ns");
}

#[test]
fn ticks_beyond_32_bits_between_two_records() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::with_clock(folder.path(), 3);
    let mut process = run.process(100, "/bin/prog");
    process.driver(&["f0"]);
    let mut thread = process.thread(101, 4);
    thread.enter(0, &[]);
    run.wait(100_000_000_000);
    thread.exit(0);
    thread.call(0, &[], 1_000_000_000_000, 0);
    assert_eq!(all(folder.path()).lines, ["> f0", "< f0 = 0 100000000000ns", "> f0", "< f0 = 0 1000000000000ns"]);
}

/// `cutap show FILE | head` must not read the rest of a long file.
#[test]
fn a_reader_that_has_seen_enough_is_handed_nothing_more() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&["cuInit"]);
    let mut thread = process.thread(100, 64);
    for _ in 0..5_000 {
        thread.call(0, &[], 10, 0);
    }
    thread.end();
    let mut seen = 0;
    let mut follow = follow(folder.path(), false, "");
    let more = follow.poll_while(true, &mut |_| {
        seen += 1;
        if seen == 100 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!((seen, more.unwrap()) == (100, false), "{seen}");
    assert_eq!(all(folder.path()).lines.len(), 10_000);
}
