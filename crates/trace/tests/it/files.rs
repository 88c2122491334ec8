//! Files as living, dying and dead processes leave them.

use crate::common::*;
use cutap_trace::synthetic::Run;
use cutap_trace::{EventReader, Filter, ReaderOptions};
use cutap_wire::ring::{FREE, FULL, OPEN};

#[test]
fn a_signal_handlers_record_inside_one_that_is_being_written() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&["f0", "handler"]);
    let mut thread = process.thread(101, 4);
    thread.call(0, &[], 5, 0);
    let interrupted = thread.reserve_enter(0, None, &[1]);
    thread.call(1, &[], 5, 0);
    let mut follow = follow(folder.path(), false, "");
    let mut lines = Vec::new();
    follow.poll(false, &mut |e| lines.extend(line(e))).unwrap();
    assert_eq!(lines, ["> f0", "< f0 = 0 5ns"], "nothing is passed over while it may still be written");
    thread.commit(interrupted);
    follow.poll(false, &mut |e| lines.extend(line(e))).unwrap();
    assert_eq!(lines[2..], ["> f0", "< f0 unwound", "> handler", "< handler = 0 5ns"]);
}

#[test]
fn records_that_a_killed_thread_never_committed() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&["f0", "handler"]);
    let mut thread = process.thread(101, 4);
    thread.call(0, &[], 5, 0);
    thread.reserve_enter(0, None, &[1]);
    thread.call(1, &[], 5, 3);
    thread.reserve_enter(0, None, &[1]);
    thread.end();
    let read = all(folder.path());
    assert_eq!(read.lines, ["> f0", "< f0 = 0 5ns", "> handler", "< handler = 3 5ns"]);
    assert_eq!(read.end.missing.records_cut, 2);
}

#[test]
fn chunks_are_given_back_and_used_again_only_when_consumed() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&["f0", "f1"]);
    let mut thread = process.thread(101, 3);
    let mut reader = follow(folder.path(), true, "");
    let mut lines = Vec::new();
    thread.enter(1, &[]);
    for round in 0..50u64 {
        for _ in 0..60 {
            thread.call(0, &[round], 10, 0);
        }
        reader.poll(false, &mut |e| lines.extend(line(e))).unwrap();
        reader.give_back(false);
        assert_eq!(thread.states().iter().filter(|s| **s == FULL).count(), 0, "round {round}");
    }
    assert_eq!(thread.states().iter().filter(|s| **s == OPEN).count(), 1);
    thread.exit(0);
    reader.poll(true, &mut |e| lines.extend(line(e))).unwrap();
    assert_eq!(lines.len(), 2 + 2 * 50 * 60);
    assert_eq!(lines.last().unwrap(), "< f1 = 0 30000ns");
    let end = reader.end();
    assert_eq!((end.missing.chunks_lost, end.missing.records_cut), (0, 0));
    assert!(thread.states().contains(&FREE));

    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&["f0"]);
    let mut thread = process.thread(101, 8);
    (0..300).for_each(|_| thread.call(0, &[], 10, 0));
    let before = thread.states();
    assert_eq!(all(folder.path()).lines.len(), 600);
    assert_eq!(thread.states(), before, "show never writes");
    assert_eq!(all(folder.path()).lines.len(), 600, "and shows the same again");
}

#[test]
fn a_second_reader_that_loses_a_race_says_so() {
    for drained in [false, true] {
        loses_a_race(drained);
    }
}

/// A control page that says that a collector is at work; without one it may have been anybody.
fn drained_page() -> Vec<u8> {
    let mut page = vec![0; cutap_wire::PAGE];
    page[..8].copy_from_slice(&cutap_wire::MAGIC.to_le_bytes());
    page[8..12].copy_from_slice(&cutap_wire::VERSION.to_le_bytes());
    let at = std::mem::offset_of!(cutap_wire::control::Control, collector);
    page[at..at + 4].copy_from_slice(&cutap_wire::control::COLLECTOR_ATTACHED.to_le_bytes());
    page
}

fn loses_a_race(drained: bool) {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&["f0"]);
    let mut thread = process.thread(101, 2);
    if drained {
        std::fs::write(folder.path().join(cutap_wire::control::FILE), drained_page()).unwrap();
    }
    let (mut collector, mut second) = (follow(folder.path(), true, ""), follow(folder.path(), false, ""));
    let mut seen = 0;
    thread.call(0, &[], 10, 0);
    second.poll(false, &mut |_| seen += 1).unwrap();
    for _ in 0..10 {
        (0..60).for_each(|_| thread.call(0, &[], 10, 0));
        collector.poll(false, &mut |_| ()).unwrap();
        collector.give_back(false);
    }
    second.poll(true, &mut |_| seen += 1).unwrap();
    assert!(seen < 2 + 2 * 601, "{seen}");
    let end = second.end();
    // Not lost where a collector took them.
    assert_eq!((end.missing.chunks_lost > 0, end.missing.chunks_taken > 0), (!drained, drained), "{end:?}");
    let end = collector.end();
    assert_eq!((end.missing.chunks_lost, end.missing.chunks_taken), (0, 0));
    let after = all(folder.path());
    // Without a control page nobody knows who it was.
    let gone = if drained { after.end.missing.chunks_taken } else { after.end.missing.chunks_unknown };
    assert!(
        gone > 2
            && after.end.missing.chunks_taken + after.end.missing.chunks_unknown == gone
            && after.end.missing.chunks_lost == 0,
        "{:?}",
        after.end
    );
}

#[test]
fn files_cut_off_at_any_byte() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&["f0", "f1"]);
    let path = process.path().to_owned();
    let mut thread = process.thread(101, 3);
    (0..40).for_each(|n| thread.call(n % 2, &[u64::from(n)], 10, 0));
    let (ring, names) = (path.join("t0.ring"), path.join("names"));
    let (whole_ring, whole_names) = (std::fs::read(&ring).unwrap(), std::fs::read(&names).unwrap());
    drop(thread);
    let most = all(folder.path()).lines.len();
    assert_eq!(most, 80);
    let mut last = most;
    for length in (0..whole_ring.len()).rev().step_by(61) {
        std::fs::write(&ring, &whole_ring[..length]).unwrap();
        let read = all(folder.path());
        assert!(read.lines.len() <= last, "{length}");
        last = read.lines.len();
    }
    assert_eq!(last, 0);
    std::fs::write(&ring, &whole_ring).unwrap();
    for length in (0..whole_names.len()).rev().step_by(17) {
        std::fs::write(&names, &whole_names[..length]).unwrap();
        assert_eq!(all(folder.path()).lines.len(), most, "calls without a name are calls still");
    }
    std::fs::remove_file(&names).unwrap();
    let read = all(folder.path());
    assert_eq!((read.end.missing.nameless, &*read.lines[0]), (2, "> slot 0"));
}

#[test]
fn files_that_appear_late_and_vanish() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("control"), control_page(cutap_wire::VERSION)).unwrap();
    let mut reader = follow(folder.path(), false, "");
    let mut lines = Vec::new();
    assert!(!reader.poll(false, &mut |e| lines.extend(line(e))).unwrap());
    std::fs::create_dir(folder.path().join("p1-0")).unwrap();
    std::fs::create_dir(folder.path().join("pest-0")).unwrap();
    reader.poll(false, &mut |e| lines.extend(line(e))).unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    reader.poll(false, &mut |e| lines.extend(line(e))).unwrap();
    process.driver(&["f0"]);
    let mut thread = process.thread(101, 3);
    thread.call(0, &[], 10, 0);
    reader.poll(false, &mut |e| lines.extend(line(e))).unwrap();
    std::fs::remove_dir_all(folder.path()).unwrap();
    thread.call(0, &[], 20, 0);
    reader.poll(false, &mut |e| lines.extend(line(e))).unwrap();
    assert_eq!(lines, ["> f0", "< f0 = 0 10ns", "> f0", "< f0 = 0 20ns"]);
    reader.end();
}

#[test]
fn processes_that_were_left_alone() {
    use cutap_wire::control::{Control, RULES_BYTES};
    let folder = tempfile::tempdir().unwrap();
    let mut page = control_page(cutap_wire::VERSION);
    let mut put = |at: usize, bytes: &[u8]| page[at..at + bytes.len()].copy_from_slice(bytes);
    put(std::mem::offset_of!(Control, left_alone), &4u32.to_le_bytes());
    put(std::mem::offset_of!(Control, left_names), b"make\0\0a\nb\xff\0make\0cc");
    std::fs::write(folder.path().join("control"), &page).unwrap();
    let end = cutap_trace::noticed(folder.path()).unwrap();
    let count = |end: &cutap_trace::End| end.diagnostics.counts.iter().map(|c| (c.reason, c.count)).collect::<Vec<_>>();
    assert_eq!(count(&end), [(cutap_wire::diagnostic::OTHER_LIBC, 4)]);
    let names: Vec<&str> = end.diagnostics.gaps.iter().map(|gap| &*gap.name).collect();
    assert_eq!(names, ["a\\nb\u{fffd}", "cc", "make"]);
    // Older pages had more rules, and nothing of this.
    let at = std::mem::offset_of!(Control, rules_len);
    page[at..at + 4].copy_from_slice(&(RULES_BYTES as u32 + 1).to_le_bytes());
    std::fs::write(folder.path().join("control"), &page).unwrap();
    let end = cutap_trace::noticed(folder.path()).unwrap();
    assert_eq!((count(&end), end.diagnostics.gaps.len()), (vec![], 0));
}

#[test]
fn a_forked_child_has_its_own_copy() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut parent = run.process(100, "/bin/prog");
    parent.driver(&["f0"]);
    let mut thread = parent.thread(100, 3);
    thread.enter(0, &[]);
    let mut child = run.fork(&parent, 101);
    child.driver(&["f0"]);
    let mut inner = child.thread(101, 3);
    // The call that the parent's thread was in at the fork returns in the child as well.
    inner.exit_of(u32::MAX - 1, 0);
    inner.call(0, &[], 10, 5);
    run.wait(1);
    thread.exit(0);
    let read = all(folder.path());
    assert_eq!(read.lines, ["> f0", "> f0", "< f0 = 5 10ns", "< f0 = 0 11ns"]);
    let child = &read.end.processes.all[1];
    assert_eq!((child.pid, child.forked, child.parent.as_deref()), (101, true, Some("p100-0")));
}

#[test]
fn folders_that_are_no_runs() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |name: &str| {
        let refused = EventReader::open(&folder.path().join(name), ReaderOptions::default());
        refused.map(|_| ()).unwrap_err().to_string()
    };
    assert!(refused("absent").contains("cannot read the run directory"));
    assert!(refused("").contains("is not a run directory"));
    std::fs::write(folder.path().join("control"), control_page(99)).unwrap();
    assert!(refused("").contains("another version of cutap (format 99, this one reads 3)"));
    std::fs::write(folder.path().join("control"), b"short").unwrap();
    assert!(refused("").contains("is not a run directory"));
    assert!(Filter::parse("").is_err());
}

/// What commit 07fa1155 wrote, the last one with format 2 of recordings and 1 of run directories.
#[test]
fn what_the_version_before_wrote_is_refused() {
    let old = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/format2");
    let refused = |path: &std::path::Path, format: u32| {
        let refused = EventReader::open(path, ReaderOptions::default()).map(|_| ()).unwrap_err().to_string();
        let sentence = format!(
            "{} was written by another version of cutap (format {format}, this one reads 3); read it with the cutap \
             that recorded it",
            path.display()
        );
        assert_eq!(refused, sentence);
    };
    for name in ["children", "cut_off", "filtered", "killed", "packed"] {
        refused(&old.join(name).with_extension("cutap"), 2);
    }
    refused(&old.join("run"), 1);
    // Without its control page, its processes tell.
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("p100-0")).unwrap();
    std::fs::copy(old.join("run/p100-0/process"), folder.path().join("p100-0/process")).unwrap();
    refused(folder.path(), 1);
}

#[test]
fn a_thread_that_ends_inside_a_call_while_its_process_lives() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&["f0"]);
    let mut dying = run.process(200, "/bin/dying");
    dying.driver(&["f0"]);
    let (mut main, mut worker, mut alone) = (process.thread(100, 3), process.thread(101, 3), dying.thread(200, 3));
    main.call(0, &[], 5, 0);
    worker.enter(0, &[]);
    worker.end();
    alone.enter(0, &[]);
    alone.end();
    let mut reader = follow(folder.path(), true, "");
    let mut lines = Vec::new();
    reader.poll(false, &mut |e| lines.extend(line(e))).unwrap();
    assert_eq!(lines.last().unwrap(), "> f0", "a dying process leaves its threads one after the other");
    let later = cutap_trace::monotonic() + 1_050_000_000;
    reader.poll_at(later, false, &mut |e| lines.extend(line(e))).unwrap();
    assert_eq!(lines.iter().filter(|l| *l == "< f0 unwound").count(), 1);
    let end = reader.end();
    assert_eq!(end.unfinished.iter().map(|e| e.call.thread.tid).collect::<Vec<_>>(), [200]);
    assert_eq!(end.processes.running.iter().map(|p| p.pid).collect::<Vec<_>>(), [100]);
}

#[test]
fn a_large_chunk_that_was_closed_early() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process_with_chunks(100, "/bin/prog", 256 * 1024);
    process.driver(&["f0"]);
    let mut thread = process.thread(101, 3);
    thread.call(0, &[], 5, 0);
    thread.next_chunk();
    thread.call(0, &[], 5, 0);
    let read = all(folder.path());
    assert_eq!((read.lines.len(), read.end.missing.chunks_lost, read.end.missing.records_cut), (4, 0, 0));
}
