//! Damaged parts of rings: counted the same by whoever reads calls and by whoever only looks, told apart from what a
//! killed thread left, and never made into calls.

use crate::common::*;
use cutap_trace::synthetic::Run;
use cutap_trace::{Aggregator, ChunkPage, Filter, damaged, in_order};
use cutap_wire::names::GROW;
use cutap_wire::ring::{CHUNK_HEADER, FREE};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const CHUNK: u64 = 4096;
/// No process can have this number.
const GONE: u32 = 0x7fff_0000;

/// A run of one thread that has ended: 300 calls in chunks that stand one behind the other. Its ring.
fn ended(folder: &Path, pid: u32, ends: bool) -> PathBuf {
    let run = Run::new(folder);
    let mut process = run.process(pid, "/bin/prog");
    process.driver(&["f0", "f1"]);
    whole_names(process.path());
    let mut thread = process.thread(101, 8);
    (0..300).for_each(|n| thread.call(n % 2, &[u64::from(n), 7, 9], 10, 0));
    if ends {
        thread.end();
    }
    process.path().join("t0.ring")
}

/// As long as a process makes it.
fn whole_names(process: &Path) {
    let names = OpenOptions::new().write(true).open(process.join("names")).unwrap();
    let length = names.metadata().unwrap().len();
    names.set_len(length.next_multiple_of(GROW as u64)).unwrap();
}

fn write(ring: &Path, at: u64, bytes: &[u8]) {
    OpenOptions::new().write(true).open(ring).unwrap().write_all_at(bytes, at).unwrap();
}

/// A control page that says whether a collector was ever there.
fn control(folder: &Path, drained: bool) {
    let mut page = control_page(cutap_wire::VERSION);
    let at = std::mem::offset_of!(cutap_wire::control::Control, collector);
    page[at] = u8::from(drained);
    fs::write(folder.join("control"), page).unwrap();
}

fn random(len: usize, seed: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| random.u8(..)).take(len).collect()
}

/// Parts that are damaged, as all say who read; records cut off; lines of calls.
fn found(folder: &Path) -> (u64, u64, usize) {
    let read = all(folder);
    let damage = damaged(folder).unwrap();
    let scanned = Aggregator::open(folder, &Filter::default()).unwrap().run(&mut Nothing);
    assert_eq!((read.end.damage(), scanned.damage()), (damage, damage), "{:?}", read.end);
    assert_eq!(
        (read.end.missing.records_cut, read.end.missing.nameless),
        (scanned.missing.records_cut, scanned.missing.nameless)
    );
    assert!(read.lines.iter().all(|line| !line.contains("slot ")) || read.end.missing.nameless > 0);
    (damage.parts, read.end.missing.records_cut, read.lines.len())
}

struct Nothing;

impl cutap_trace::CallSink for Nothing {
    fn enter(&mut self, _: u32, _: &std::sync::Arc<cutap_trace::Function>) -> u32 {
        0
    }
    fn exit(&mut self, _: &cutap_trace::FinishedCall<'_>) {}
    fn function_instance(
        &mut self,
        _: &std::sync::Arc<cutap_trace::Function>,
        _: &std::sync::Arc<cutap_trace::Instance>,
    ) {
    }
}

#[test]
fn one_part_for_each_kind_of_damage() {
    let folder = tempfile::tempdir().unwrap();
    control(folder.path(), false);
    let ring = ended(folder.path(), GONE, true);
    let good = fs::read(&ring).unwrap();
    assert_eq!(found(folder.path()), (0, 0, 600));
    let at = |n: u64| 4096 + n * CHUNK;
    let mut writes = vec![
        ("zeros in it", at(1) + 512, vec![0; 64]),
        ("zeros to its end", at(1) + 512, vec![0; CHUNK as usize - 512]),
        ("ones", at(1) + 512, vec![0xff; 64]),
        ("no head", at(1), vec![0; CHUNK_HEADER]),
        ("no head, the first", at(0), vec![0; CHUNK_HEADER]),
        ("nothing at all", at(1), vec![0; CHUNK as usize]),
        ("free", at(1), vec![0; 4]),
        ("no number", at(1) + 8, vec![0; 8]),
        ("a number that cannot be", at(1) + 8, vec![0xff; 7]),
        ("the number of another", at(1) + 8, vec![4]),
        ("a state that is none", at(1), vec![7]),
        ("more bytes than it has", at(1) + 32, vec![0xff; 4]),
        ("fewer calls than it has", at(1) + 36, vec![0, 0]),
    ];
    writes.extend((0..50).map(|seed| ("random records", at(1) + 512 + seed % 8, random(1500, seed))));
    writes.extend((0..10).map(|seed| ("a random head", at(1), random(CHUNK_HEADER, seed))));
    for (what, at, bytes) in writes {
        fs::write(&ring, &good).unwrap();
        write(&ring, at, &bytes);
        let (parts, cut, lines) = found(folder.path());
        assert_eq!((parts, cut), (1, 0), "{what}");
        // A chunk has about 144 of them. A call that ended in what is gone is told as one that did not.
        assert!((450..=602).contains(&lines), "{what}: {lines}");
    }
    fs::write(&ring, &good[..at(2) as usize + 1000]).unwrap();
    let (parts, cut, lines) = found(folder.path());
    assert_eq!((parts, cut), (6, 0), "as many as it has room for");
    assert!((300..=330).contains(&lines), "{lines}");
}

#[test]
fn what_a_killed_thread_leaves_is_no_damage() {
    for drained in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        control(folder.path(), drained);
        let run = Run::new(folder.path());
        let mut process = run.process(GONE, "/bin/prog");
        process.driver(&["f0", "f1"]);
        whole_names(process.path());
        let mut thread = process.thread(101, 4);
        thread.call(0, &[], 5, 0);
        thread.reserve_enter(0, None, &[1]);
        thread.call(1, &[], 5, 3);
        thread.reserve_enter(1, None, &[1]);
        thread.end();
        assert_eq!(found(folder.path()), (0, 2, 4));
        // The next part was just being opened: its thread and its clock stand there.
        let head: Vec<u8> = [0, 101, 0, 0, 77].into_iter().flat_map(u32::to_le_bytes).collect();
        write(&process.path().join("t0.ring"), 4096 + CHUNK, &head);
        assert_eq!(found(folder.path()), (0, 2, 4));
    }
}

/// Where a collector was, parts that it has read are free; where none was, none can be.
#[test]
fn parts_that_were_given_back_are_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    let ring = ended(folder.path(), GONE, true);
    (0..2).for_each(|n| write(&ring, 4096 + n * CHUNK, &FREE.to_le_bytes()));
    for (drained, parts) in [(true, 0), (false, 2)] {
        control(folder.path(), drained);
        assert_eq!(found(folder.path()).0, parts, "{drained}");
    }
    // A hole behind them is nobody's doing.
    control(folder.path(), true);
    write(&ring, 4096 + 3 * CHUNK, &FREE.to_le_bytes());
    assert_eq!(found(folder.path()).0, 1);
}

/// Whoever writes may be in the middle of it: nothing is called damaged while its process lives.
#[test]
fn of_a_process_that_lives_nothing_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    control(folder.path(), false);
    let ring = ended(folder.path(), std::process::id(), false);
    assert_eq!(found(folder.path()), (0, 0, 600));
    write(&ring, 4096 + CHUNK, &[0; CHUNK_HEADER]);
    assert_eq!(found(folder.path()).0, 0);
    assert!(all(folder.path()).end.missing.chunks_lost > 0, "and yet it is counted");
}

/// A slot without a name is damage only where no name can be missing.
#[test]
fn calls_whose_names_are_lost_are_calls() {
    let folder = tempfile::tempdir().unwrap();
    control(folder.path(), false);
    let run = Run::new(folder.path());
    let mut process = run.process(GONE, "/bin/prog");
    process.driver(&["f0_whose_name_is_longer_than_what_a_cell_has_room_for_and_takes_two"]);
    let mut thread = process.thread(101, 4);
    (0..20).for_each(|n| thread.call(u32::from(n == 9) * 5, &[], 10, 0));
    thread.end();
    let names = process.path().join("names");
    assert_eq!(
        (found(folder.path()), all(folder.path()).end.missing.nameless),
        ((0, 0, 40), 1),
        "its names may be cut off"
    );
    whole_names(process.path());
    assert_eq!((found(folder.path()), all(folder.path()).end.missing.nameless), ((1, 0, 18), 0));
    let good = fs::read(&names).unwrap();
    let mut strange = good.clone();
    strange[GROW - 64..].fill(9);
    for bytes in [&good[..GROW - 64], &[], &strange] {
        fs::write(&names, bytes).unwrap();
        assert_eq!(found(folder.path()), (0, 0, 40), "{}", bytes.len());
    }
    fs::write(&names, &good).unwrap();
    process.count(cutap_wire::diagnostic::NAME_DROPPED, 1);
    assert_eq!(found(folder.path()), (0, 0, 40), "one had no room");
}

#[test]
fn numbers_that_no_writer_reached_are_left_out() {
    let head = |sequence: u64| {
        let mut bytes = [0; CHUNK_HEADER];
        bytes[8..16].copy_from_slice(&sequence.to_le_bytes());
        ChunkPage::parse(&bytes)
    };
    let kept = |all: &[u64]| {
        let mut found: Vec<_> = all.iter().zip(0..).map(|(n, place)| (head(*n), place)).collect();
        let filtered_out = in_order(&mut found, CHUNK as u32);
        (found.iter().map(|(page, _)| page.sequence).collect::<Vec<_>>(), filtered_out)
    };
    assert_eq!(kept(&[]), (vec![], 0));
    assert_eq!(kept(&[3, 1, 2]), (vec![1, 2, 3], 0));
    assert_eq!(kept(&[1 << 40, 7, 9, u64::MAX]), (vec![7, 9], 2));
    assert_eq!(kept(&[1, 1 << 40, 2 + (1 << 40)]), (vec![1 << 40, 2 + (1 << 40)], 1));
    assert_eq!(kept(&[5, 6, 5]), (vec![5, 6], 1));
}
